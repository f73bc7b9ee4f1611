"""eventlet is refused under ``spanhook run`` if it patches the process."""

from pathlib import Path

import pytest

from tests.commands import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.one_value
@pytest.mark.parametrize("patches", [True, False])
def test_eventlet_is_refused_if_it_patches(folder: Folder, patches: bool) -> None:
    folder.write(app=f"import eventlet\n{'eventlet.monkey_patch()' if patches else ''}\nprint('goes on', flush=True)\n")
    ran = folder.spanhook("run", "app.py")

    assert ("goes on" in ran.stdout) is not patches
    assert ran.returncode == (2 if patches else 0)
    assert ("spanhook: eventlet.monkey_patch() replaces" in ran.stderr) is patches


@pytest.mark.slow
def test_eventlet_is_refused_if_it_has_patched(folder: Folder) -> None:
    """As the hooks do, which are imported before the application."""
    folder.write(app="print('goes on')", early="import eventlet\neventlet.monkey_patch()\n")
    folder.write(hooks="import early\nfrom spanhook import Hooks\nhooks = Hooks()\n")
    ran = folder.spanhook("run", "--hooks", "hooks.py:hooks", "app.py")

    assert ran.returncode == 2
    assert "goes on" not in ran.stdout
    assert "spanhook: eventlet.monkey_patch() replaces" in ran.stderr
