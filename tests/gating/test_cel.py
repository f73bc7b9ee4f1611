"""The package that runs CEL: hidden by the application, or missing."""

import subprocess
import sys
import textwrap
from collections.abc import Generator
from pathlib import Path

import pytest

from spanhook import ConfigurationError
from spanhook.gating import _cel, compile_condition


@pytest.fixture
def _forgotten() -> Generator[None]:
    """Finds the package anew, in the test and after it."""
    _cel.cel.cache_clear()
    yield
    _cel.cel.cache_clear()


@pytest.mark.usefixtures("_forgotten")
def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel", None)
    monkeypatch.setattr(_cel, "DISTRIBUTION", "no-such-distribution")
    with pytest.raises(ConfigurationError) as caught:
        compile_condition("true")
    assert str(caught.value) == 'conditions need CEL; pip install "spanhook[policies]"'


@pytest.mark.one_value
@pytest.mark.parametrize("module", ["cel/__init__.py", "cel.py", "cel/data.txt"])
def test_a_folder_or_file_of_the_application_does_not_hide_the_package(tmp_path: Path, module: str) -> None:
    file = tmp_path / module
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine = True" if file.suffix == ".py" else "")
    code = """
        import sys
        sys.path.insert(0, ".")
        from spanhook.gating import compile_condition
        print(compile_condition("arguments.x > 1"), sys.path[0])
        import cel
        print(getattr(cel, "mine", None))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.splitlines(), done.stderr) == (
        ["Condition('arguments.x > 1') .", "True" if file.suffix == ".py" else "None"],
        "",
    )
