"""``spanhook run``: what it starts is gated, and otherwise as it would be without."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from spanhook.bootstrap.target import resolve
from tests.commands import APP, OWN_TOOL, REJECTED, SPANHOOK, TOOL, Folder, environment
from tests.forking import children

GATED = ("run", "--hooks", "./hooks.py:hooks")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


# ----------------------------------------------------------------------------------- what can be started

TARGETS = {
    "script": ["app.py"],
    "script in a folder": ["./app.py", "--flag", "-x"],
    "dashes and script": ["--", "app.py"],
    "module": ["-m", "app"],
    "dashes and module": ["--", "-m", "app"],
    "command": ["--", sys.executable, "-u", "app.py"],
    "command by name": ["--", "env", "A=1", sys.executable, "app.py"],
    "code": ["--", sys.executable, "-c", "import app"],
    "shell": ["--", "sh", "-c", f"echo first >&2; {sys.executable} app.py"],
    "shell script": ["--", "./start.sh"],
    "shebang": ["--", "./tool-script"],
    "folder": ["packed"],
}


OFTEN = ("script", "shell")


@pytest.mark.one_value
@pytest.mark.parametrize(
    "target",
    [pytest.param(words, id=name, marks=[] if name in OFTEN else pytest.mark.slow) for name, words in TARGETS.items()],
)
def test_a_refused_tool_does_not_run(folder: Folder, target: list[str]) -> None:
    folder.agent(TOOL if target == TARGETS["script"] else OWN_TOOL)
    folder.file("packed/__main__.py", f"import sys; sys.path.append({str(folder.path)!r})" + APP)
    folder.file("start.sh", f"#!/bin/sh\nexec {sys.executable} app.py\n", executable=True)
    folder.file("tool-script", f"#!{sys.executable}\n{APP}", executable=True)

    ran = folder.spanhook(*GATED, *target)

    assert (ran.returncode, ran.stdout.strip()) == (0, REJECTED), ran.stderr
    assert not folder.body_ran


def test_a_command_beside_spanhook_need_not_be_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert resolve([Path(sys.executable).name, "app.py"], command=True).file == sys.executable


@pytest.mark.slow
def test_without_hooks_the_tool_runs(folder: Folder) -> None:
    ran = folder.agent().spanhook("run", "app.py")

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "paid\n", "")


@pytest.mark.slow
def test_mode_off_runs_no_hook(folder: Folder) -> None:
    folder.agent()

    assert folder.spanhook(*GATED, "--mode", "off", "app.py").stdout == "paid\n"
    assert folder.spanhook(*GATED, "app.py", SPANHOOK_MODE="off").stdout == "paid\n"


@pytest.mark.slow
def test_flags_stand_over_the_environment(folder: Folder) -> None:
    folder.agent().write(others="from spanhook import Hooks\nhooks = Hooks()\n")

    ran = folder.spanhook("run", "app.py", SPANHOOK_HOOKS="others.py:hooks,./hooks.py:hooks")
    assert ran.stdout.strip() == REJECTED
    ran = folder.spanhook("run", "--hooks", "others:hooks", "--mode", "enforce", "app.py", SPANHOOK_HOOKS="nope.py:x")
    assert ran.stdout == "paid\n"


WHAT_IT_SEES = """
import json, os, sys, traceback
try:
    import sitecustomize
    other = sitecustomize.__file__
except Exception as error:
    other = repr(error)
spec = None if __spec__ is None else __spec__.name
print(json.dumps([
    sys.path, sys.argv, sys.orig_argv[1:], __name__, __file__, spec, other, sys.stdin.read(), os.getcwd(),
    [str(flag) for flag in sys.flags], sys.executable, [frame.name for frame in traceback.extract_stack()],
]))
"""


CHAINED = ["", "other = 1", "raise RuntimeError('broken')", "raise ImportError('x', name='y')"]
SEEN_BY = [["seen.py", "a", "-b"], ["link/seen.py"], ["-m", "seen", "a"], ["-m", "package"], ["zipped.pyz"]]
SEEN_OFTEN = [(SEEN_BY[0], CHAINED[0]), (SEEN_BY[0], CHAINED[1]), (SEEN_BY[2], CHAINED[0])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "chained"),
    [
        pytest.param(target, chained, marks=[] if (target, chained) in SEEN_OFTEN else pytest.mark.slow)
        for target in SEEN_BY
        for chained in CHAINED
    ],
)
def test_the_application_sees_what_it_would_see_without_us(folder: Folder, target: list[str], chained: str) -> None:
    folder.agent().write(seen=WHAT_IT_SEES).file("package/__main__.py", WHAT_IT_SEES)
    (folder.path / "link").symlink_to(folder.path)
    with zipfile.ZipFile(folder.path / "zipped.pyz", "w") as archive:
        archive.writestr("__main__.py", WHAT_IT_SEES)
    paths = ["sub", ""]
    if chained:
        folder.file("other/sitecustomize.py", chained)
        paths.append("other")
    path = os.pathsep.join(paths)

    plain = folder.run(sys.executable, *target, stdin="typed", PYTHONPATH=path)
    ours = folder.spanhook(*GATED, *target, stdin="typed", PYTHONPATH=path)

    assert json.loads(ours.stdout) == json.loads(plain.stdout)
    assert set(ours.stderr.splitlines()) == set(plain.stderr.splitlines())  # spanhook's own process says it too


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONSAFEPATH": "1"},
        pytest.param({"PYTHONNOUSERSITE": "1"}, marks=pytest.mark.slow),
        pytest.param({"PYTHONPATH": ""}, marks=pytest.mark.slow),
    ],
)
def test_python_variables_that_do_not_keep_us_out(folder: Folder, variables: dict[str, str]) -> None:
    folder.agent(OWN_TOOL).file("app.py", f"import sys; sys.path.append({str(folder.path)!r})" + APP)

    ran = folder.spanhook(*GATED, "app.py", **variables)

    assert ran.stdout.strip() == REJECTED, ran.stderr


@pytest.mark.slow
def test_hooks_may_import_the_application(folder: Folder) -> None:
    folder.agent(OWN_TOOL).file(
        "elsewhere/hooks.py", "import beside, tool\nassert tool.refund\nfrom beside import hooks\n"
    )
    folder.file("elsewhere/beside.py", (folder.path / "hooks.py").read_text())

    ran = folder.spanhook("run", "--hooks", "elsewhere/hooks.py:hooks", "app.py")

    assert ran.stdout.strip() == REJECTED, ran.stderr


@pytest.mark.slow
def test_the_application_and_its_hooks_share_one_module(folder: Folder) -> None:
    folder.agent(OWN_TOOL).file(
        "app.py", APP + "import hooks\nprint(len(hooks.hooks), [m for m in __import__('sys').modules if 'hooks_' in m])"
    )

    ran = folder.spanhook(*GATED, "--hooks", "hooks:hooks", "app.py")

    assert ran.stdout.splitlines()[1] == "1 []", ran.stdout + ran.stderr


@pytest.mark.slow
def test_what_hooks_import_runs_nothing_ungated(folder: Folder) -> None:
    folder.agent(OWN_TOOL).file("app_state.py", "from tool import attempt\nresult = attempt()\n")
    folder.file("early.py", "import app_state\n" + (folder.path / "hooks.py").read_text())

    ran = folder.spanhook("run", "--hooks", "early.py:hooks", "-m", "app")

    assert ran.returncode == 0
    assert not folder.body_ran


# ----------------------------------------------------------------------------------- the process is the target's own


@pytest.mark.slow
def test_exit_code_and_streams(folder: Folder) -> None:
    folder.write(app="import sys\nsys.stderr.write('err')\nprint(sys.stdin.read())\nsys.exit(7)")

    ran = folder.spanhook("run", "app.py", stdin="hello")

    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "hello\n", "err")


def test_signals_reach_it_under_the_same_process_id(folder: Folder) -> None:
    folder.write(app="import os, signal\nprint(os.getpid(), flush=True)\nsignal.pause()")
    with children.Piped(*SPANHOOK[1:], "run", "app.py", cwd=folder.path, env=environment({})) as process:
        assert int(process.stdout.readline()) == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM


@pytest.mark.slow
def test_errors_of_the_application_are_its_own(folder: Folder) -> None:
    folder.write(app="1/0")

    ran, plain = folder.spanhook("run", "app.py"), folder.run(sys.executable, "app.py")

    assert (ran.returncode, ran.stderr) == (1, plain.stderr)


@pytest.mark.slow
def test_console_prints_runs_on_standard_error(folder: Folder) -> None:
    folder.agent()

    for variables in ({}, {"OTEL_SDK_DISABLED": "true"}):
        ran = folder.spanhook(*GATED, "--console", "app.py", **variables)
        assert ran.stdout.strip() == REJECTED
        assert "refund" in ran.stderr
    assert "refund" in folder.spanhook(*GATED, "app.py", SPANHOOK_CONSOLE="1").stderr


@pytest.mark.slow
def test_standard_streams_that_are_closed(folder: Folder) -> None:
    folder.write(app="open('ran', 'w').close()")
    command = ["sh", "-c", f"exec {sys.executable} -m spanhook run app.py >&- 2>&-"]
    done = subprocess.run(command, cwd=folder.path, env=environment({}), check=False)
    assert done.returncode == 0
    assert (folder.path / "ran").exists()
