"""Agent libraries that are not bound, under the commands: one line says it, ``--strict`` refuses them."""

import sys
from pathlib import Path

import pytest

from spanhook.instrument import INSTRUMENTORS
from tests.bootstrap.test_startup import INSTRUMENT, SILENT
from tests.commands import HOOKS, Folder
from tests.standin import BY_NAME, library

IN_USE = "dashscope 1.2.3 is imported but not bound"
REFUSED = (
    "strict mode refused the import of dashscope 1.2.3, which is not bound: model calls made with it directly would"
)
APP = "import dashscope\nopen('BODY_RAN', 'a')\nprint(dashscope.__name__)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder with an application that imports a library, and where the library is found from any process."""
    library(tmp_path / "installed", BY_NAME["dashscope"])
    return Folder(tmp_path).write(hooks=HOOKS, app=APP)


@pytest.fixture
def path(folder: Folder) -> str:
    return str(folder.path / "installed")


@pytest.mark.slow
def test_one_line_says_it(folder: Folder, path: str) -> None:
    folder.write(twice="import app, importlib, sys\ndel sys.modules['dashscope']\nimportlib.import_module('dashscope')")

    ran = folder.spanhook("run", "--hooks", "hooks.py:hooks", "twice.py", PYTHONPATH=path)

    assert (ran.returncode, ran.stdout) == (0, "dashscope\n")
    assert ran.stderr == (
        "spanhook: dashscope 1.2.3 is imported but not bound: model calls made with it directly bypass spanhook; "
        f"if only libraries that are bound ({', '.join(INSTRUMENTORS)}) call it, "
        "accept it with SPANHOOK_ALLOW=dashscope or Settings(allow=['dashscope'])\n"
    )


@pytest.mark.slow
def test_a_later_import_fails(folder: Folder, path: str) -> None:
    ran = folder.spanhook("run", "--strict", "app.py", PYTHONPATH=path)

    assert ran.returncode == 1
    lines = ran.stderr.splitlines()
    assert lines[0] == "spanhook: strict mode refused the import of dashscope 1.2.3"
    assert lines[1].startswith("Traceback")
    assert lines[-1].startswith(f"spanhook.errors.UnboundError: {REFUSED}")
    assert not folder.body_ran


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        pytest.param(["--strict", "--allow", "mcp,dashscope"], {}, id="options"),
        pytest.param(
            [], {"SPANHOOK_STRICT": "1", "SPANHOOK_ALLOW": "dashscope"}, id="variables", marks=pytest.mark.slow
        ),
    ],
)
def test_what_is_allowed_may_be_imported(
    folder: Folder, path: str, options: list[str], variables: dict[str, str]
) -> None:
    ran = folder.spanhook("run", *options, "app.py", PYTHONPATH=path, **variables)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "dashscope\n", "")


@pytest.mark.slow
def test_what_hooks_import_keeps_the_application_from_starting(folder: Folder, path: str) -> None:
    folder.file("judge.py", "\nimport dashscope\n" + HOOKS)

    ran = folder.spanhook("run", "--strict", "--hooks", "judge.py:hooks", "app.py", PYTHONPATH=path)

    assert ran.returncode == 3
    assert f"\nspanhook: hooks '{folder.path}/judge.py:hooks': {REFUSED}" in f"\n{ran.stderr}"
    assert ran.stderr.endswith("judge.py, line 1)\n")
    assert not folder.body_ran


@pytest.mark.slow
def test_what_start_up_code_imports_keeps_the_application_from_starting(folder: Folder, path: str) -> None:
    folder.file("installed/sitecustomize.py", "import dashscope")

    ran = folder.spanhook("run", "app.py", PYTHONPATH=path, SPANHOOK_STRICT="1")

    assert ran.returncode == 3
    assert ran.stderr.startswith(f"spanhook: {IN_USE}, which strict mode does not allow: ")
    assert ran.stderr.count("\n") == 1
    assert not folder.body_ran


@pytest.mark.slow
def test_children_inherit_it(folder: Folder, path: str) -> None:
    folder.write(parent="import subprocess, sys\nsys.exit(subprocess.call([sys.executable, 'app.py']))")

    ran = folder.spanhook("run", "--strict", "parent.py", PYTHONPATH=path)

    assert ran.returncode == 1
    assert REFUSED in ran.stderr
    assert not folder.body_ran


@pytest.mark.slow
def test_under_opentelemetry_instrument(folder: Folder, path: str) -> None:
    later = folder.run(INSTRUMENT, sys.executable, "app.py", PYTHONPATH=path, SPANHOOK_STRICT="1", **SILENT)
    assert (later.returncode, REFUSED in later.stderr) == (1, True)

    folder.file("judge.py", "import dashscope\n" + HOOKS)
    variables = {"SPANHOOK_STRICT": "1", "SPANHOOK_HOOKS": "judge.py:hooks", **SILENT}
    start = folder.run(INSTRUMENT, sys.executable, "app.py", PYTHONPATH=path, **variables)
    assert (start.returncode, REFUSED in start.stderr) == (3, True)
    assert not folder.body_ran
