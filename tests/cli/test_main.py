"""The command itself: what it parses, how it fails, and what it does not import."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from spanhook.bootstrap import environment
from spanhook.cli.main import cli
from spanhook.errors import ConfigurationError
from spanhook.version import __version__
from tests.commands import SPANHOOK, Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_version_and_help(folder: Folder) -> None:
    assert folder.spanhook("--version").stdout == f"{__version__}\n"
    for command in ([], ["--help"]):
        ran = folder.spanhook(*command)
        assert ran.returncode == 0
        assert "run " in ran.stdout
    assert "SPANHOOK_HOOKS" in folder.spanhook("run", "--help").stdout


@pytest.mark.slow
def test_the_console_script_is_the_same_command(folder: Folder) -> None:
    script = Path(sys.executable).parent / "spanhook"

    assert folder.run(str(script), "--version").stdout == f"{__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runn"], "spanhook: No such command 'runn'."),
        (["--runs"], "spanhook: No such option"),
        (["load", "--runs", "0"], "spanhook: Invalid value for '--runs': 0 is not in the range x>=1."),
        (["load", "--seed", "x"], "spanhook: Invalid value for '--seed': 'x' is not a valid integer."),
        (["doctor", "extra"], "spanhook: Got unexpected extra argument"),
    ],
)
@pytest.mark.parametrize("apart", [False, pytest.param(True, marks=pytest.mark.slow, id="in a process of its own")])
def test_a_mistake_is_one_line(folder: Folder, arguments: list[str], message: str, apart: bool) -> None:
    ran = (folder.spanhook if apart else folder.here)(*arguments)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(message)
    assert ran.stderr.count("\n") == 1


@pytest.mark.slow
def test_importing_spanhook_imports_no_command(folder: Folder) -> None:
    folder.write(
        app="""
        import sys, spanhook
        print([name for name in ("click", "spanhook.cli", "spanhook.bootstrap") if name in sys.modules])
        """
    )

    assert folder.run(sys.executable, "app.py").stdout == "[]\n"


@pytest.mark.slow
def test_help_imports_no_library(folder: Folder) -> None:
    folder.write(
        app="""
        import atexit, sys
        sys.argv[1:] = ["--help"]
        atexit.register(lambda: print("langchain_core" in sys.modules))
        from spanhook.cli import main
        main()
        """
    )

    assert folder.run(sys.executable, "app.py").stdout.endswith("False\n")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["demo", "load"])
def test_a_missing_dependency_names_the_extra(folder: Folder, command: str) -> None:
    folder.file(
        "blocked/sitecustomize.py",
        "import sys\nfor name in ('langchain_core', 'langgraph', 'langchain'):\n    sys.modules[name] = None\n",
    )

    ran = folder.run(*SPANHOOK, command, "--json", PYTHONPATH="blocked")

    assert ran.returncode == 2, ran.stderr
    assert ran.stderr.startswith(f"spanhook {command}")
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.endswith('pip install "spanhook[demo]"\n')
    assert not ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["demo", "--json"], ["load", "--runs", "3", "--json"]])
def test_json_is_all_there_is_on_standard_output(folder: Folder, arguments: list[str]) -> None:
    ran = folder.run(*SPANHOOK, *arguments)

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)


# ----------------------------------------------------------------------------------- what `run` is told


@pytest.mark.parametrize(
    ("arguments", "target", "command"),
    [
        (["app.py", "--console"], ("app.py", "--console"), False),
        (["--", "app.py"], ("app.py",), True),
        (["--", "x", "--", "y"], ("x", "--", "y"), True),
        (["x", "--", "y"], ("x", "--", "y"), False),
        (["-m", "mod", "-m", "--hooks", "z"], ("-m", "mod", "-m", "--hooks", "z"), False),
        (["--console", "-m", "mod", "--help"], ("-m", "mod", "--help"), False),
        (["--hooks", "a:b", "--", "-m", "mod"], ("-m", "mod"), True),
    ],
)
def test_what_belongs_to_the_target(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], target: tuple[str, ...], command: bool
) -> None:
    seen: list[object] = []

    def resolve(words: tuple[str, ...], *, command: bool) -> None:
        seen.extend((words, command))
        raise ConfigurationError("seen")

    monkeypatch.setattr("spanhook.bootstrap.resolve", resolve)
    CliRunner().invoke(cli, ["run", *arguments])

    assert seen == [target, command]


@pytest.mark.parametrize(
    ("value", "specs"),
    [
        ("", []),
        ("a.py:h", ["a.py:h"]),
        ("a.py:h, ./b.py:g,", ["a.py:h", "./b.py:g"]),
        ("a.py:h:pkg.mod:g", ["a.py:h", "pkg.mod:g"]),
        ("/odd:path/a.py:h", ["/odd:path/a.py:h"]),
        ("/with,comma/a.py:h\n/b:c:d/a.py:h\n", ["/with,comma/a.py:h", "/b:c:d/a.py:h"]),
        ("nonsense", ["nonsense"]),
    ],
)
def test_specs_of_a_variable(value: str, specs: list[str]) -> None:
    assert environment.split_specs(value) == specs


@pytest.mark.parametrize("specs", [("a.py:h",), ("/a,b/x.py:h", "/c:d:e/y.py:h"), ("m:h", "n:g"), ()])
def test_variables_say_what_was_wanted(specs: tuple[str, ...]) -> None:
    wanted = environment.read(
        {},
        hooks=specs,
        require=["a, b", "c"],
        mode="off",
        console=True,
        stream_usage=True,
        strict=True,
        allow=["d", "e,f"],
        error_messages=True,
        input_output_values=True,
    )

    assert environment.read(wanted.variables()) == wanted
    assert wanted.require == ("a", "b", "c")
    assert wanted.settings.stream_usage
    assert wanted.settings.strict
    assert wanted.settings.error_messages
    assert wanted.settings.input_output_values
    assert wanted.settings.allow == {"d", "e", "f"}


def test_paths_are_anchored_and_modules_are_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = environment.read({}, hooks=["hooks.py:h", "pkg.hooks:h", "nonsense"]).anchored()

    assert wanted.hooks == (f"{tmp_path}/hooks.py:h", "pkg.hooks:h", "nonsense")
