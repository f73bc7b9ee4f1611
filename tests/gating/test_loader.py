"""Loading hooks by name: what is found, and the one line that every mistake comes out as."""

import re
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from spanhook.config import check_installed, load_hooks
from spanhook.errors import ConfigurationError
from spanhook.gating import Hook, Hooks, loader
from tests.commands import HOOKS, Folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Folder]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loader._folders, "folders", [])  # later tests have modules of the same names
    before = set(sys.modules)
    yield Folder(tmp_path)
    for name in set(sys.modules) - before:
        del sys.modules[name]


# ----------------------------------------------------------------------------------- what is found


@pytest.mark.parametrize(
    "spec", ["./hooks.py:hooks", "hooks.py:hooks", "{here}/hooks.py:hooks", "sub/../hooks.py:hooks"]
)
def test_a_registry_in_a_file(folder: Folder, spec: str) -> None:
    folder.write(hooks=HOOKS, sub__x="")

    found = load_hooks(spec.format(here=folder.path))

    assert isinstance(found, Hooks)
    assert [hook.name for hook in found] == ["no_refunds"]


def test_a_registry_in_a_module(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder.path)
    folder.write(package__other="").file("package/inner.py", HOOKS)

    assert isinstance(load_hooks("package.inner:hooks"), Hooks)


def test_a_hook_itself(folder: Folder) -> None:
    folder.write(one="from spanhook import Hook\nclass Mine(Hook):\n  def after(self, op): ...\nmine = Mine()")

    assert isinstance(load_hooks("one.py:mine"), Hook)


def test_a_file_named_twice_is_loaded_once(folder: Folder) -> None:
    folder.write(hooks=HOOKS + "\nwith open('LOADED', 'a') as log:\n  log.write('x')\nmore = Hooks()")
    (folder.path / "link.py").symlink_to(folder.path / "hooks.py")

    first, again, linked = (
        load_hooks("hooks.py:hooks"),
        load_hooks(f"{folder.path}/hooks.py:hooks"),
        load_hooks("link.py:hooks"),
    )
    load_hooks("hooks.py:more")

    assert first is again is linked
    assert (folder.path / "LOADED").read_text() == "x"


def test_files_of_one_name_are_told_apart(folder: Folder) -> None:
    folder.write(a__hooks=HOOKS, b__hooks=HOOKS)

    assert load_hooks("a/hooks.py:hooks") is not load_hooks("b/hooks.py:hooks")
    assert "hooks" not in sys.modules


def test_the_folder_of_a_file_is_importable_also_later(folder: Folder) -> None:
    folder.write(
        a__hooks=HOOKS + "\nimport beside\ndef late():\n  import later\n  return later.x",
        a__beside="",
        a__later="x = 1",
    )
    path = list(sys.path)

    before = set(sys.modules)
    load_hooks("a/hooks.py:hooks")

    [name] = [name for name in set(sys.modules) - before if name.startswith("spanhook_hooks_")]
    assert sys.modules[name].late() == 1
    assert sys.path == path


def test_a_file_that_the_application_imports_is_that_module(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder.path)
    folder.write(agent_hooks=HOOKS)

    found = load_hooks("./agent_hooks.py:hooks")

    assert sys.modules["agent_hooks"].hooks is found


# ----------------------------------------------------------------------------------- mistakes

DECORATED = "from spanhook import Hooks\nhooks = Hooks()\n@hooks.{}\ndef gate(op): ...\n"

MISTAKES = {
    "no colon": ("hooks.py", "", "hooks 'hooks.py': expected path/to/hooks.py:hooks or package.module:hooks"),
    "no name": ("hooks.py:", "", "hooks 'hooks.py:': expected path/to/hooks.py:hooks"),
    "no file": ("./nope.py:hooks", "", "the file {here}/nope.py does not exist; correct the path"),
    "folder": ("./sub:hooks", "", "./sub is a folder; name a file in it"),
    "no module": (
        "no.such.module:hooks",
        "",
        "the module 'no' does not exist; correct it, or name the file as ./module.py:name",
    ),
    "no name in it": ("hooks.py:hoks", HOOKS, "hooks.py has no 'hoks'; it has hooks"),
    "no registry at all": (
        "hooks.py:hooks",
        "x = 1",
        "hooks.py has no 'hooks'; it has no registry; write `hooks = spanhook",
    ),
    "no registry": (
        "hooks.py:hooks",
        "hooks = [1,\n2]",
        "hooks is [1, 2], neither a spanhook.Hooks nor a spanhook.Hook",
    ),
    "a class": (
        "hooks.py:Mine",
        "from spanhook import Hook\nclass Mine(Hook): ...",
        "name an object, such as `hooks = Mine()`",
    ),
    "import": (
        "hooks.py:hooks",
        "x = 1\nimport no_such_library",
        "No module named 'no_such_library'; install it or correct the import ({here}/hooks.py, line 2)",
    ),
    "import of a name": ("hooks.py:hooks", "from spanhook import Huks", "cannot import name 'Huks' from 'spanhook'"),
    "relative import": ("hooks.py:hooks", "from . import x", "name a module of a package as package.module:name"),
    "syntax": ("hooks.py:hooks", "x = 1\ndef :", "cannot be read: invalid syntax ({here}/hooks.py, line 2)"),
    "raises": (
        "hooks.py:hooks",
        "x = 1\n\nraise KeyError('A\\nB')",
        "failed to load: KeyError: 'A\\nB' ({here}/hooks.py, line 3)",
    ),
    "exits": ("hooks.py:hooks", "raise SystemExit(0)", "failed to load: SystemExit: 0"),
    "kind": (
        "hooks.py:hooks",
        DECORATED.format("before('tool.exec')"),
        "unknown kind 'tool.exec' (did you mean 'tool.execute'?); expected '*' or one of run,",
    ),
    "priority": (
        "hooks.py:hooks",
        DECORATED.format("before('*', priority=5000)"),
        "hook 'gate': priority=5000, expected a whole number from 0 to 1000",
    ),
    "timeout": (
        "hooks.py:hooks",
        DECORATED.format("before('*', timeout=-1)"),
        "hook 'gate': timeout=-1, expected seconds above 0",
    ),
    "filter": (
        "hooks.py:hooks",
        DECORATED.format("before('*', names='x')"),
        "hook 'gate': names='x', expected a set of strings",
    ),
    "setting": (
        "hooks.py:hooks",
        DECORATED.format("before('*', prio=1)"),
        "unknown hook setting prio=1; expected one of",
    ),
    "signature": (
        "hooks.py:hooks",
        DECORATED.format("before('*')").replace("(op)", "()"),
        "hook 'gate' takes (); it is called with (op)",
    ),
    "form": ("hooks.py:hooks", DECORATED.format("around('*')"), "hook 'gate' is used as around but never yields"),
}


@pytest.mark.parametrize(("spec", "text", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line_that_names_it(folder: Folder, spec: str, text: str, message: str) -> None:
    folder.write(hooks=text, sub__x="")

    with pytest.raises(ConfigurationError, match=re.escape(message.format(here=folder.path))) as raised:
        load_hooks(spec)

    assert str(raised.value).startswith(f"hooks {spec!r}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "name",
    [
        "import",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("priority", "no registry", "signature", "filter", "timeout", "no file")
        ),
    ],
)
def test_a_mistake_keeps_the_application_from_starting(folder: Folder, name: str) -> None:
    spec, text, message = MISTAKES[name]
    folder.write(hooks=text, app="open('BODY_RAN', 'a')")

    ran = folder.spanhook("run", "--hooks", spec, "app.py")

    assert ran.returncode == 2
    assert message.format(here=folder.path) in ran.stderr
    assert re.fullmatch("spanhook: .*\n", ran.stderr)
    assert not folder.body_ran


def test_a_file_that_failed_is_loaded_anew(folder: Folder) -> None:
    folder.write(hooks="1/0")
    with pytest.raises(ConfigurationError, match="ZeroDivisionError"):
        load_hooks("hooks.py:hooks")

    folder.write(hooks=HOOKS + "# longer, so that no bytecode of the same second fits\n")

    assert isinstance(load_hooks("hooks.py:hooks"), Hooks)


def test_an_unknown_library_is_no_requirement() -> None:
    with pytest.raises(ConfigurationError, match="unknown library 'nope'; spanhook binds"):
        check_installed(["langgraph", "nope"])


def test_what_offers_hooks_in_a_file(folder: Folder) -> None:
    folder.write(
        runs="from spanhook.runs import RunHooks\nhooks = RunHooks()\n@hooks.before_run\nasync def gate(ctx): ...\n"
    )
    found = load_hooks("runs.py:hooks")
    assert isinstance(found, Hooks)
    assert [hook.name for hook in found] == ["gate"]
    with pytest.raises(ConfigurationError, match="it has hooks"):
        load_hooks("runs.py:hoks")
