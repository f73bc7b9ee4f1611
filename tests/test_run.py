"""``spanhook run``: a gated start or none, for whatever is started and for its Python children."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
import venv
from pathlib import Path

import pytest

from spanhook.bootstrap import SITE
from spanhook.instrument import INSTRUMENTORS

from tests.commands import APP, REJECTED, SPANHOOK, Folder, environment, fetch, free_port

GATED = ("run", "--hooks", "./hooks.py:hooks")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with nothing installed."""
    path = tmp_path_factory.mktemp("bare")
    venv.create(path, with_pip=False, symlinks=True)
    return path


def python_with(path: Path, **lines: str) -> str:
    """A Python that finds what is installed here, and whose start is changed by lines in ``.pth`` files."""
    venv.create(path, with_pip=False, symlinks=True)
    site = next((path / "lib").glob("python*/site-packages"))
    entries = [entry for entry in sys.path if entry.endswith(("site-packages", f"{os.sep}src"))]
    (site / "installed.pth").write_text("\n".join(entries))
    for name, line in lines.items():
        (site / f"{name}.pth").write_text(line)
    return str(path / "bin" / "python")


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


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_a_refused_tool_does_not_run(folder: Folder, target: list[str]) -> None:
    folder.agent().file("packed/__main__.py", f"import sys; sys.path.append({str(folder.path)!r})" + APP)
    folder.file("start.sh", f"#!/bin/sh\nexec {sys.executable} app.py\n", executable=True)
    folder.file("tool-script", f"#!{sys.executable}\n{APP}", executable=True)

    ran = folder.spanhook(*GATED, *target)

    assert (ran.returncode, ran.stdout.strip()) == (0, REJECTED), ran.stderr
    assert not folder.body_ran


def test_without_hooks_the_tool_runs(folder: Folder) -> None:
    ran = folder.agent().spanhook("run", "app.py")

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "paid\n", "")


def test_mode_off_runs_no_hook(folder: Folder) -> None:
    folder.agent()

    assert folder.spanhook(*GATED, "--mode", "off", "app.py").stdout == "paid\n"
    assert folder.spanhook(*GATED, "app.py", SPANHOOK_MODE="off").stdout == "paid\n"


def test_flags_stand_over_the_environment(folder: Folder) -> None:
    folder.agent().write(others="from spanhook import Hooks\nhooks = Hooks()\n")

    ran = folder.spanhook("run", "app.py", SPANHOOK_HOOKS="others.py:hooks,./hooks.py:hooks")
    assert ran.stdout.strip() == REJECTED
    ran = folder.spanhook("run", "--hooks", "others:hooks", "--mode", "enforce", "app.py", SPANHOOK_HOOKS="nope.py:x")
    assert ran.stdout == "paid\n"


WHAT_IT_SEES = """
import json, os, sys
try:
    import sitecustomize
    other = sitecustomize.__file__
except Exception as error:
    other = repr(error)
spec = None if __spec__ is None else __spec__.name
print(json.dumps([
    sys.path, sys.argv, sys.orig_argv[1:], __name__, __file__, spec, other, sys.stdin.read(), os.getcwd(),
    [str(flag) for flag in sys.flags], sys.executable, len(sys._current_frames()[__import__("threading").get_ident()].f_code.co_name),
]))
"""


@pytest.mark.parametrize("chained", ["", "other = 1", "raise RuntimeError('broken')", "raise ImportError('x', name='y')"])
@pytest.mark.parametrize("target", [["seen.py", "a", "-b"], ["link/seen.py"], ["-m", "seen", "a"], ["-m", "package"], ["zipped.pyz"]])
def test_the_application_sees_what_it_would_see_without_us(folder: Folder, target: list[str], chained: str) -> None:
    import zipfile

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


@pytest.mark.parametrize("variables", [{"PYTHONSAFEPATH": "1"}, {"PYTHONNOUSERSITE": "1"}, {"PYTHONPATH": ""}])
def test_python_variables_that_do_not_keep_us_out(folder: Folder, variables: dict[str, str]) -> None:
    folder.agent().file("app.py", f"import sys; sys.path.append({str(folder.path)!r})" + APP)

    ran = folder.spanhook(*GATED, "app.py", **variables)

    assert ran.stdout.strip() == REJECTED, ran.stderr


def test_hooks_may_import_the_application(folder: Folder) -> None:
    folder.agent().file("elsewhere/hooks.py", "import beside, tool\nassert tool.refund\nfrom beside import hooks\n")
    folder.file("elsewhere/beside.py", (folder.path / "hooks.py").read_text())

    ran = folder.spanhook("run", "--hooks", "elsewhere/hooks.py:hooks", "app.py")

    assert ran.stdout.strip() == REJECTED, ran.stderr


def test_the_application_and_its_hooks_share_one_module(folder: Folder) -> None:
    folder.agent().file("app.py", APP + "import hooks\nprint(len(hooks.hooks), [m for m in __import__('sys').modules if 'hooks_' in m])")

    ran = folder.spanhook(*GATED, "--hooks", "hooks:hooks", "app.py")

    assert ran.stdout.splitlines()[1] == "1 []", ran.stdout + ran.stderr


def test_what_hooks_import_runs_nothing_ungated(folder: Folder) -> None:
    folder.agent().file("app_state.py", "from tool import attempt\nresult = attempt()\n")
    folder.file("early.py", "import app_state\n" + (folder.path / "hooks.py").read_text())

    ran = folder.spanhook("run", "--hooks", "early.py:hooks", "-m", "app")

    assert ran.returncode == 0
    assert not folder.body_ran


# ----------------------------------------------------------------------------------- the process is the target's own


def test_exit_code_and_streams(folder: Folder) -> None:
    folder.write(app="import sys\nsys.stderr.write('err')\nprint(sys.stdin.read())\nsys.exit(7)")

    ran = folder.spanhook("run", "app.py", stdin="hello")

    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "hello\n", "err")


def test_signals_reach_it_under_the_same_process_id(folder: Folder) -> None:
    folder.write(app="import os, signal\nprint(os.getpid(), flush=True)\nsignal.pause()")
    process = subprocess.Popen(
        [*SPANHOOK, "run", "app.py"], cwd=folder.path, env=environment({}), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        assert int(process.stdout.readline()) == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM


def test_errors_of_the_application_are_its_own(folder: Folder) -> None:
    folder.write(app="1/0")

    ran, plain = folder.spanhook("run", "app.py"), folder.run(sys.executable, "app.py")

    assert (ran.returncode, ran.stderr) == (1, plain.stderr)


def test_console_prints_runs_on_standard_error(folder: Folder) -> None:
    folder.agent()

    for variables in ({}, {"OTEL_SDK_DISABLED": "true"}):
        ran = folder.spanhook(*GATED, "--console", "app.py", **variables)
        assert ran.stdout.strip() == REJECTED
        assert "refund" in ran.stderr
    assert "refund" in folder.spanhook(*GATED, "app.py", SPANHOOK_CONSOLE="1").stderr


# ----------------------------------------------------------------------------------- children

IN_CHILD = """
import multiprocessing, sys
from tool import attempt

def work(queue):
    queue.put(attempt())

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    print(queue.get(timeout=60))
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("hooks", ["./hooks.py:hooks", "elsewhere/hooks.py:hooks"])
def test_multiprocessing(folder: Folder, method: str, hooks: str) -> None:
    folder.agent().write(work=IN_CHILD)
    folder.file("elsewhere/hooks.py", "import tool\n" + (folder.path / "hooks.py").read_text())
    folder.file("other/empty.txt", "")

    started = Folder(folder.path / "other").spanhook("run", "--hooks", f"../{hooks}", "../work.py", method)

    assert (started.returncode, started.stdout.strip()) == (0, REJECTED), started.stderr
    assert not started.stderr
    assert not (folder.path / "other/BODY_RAN").exists()


@pytest.mark.slow
def test_subprocess_in_another_folder(folder: Folder) -> None:
    folder.agent().file("deep/nothing.txt", "")
    folder.file(
        "parent.py",
        "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '../app.py'], cwd='deep'))",
    )

    ran = folder.spanhook(*GATED, "parent.py")

    assert ran.stdout.strip() == REJECTED, ran.stderr
    assert not (folder.path / "deep/BODY_RAN").exists()


WSGI = """
from tool import attempt

early = attempt()

def app(environ, start_response):
    start_response("200 OK", [("content-type", "text/plain")])
    return [f"{early} / {attempt()}".encode()]
"""

ASGI = """
import os
from tool import attempt

open(f"worker-{os.getpid()}", "w").write(attempt())

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": attempt().encode()})
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--preload"]], ids=["", "preload"])
def test_gunicorn_workers(folder: Folder, options: list[str]) -> None:
    folder.agent().write(served=WSGI)
    port = free_port()
    command = [str(Path(sys.executable).parent / "gunicorn"), *options, "-w", "2", "-b", f"127.0.0.1:{port}", "served:app"]

    with folder.server(*SPANHOOK, *GATED, "--", *command, port=port):
        answers = {fetch(port) for _ in range(6)}

    assert answers == {f"{REJECTED} / {REJECTED}"}
    assert not folder.body_ran


@pytest.mark.slow
def test_uvicorn_workers(folder: Folder) -> None:
    folder.agent().write(served=ASGI)
    port = free_port()
    command = [str(Path(sys.executable).parent / "uvicorn"), "--workers", "2", "--port", str(port), "served:app"]

    with folder.server(*SPANHOOK, *GATED, "--", *command, port=port):
        deadline = time.monotonic() + 60
        while len(list(folder.path.glob("worker-*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        workers = [path.read_text() for path in folder.path.glob("worker-*")]
        answers = {fetch(port) for _ in range(6)}

    assert workers == [REJECTED, REJECTED]
    assert answers == {REJECTED}
    assert not folder.body_ran


def test_tools_in_other_pythons_are_left_alone(folder: Folder, bare: Path) -> None:
    folder.agent().file("app.py", f"import subprocess\nprint(subprocess.call(['{bare}/bin/python', '-c', 'print(1)']))\n{APP}")

    ran = folder.spanhook(*GATED, "app.py")

    assert ran.stdout.splitlines() == ["1", "0", REJECTED], ran.stderr
    assert not ran.stderr


def test_a_python_with_a_gated_library_but_no_spanhook_does_not_start(folder: Folder, tmp_path: Path) -> None:
    other = tmp_path / "other"
    venv.create(other, with_pip=False, symlinks=True)
    (next((other / "lib").glob("python*/site-packages")) / "openai.py").write_text("")
    folder.agent().file("app.py", f"import subprocess\nprint(subprocess.call(['{other}/bin/python', '-c', 'print(1)']))")

    ran = folder.spanhook(*GATED, "app.py")

    assert ran.stdout == "2\n"
    assert "bin/python has no spanhook, so what it runs would not be gated" in ran.stderr


def test_the_start_up_code_knows_every_library() -> None:
    scope: dict[str, object] = {}
    source = Path(SITE, "sitecustomize.py").read_text()
    exec(next(line for line in source.splitlines() if line.startswith("LIBRARIES")), scope)

    assert set(INSTRUMENTORS) <= set(scope["LIBRARIES"])  # pyright: ignore[reportArgumentType]


# ----------------------------------------------------------------------------------- it does not start

NOT_STARTED = {
    "no path": (["app.py"], {"SPANHOOK_HOOKS": "nope.py:hooks"}, 2, "there is no file"),
    "no script": (["nope.py"], {}, 2, "there is no script 'nope.py'"),
    "no command": (["--", "no-such-command"], {}, 2, "there is no command 'no-such-command'"),
    "nothing": ([], {}, 2, "nothing to run"),
    "no module name": (["-m"], {}, 2, "-m needs the name of a module"),
    "no dashes": (["ls"], {}, 2, "write spanhook run -- ls"),
    "not Python": (["--", "ls"], {}, 2, "'ls' is no Python program"),
    "option": (["--hoks", "x", "app.py"], {}, 2, "no such option '--hoks'"),
    "mode": (["--mode", "enforced", "app.py"], {}, 2, "'enforced' is not one of"),
    "mode variable": (["app.py"], {"SPANHOOK_MODE": "on"}, 2, "mode 'on' is unknown; expected one of enforce, off"),
    "switch": (["app.py"], {"SPANHOOK_CONSOLE": "maybe"}, 2, "SPANHOOK_CONSOLE='maybe', expected 1 or 0"),
    "content": (["app.py"], {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "ALL"}, 2, "expected one of NO_CONTENT"),
    "library": (["--require", "langchian", "app.py"], {}, 2, "unknown library 'langchian'; spanhook knows"),
    "library variable": (["app.py"], {"SPANHOOK_REQUIRE": "x,langgraph"}, 2, "unknown library 'x'"),
    "protocol": (["app.py"], {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "udp"}, 2, "='udp', expected one of"),
    "exporter": (["app.py"], {"OTEL_METRICS_EXPORTER": "carbon"}, 2, "no such exporter is installed; expected one of"),
    "-E": (["--", sys.executable, "-E", "app.py"], {}, 2, "-E makes Python ignore PYTHONPATH"),
    "-I": (["--", sys.executable, "-uI", "app.py"], {}, 2, "-I isolates Python from the environment"),
    "-S": (["--", sys.executable, "-u", "-S", "-m", "app"], {}, 2, "-S keeps Python from running start-up code"),
    "shebang -E": (["--", "./isolated"], {}, 2, "-E makes Python ignore PYTHONPATH"),
    "env -S": (["--", "./env-isolated"], {}, 2, "-I isolates Python from the environment"),
    "env -i": (["--", "env", "-i", sys.executable, "app.py"], {}, 2, "env -i takes spanhook out"),
    "env PYTHONPATH": (["--", "env", "PYTHONPATH=x", sys.executable, "app.py"], {}, 2, "env PYTHONPATH=x takes spanhook out"),
    "bad interpreter": (["--", "./broken"], {}, 2, "cannot be started"),
    "own script": (["--hooks", "app.py:attempt", "app.py"], {}, 2, "in the application's own script"),
    "own module": (["--hooks", "app:attempt", "-m", "app"], {}, 2, "in the application's own module"),
    "broken hooks before a shell": (["--hooks", "app.py:x", "--", "sh", "-c", "touch BODY_RAN"], {}, 2, "app.py has no 'x'"),
}


@pytest.mark.parametrize(("arguments", "variables", "code", "message"), NOT_STARTED.values(), ids=NOT_STARTED.keys())
def test_it_does_not_start(folder: Folder, arguments: list[str], variables: dict[str, str], code: int, message: str) -> None:
    folder.write(app="def attempt(): pass\nopen('BODY_RAN', 'a')" if "shell" not in str(arguments) else "")
    folder.file("isolated", f"#!{sys.executable} -E\nopen('BODY_RAN', 'a')\n", executable=True)
    folder.file("env-isolated", f"#!/usr/bin/env -S {sys.executable} -I\nopen('BODY_RAN', 'a')\n", executable=True)
    folder.file("broken", "#!/no/such/python3\n", executable=True)
    if arguments and arguments[-1].startswith("touch"):
        folder.write(app="")

    ran = folder.spanhook("run", *arguments, **variables)

    assert ran.returncode == code
    assert message in ran.stderr
    assert ran.stderr.startswith("spanhook: ")
    assert ran.stderr.count("\n") == 1
    assert not ran.stdout
    assert not folder.body_ran


def test_a_requirement_that_is_not_met(folder: Folder, tmp_path: Path) -> None:
    folder.write(app="open('BODY_RAN', 'a')")
    dist = tmp_path / "stubs" / "langgraph-99.0.dist-info"
    dist.mkdir(parents=True)
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: langgraph\nVersion: 99.0\n")

    for command in (["app.py"], ["--", "sh", "-c", "touch BODY_RAN"]):
        ran = folder.spanhook("run", "--require", "langgraph", *command, PYTHONPATH=str(tmp_path / "stubs"))
        assert ran.returncode == 3
        assert ran.stderr == "spanhook: required library 'langgraph' is at version 99.0; supported is langgraph >= 1.0, < 2\n"
    assert not folder.body_ran


def test_a_requirement_that_is_met(folder: Folder) -> None:
    ran = folder.agent().spanhook(*GATED, "--require", "langchain,langgraph", "app.py")

    assert ran.stdout.strip() == REJECTED, ran.stderr


def test_a_python_without_spanhook(folder: Folder, bare: Path) -> None:
    folder.file("script", f"#!{bare}/bin/python\nopen('BODY_RAN', 'a')\n", executable=True)

    for command in ([f"{bare}/bin/python", "script"], ["./script"]):
        ran = folder.spanhook("run", "--", *command)
        assert ran.returncode == 2
        assert ran.stderr.startswith(f"spanhook: {bare}/bin/python has no spanhook; install it there")
    assert not folder.body_ran


def test_start_up_code_that_is_found_before_ours(folder: Folder, tmp_path: Path) -> None:
    folder.agent().file("first/sitecustomize.py", "")
    python = python_with(tmp_path / "other", zz=f"import sys; sys.path.insert(0, {str(folder.path / 'first')!r})")

    ran = folder.spanhook(*GATED, "--", python, "app.py")

    assert ran.returncode == 2
    assert "does not run spanhook's start-up code; it runs" in ran.stderr
    assert "first/sitecustomize.py instead" in ran.stderr
    assert not folder.body_ran


def test_a_spanhook_that_cannot_be_imported(folder: Folder, tmp_path: Path) -> None:
    folder.agent().file("broken/wrapt/__init__.py", "raise RuntimeError('no\\nwrapt')")
    python = python_with(tmp_path / "other", aa=f"import sys; sys.path.insert(0, {str(folder.path / 'broken')!r})")

    ran = folder.spanhook(*GATED, "--", python, "app.py")

    assert ran.returncode == 2
    assert ran.stderr == f"spanhook: {python} cannot import spanhook: RuntimeError: no wrapt\n"
    assert not folder.body_ran


# ----------------------------------------------------------------------------------- opentelemetry-instrument

INSTRUMENT = str(Path(sys.executable).parent / "opentelemetry-instrument")
SILENT = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
FAILING = {**SILENT, "OTEL_PYTHON_ID_GENERATOR": "no_such_generator"}
COUNTED = "\nopen('LOADED', 'a').write('x')\n"


@pytest.mark.slow
def test_opentelemetry_instrument_alone(folder: Folder) -> None:
    folder.agent()

    ran = folder.run(INSTRUMENT, sys.executable, "app.py", SPANHOOK_HOOKS="./hooks.py:hooks", **SILENT)

    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, REJECTED, "")
    assert not folder.body_ran


@pytest.mark.slow
@pytest.mark.parametrize("disabled", ["*", "spanhook,langchain"])
def test_disabled_instrumentations_do_not_disable_hooks(folder: Folder, disabled: str) -> None:
    variables = {**SILENT, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": disabled, "SPANHOOK_HOOKS": "hooks.py:hooks"}

    ran = folder.agent().run(INSTRUMENT, sys.executable, "app.py", **variables)

    assert ran.stdout.strip() == REJECTED, ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "code", "message"),
    [
        ({"SPANHOOK_HOOKS": "nope.py:hooks"}, 2, "there is no file"),
        ({"SPANHOOK_REQUIRE": "nope"}, 2, "unknown library 'nope'"),
        ({"SPANHOOK_HOOKS": "raising.py:hooks"}, 2, "failed to load: SystemExit: 0"),
    ],
)
def test_opentelemetry_instrument_does_not_start_ungated(
    folder: Folder, variables: dict[str, str], code: int, message: str
) -> None:
    folder.write(app="open('BODY_RAN', 'a')", raising="import sys\nsys.exit(0)")

    ran = folder.run(INSTRUMENT, sys.executable, "app.py", **SILENT, **variables)

    assert ran.returncode == code
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not folder.body_ran


@pytest.mark.slow
def test_children_under_opentelemetry_instrument(folder: Folder) -> None:
    folder.agent().write(parent="import subprocess, sys\nsys.exit(subprocess.call([sys.executable, 'app.py']))")

    ran = folder.run(INSTRUMENT, sys.executable, "parent.py", SPANHOOK_HOOKS="hooks.py:hooks", **SILENT)

    assert ran.stdout.strip() == REJECTED, ran.stderr


@pytest.mark.slow
def test_both_loaders_install_once(folder: Folder) -> None:
    folder.agent().file("hooks.py", (folder.path / "hooks.py").read_text() + COUNTED)
    folder.file("app.py", APP + "from opentelemetry import trace\nprint(type(trace.get_tracer_provider()).__module__)")

    ran = folder.spanhook(*GATED, "--", INSTRUMENT, sys.executable, "app.py", **SILENT)

    assert ran.stdout.splitlines() == [REJECTED, "opentelemetry.sdk.trace"], ran.stderr
    assert (folder.path / "LOADED").read_text() == "xx"  # the launcher's own process, and the application's


@pytest.mark.slow
def test_a_configurator_that_fails_ungates_the_one_but_not_both(folder: Folder) -> None:
    folder.agent()

    alone = folder.run(INSTRUMENT, sys.executable, "app.py", SPANHOOK_HOOKS="hooks.py:hooks", **FAILING)
    assert alone.stdout == "paid\n"  # what the loader does to us, and why `spanhook run` is the guarantee
    (folder.path / "BODY_RAN").unlink()

    both = folder.spanhook(*GATED, "--", INSTRUMENT, sys.executable, "app.py", **FAILING)
    assert both.stdout.strip() == REJECTED, both.stderr
    assert not folder.body_ran
