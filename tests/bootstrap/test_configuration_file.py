"""A configuration file through ``spanhook run``, ``opentelemetry-instrument`` and the processes that they start."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bootstrap.test_startup import INSTRUMENT, SILENT
from tests.commands import SPANHOOK, Folder, environment, fetch
from tests.ports import free_port
from tests.rules import install

ROOT = Path(__file__).parents[2]

FILE = """
version: 1
policies:
  - use: deny
    id: payments
    with: {rules: [{tools: [refund], reason: not today}]}
"""

TOOL = """
import spanhook

@spanhook.tool
def refund() -> str:
    return "paid"

def attempt() -> str:
    try:
        return refund()
    except spanhook.Reject as error:
        return f"rejected: {error}"
"""

APP = "from tool import attempt\nprint(attempt(), flush=True)\n"
REJECTED = "rejected: not today\n"

HOOKS = """
import spanhook
hooks, others = spanhook.Hooks(), spanhook.Hooks()

@hooks.before("tool.execute")
def first(op):
    raise spanhook.Reject("of the file")

@others.before("tool.execute")
def second(op):
    raise spanhook.Reject("of the flag")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """An application whose tool the file in its folder refuses."""
    folder = Folder(tmp_path / "app").write(tool=TOOL, app=APP, hooks=HOOKS)
    folder.file("spanhook.yaml", FILE)
    install(tmp_path / "installed")
    return folder


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """Where ready-made hooks are found from any process."""
    return {"PYTHONPATH": f"{tmp_path / 'installed'}:{ROOT}"}


@pytest.mark.slow
def test_the_file_of_the_working_directory_is_in_force(folder: Folder, path: dict[str, str]) -> None:
    ran = folder.spanhook("run", "app.py", **path)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, REJECTED, "")


@pytest.mark.slow
def test_a_file_is_named_by_option_or_variable(folder: Folder, path: dict[str, str]) -> None:
    folder.file("other/rules.yaml", FILE.replace("today", "ever"))
    folder.file("spanhook.yaml", "version: 1\nmode: off\n")

    assert folder.spanhook("run", "--config", "other/rules.yaml", "app.py", **path).stdout == "rejected: not ever\n"
    assert folder.spanhook("run", "app.py", SPANHOOK_CONFIG="other/rules.yaml", **path).stdout == "rejected: not ever\n"
    assert folder.spanhook("run", "app.py", SPANHOOK_CONFIG="", **path).stdout == "paid\n"
    assert folder.spanhook("run", "app.py", **path).stdout == "paid\n"


@pytest.mark.slow
def test_a_table_of_pyproject_is_in_force(folder: Folder, path: dict[str, str]) -> None:
    (folder.path / "spanhook.yaml").unlink()
    folder.file("pyproject.toml", "[tool.spanhook.hooks]\npath = './hooks.py:hooks'\n")

    assert folder.spanhook("run", "app.py", **path).stdout == "rejected: of the file\n"


@pytest.mark.slow
def test_options_stand_over_variables_and_those_over_the_file(folder: Folder, path: dict[str, str]) -> None:
    folder.file("spanhook.yaml", FILE + "mode: off\n")

    assert folder.spanhook("run", "app.py", **path).stdout == "paid\n"
    assert folder.spanhook("run", "app.py", SPANHOOK_MODE="enforce", **path).stdout == REJECTED
    ran = folder.spanhook("run", "--mode", "shadow", "app.py", SPANHOOK_MODE="enforce", **path)
    assert ran.stdout == "paid\n"


@pytest.mark.slow
def test_hooks_of_options_stand_in_the_place_of_those_of_the_file(folder: Folder, path: dict[str, str]) -> None:
    folder.file("spanhook.yaml", "hooks: {path: ./hooks.py:hooks}\n")

    assert folder.spanhook("run", "app.py", **path).stdout == "rejected: of the file\n"
    assert folder.spanhook("run", "--hooks", "hooks.py:others", "app.py", **path).stdout == "rejected: of the flag\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mode: of", "spanhook: spanhook.yaml:1: mode: 'of': expected 'enforce', 'shadow' or 'off'\n"),
        ("policies: [{use: dney, id: a}]", "spanhook: spanhook.yaml:1: policies[0].use: there is no hook 'dney'"),
        ("hooks: {path: ./app.py:hooks}", "in the application's own script"),
        ("hooks: {path: gone.py:hooks}", "spanhook: spanhook.yaml:1: hooks.path: '"),
    ],
)
def test_with_a_bad_file_nothing_starts(folder: Folder, path: dict[str, str], text: str, told: str) -> None:
    folder.file("spanhook.yaml", text)

    ran = folder.spanhook("run", "app.py", **path)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert told in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.slow
def test_without_the_file_that_is_named_nothing_starts(folder: Folder, path: dict[str, str]) -> None:
    ran = folder.spanhook("run", "--config", "nope.yaml", "app.py", **path)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "spanhook: the configuration file 'nope.yaml' does not exist; correct the path\n"


DEFINITION = """
hook_id: payments
name: Payments
event_type: tool.execute.pre
handler_ref: tests.rules:Deny
config: {rules: [{tools: [refund], reason: not today}]}
"""


@pytest.mark.slow
def test_definitions_are_found_from_the_folder_of_the_file_and_by_children(
    folder: Folder, path: dict[str, str]
) -> None:
    folder.write(children=CHILDREN)
    folder.file("other/rules.yaml", "settings: {definitions_dir: definitions}\n")
    folder.file("other/definitions/payments.yaml", DEFINITION)
    app = str(folder.path / "app.py")

    ran = folder.spanhook("run", "--config", "other/rules.yaml", "children.py", app, **path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, REJECTED * 4, "")

    folder.file("spanhook.yaml", "version: 1\n")
    ran = folder.spanhook("run", "children.py", app, SPANHOOK_DEFINITIONS_DIR="other/definitions", **path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, REJECTED * 4, "")


CHILDREN = """
import multiprocessing, os, subprocess, sys
from tool import attempt

def say() -> None:
    print(attempt(), flush=True)

if __name__ == "__main__":
    os.chdir("/")
    for method in ("fork", "spawn", "forkserver"):
        child = multiprocessing.get_context(method).Process(target=say)
        child.start()
        child.join()
    subprocess.run([sys.executable, sys.argv[1]], check=True)
"""


@pytest.mark.slow
def test_children_follow_the_same_file_wherever_they_are(folder: Folder, path: dict[str, str]) -> None:
    folder.write(children=CHILDREN)

    ran = folder.spanhook("run", "children.py", str(folder.path / "app.py"), **path)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, REJECTED * 4, "")


@pytest.mark.slow
def test_under_opentelemetry_instrument(folder: Folder, path: dict[str, str]) -> None:
    ran = folder.run(INSTRUMENT, sys.executable, "app.py", **SILENT, **path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, REJECTED, "")

    folder.file("spanhook.yaml", "mode: of")
    ran = folder.run(INSTRUMENT, sys.executable, "app.py", **SILENT, **path)
    assert (ran.returncode, ran.stdout) == (2, "")


WEB = """
from tool import attempt

def app(environ, respond):
    respond("200 OK", [("Content-Type", "text/plain")])
    return [attempt().encode()]
"""


@pytest.mark.slow
@pytest.mark.parametrize("preload", [[], ["--preload"]])
def test_each_worker_of_a_server_takes_over_what_changes(
    folder: Folder, path: dict[str, str], preload: list[str]
) -> None:
    folder.write(web=WEB)
    port = free_port()
    command = ("-m", "gunicorn", "-w", "2", "-b", f"127.0.0.1:{port}", "--reuse-port", *preload, "web:app")

    with folder.server(*SPANHOOK, "run", "--", sys.executable, *command, port=port, **path):
        assert {fetch(port) for _ in range(20)} == {"rejected: not today"}
        folder.file("spanhook.yaml", FILE.replace("today", "ever"))
        said = {fetch(port)}
        while fetch(port) != "rejected: not ever":
            said.add(fetch(port))
        assert said <= {"rejected: not today", "rejected: not ever"}
        while {fetch(port) for _ in range(20)} != {"rejected: not ever"}:
            pass


WAITING = """
import sys
from tool import attempt
print(attempt(), flush=True)
for line in sys.stdin:
    print(attempt(), flush=True)
"""


@pytest.mark.slow
def test_sighup_has_the_file_read(folder: Folder, path: dict[str, str]) -> None:
    folder.write(waiting=WAITING)
    with subprocess.Popen(
        [*SPANHOOK, "run", "waiting.py"],
        cwd=folder.path,
        env=environment(path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == REJECTED
            folder.file("spanhook.yaml", FILE.replace("today", "ever"))
            process.send_signal(signal.SIGHUP)
            said = REJECTED
            while said == REJECTED:
                process.stdin.write("\n")
                process.stdin.flush()
                said = process.stdout.readline()
            assert said == "rejected: not ever\n"
        finally:
            process.kill()


@pytest.mark.slow
def test_when_the_terminal_hangs_up_the_process_ends(folder: Folder, path: dict[str, str]) -> None:
    """SIGHUP is taken for reloading, and must go on to mean what it means where there is a terminal."""
    import os
    import pty

    folder.write(waiting=WAITING)
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - another process
        os.chdir(folder.path)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored by whatever was started with nohup
        os.execve(sys.executable, [*SPANHOOK, "run", "waiting.py"], environment(path))
    said = b""
    while b"rejected" not in said:
        said += os.read(terminal, 1024)
    os.close(terminal)

    _, status = os.waitpid(pid, 0)

    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGHUP
