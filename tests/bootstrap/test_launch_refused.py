"""``spanhook run``: what cannot be started gated is not started."""

import os
import sys
import venv
from pathlib import Path

import pytest

from tests.commands import OWN_TOOL, REJECTED, Folder

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


NOT_STARTED = {
    "no path": (["app.py"], {"SPANHOOK_HOOKS": "nope.py:hooks"}, 2, "nope.py does not exist"),
    "misspelt": (
        ["app.py"],
        {"SPANHOOK_HOKS": "hooks.py:hooks"},
        2,
        "SPANHOOK_HOKS is unknown; did you mean SPANHOOK_HOOKS?",
    ),
    "empty hooks": (["--hooks", "", "app.py"], {}, 2, "--hooks was given an empty value"),
    "empty require": (["--require", "", "app.py"], {}, 2, "--require was given an empty value"),
    "no script": (["nope.py"], {}, 2, "the script 'nope.py' does not exist"),
    "no command": (["--", "no-such-command"], {}, 2, "the command 'no-such-command' does not exist"),
    "nothing": ([], {}, 2, "nothing to run"),
    "no module name": (["-m"], {}, 2, "-m needs a module name"),
    "no dashes": (["ls"], {}, 2, "write spanhook run -- ls"),
    "not Python": (["--", "ls"], {}, 2, "'ls' is not a Python program"),
    "option": (["--hoks", "x", "app.py"], {}, 2, "no such option '--hoks'; did you mean --hooks?"),
    "option with a value": (["--hook=x", "app.py"], {}, 2, "no such option '--hook'; did you mean --hooks?"),
    "unknown option": (["--bogus", "app.py"], {}, 2, "no such option '--bogus'; options of spanhook run go before"),
    "mode": (["--mode", "enforced", "app.py"], {}, 2, "'enforced' is not one of"),
    "mode variable": (
        ["app.py"],
        {"SPANHOOK_MODE": "on"},
        2,
        "mode 'on' is unknown; expected one of enforce, shadow, off",
    ),
    "switch": (["app.py"], {"SPANHOOK_CONSOLE": "maybe"}, 2, "SPANHOOK_CONSOLE='maybe', expected 1 or 0"),
    "content": (
        ["app.py"],
        {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "ALL"},
        2,
        "expected one of NO_CONTENT",
    ),
    "library": (["--require", "langchian", "app.py"], {}, 2, "unknown library 'langchian'; spanhook binds"),
    "allow": (
        ["--allow", "mcp,antropic", "app.py"],
        {},
        2,
        "unknown library 'antropic' to allow; did you mean 'anthro",
    ),
    "empty allow": (["--allow", "", "app.py"], {}, 2, "--allow was given an empty value"),
    "strict variable": (["app.py"], {"SPANHOOK_STRICT": "very"}, 2, "SPANHOOK_STRICT='very', expected 1 or 0"),
    "strict misspelt": (["app.py"], {"SPANHOOK_STRICKT": "1"}, 2, "did you mean SPANHOOK_STRICT?"),
    "library variable": (["app.py"], {"SPANHOOK_REQUIRE": "x,langgraph"}, 2, "unknown library 'x'"),
    "protocol": (
        ["app.py"],
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "udp"},
        2,
        "='udp', expected one of",
    ),
    "exporter": (["app.py"], {"OTEL_METRICS_EXPORTER": "carbon"}, 2, "no such exporter is installed; expected one of"),
    "-E": (["--", sys.executable, "-E", "app.py"], {}, 2, "-E makes Python ignore PYTHONPATH"),
    "-I": (["--", sys.executable, "-uI", "app.py"], {}, 2, "-I isolates Python from the environment"),
    "-S": (["--", sys.executable, "-u", "-S", "-m", "app"], {}, 2, "-S keeps Python from running start-up code"),
    "shebang -E": (["--", "./isolated"], {}, 2, "-E makes Python ignore PYTHONPATH"),
    "env -S": (["--", "./env-isolated"], {}, 2, "-I isolates Python from the environment"),
    "env -i": (["--", "env", "-i", sys.executable, "app.py"], {}, 2, "env -i takes spanhook out"),
    "env PYTHONPATH": (
        ["--", "env", "PYTHONPATH=x", sys.executable, "app.py"],
        {},
        2,
        "env PYTHONPATH=x takes spanhook out",
    ),
    "bad interpreter": (["--", "./broken"], {}, 2, "cannot be started"),
    "own script": (["--hooks", "app.py:attempt", "app.py"], {}, 2, "in the application's own script"),
    "own module": (["--hooks", "app:attempt", "-m", "app"], {}, 2, "in the application's own module"),
    "broken hooks before a shell": (
        ["--hooks", "app.py:x", "--", "sh", "-c", "touch BODY_RAN"],
        {},
        2,
        "app.py has no 'x'",
    ),
}


OFTEN = (
    "no path",
    "misspelt",
    "empty hooks",
    "no script",
    "mode variable",
    "library",
    "protocol",
    "-E",
    "shebang -E",
    "env -i",
    "own script",
    "broken hooks before a shell",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "variables", "code", "message"),
    [
        pytest.param(*case, id=name, marks=[] if name in OFTEN else pytest.mark.slow)
        for name, case in NOT_STARTED.items()
    ],
)
def test_it_does_not_start(
    folder: Folder, arguments: list[str], variables: dict[str, str], code: int, message: str
) -> None:
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


@pytest.mark.slow
def test_a_requirement_that_is_not_met(folder: Folder, tmp_path: Path) -> None:
    folder.write(app="open('BODY_RAN', 'a')")
    dist = tmp_path / "stubs" / "langgraph-99.0.dist-info"
    dist.mkdir(parents=True)
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: langgraph\nVersion: 99.0\n")

    for command in (["app.py"], ["--", "sh", "-c", "touch BODY_RAN"]):
        ran = folder.spanhook("run", "--require", "langgraph", *command, PYTHONPATH=str(tmp_path / "stubs"))
        assert ran.returncode == 3
        assert (
            ran.stderr
            == "spanhook: required library 'langgraph' is at version 99.0; supported is langgraph >= 1.0, < 2\n"
        )
    assert not folder.body_ran


@pytest.mark.slow
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
    folder.agent(OWN_TOOL).file("first/sitecustomize.py", "")
    python = python_with(tmp_path / "other", zz=f"import sys; sys.path.insert(0, {str(folder.path / 'first')!r})")

    ran = folder.spanhook(*GATED, "--", python, "app.py")

    assert ran.returncode == 2
    assert "does not run spanhook's start-up code; it runs" in ran.stderr
    assert "first/sitecustomize.py instead" in ran.stderr
    assert not folder.body_ran


@pytest.mark.slow
def test_a_spanhook_that_cannot_be_imported(folder: Folder, tmp_path: Path) -> None:
    folder.agent(OWN_TOOL).file("broken/wrapt/__init__.py", "raise RuntimeError('no\\nwrapt')")
    python = python_with(tmp_path / "other", aa=f"import sys; sys.path.insert(0, {str(folder.path / 'broken')!r})")

    ran = folder.spanhook(*GATED, "--", python, "app.py")

    assert ran.returncode == 2
    assert ran.stderr == f"spanhook: {python} cannot import spanhook: RuntimeError: no wrapt\n"
    assert not folder.body_ran
