"""Loading hooks of runs: by what names them, from sections of configuration files, and from an ``aegra.json``."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spanhook import ConfigurationError
from spanhook.config import load_hooks as load_any
from spanhook.runs import RejectRun, RunHooks, from_aegra, from_mapping, load_hooks, run_scope
from spanhook.testing import recorder

FILE = """
from spanhook import Hooks
from spanhook.runs import RunHooks
import beside

hooks = RunHooks()
others = Hooks()
number = 3
nothing = None

@hooks.before_run
async def refuse(ctx):
    raise hooks.RejectRun(beside.SAID, status_code=402)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    modules = set(sys.modules)
    (tmp_path / "hooks.py").write_text(FILE)
    (tmp_path / "beside.py").write_text("SAID = 'Subscribe'")
    yield tmp_path
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def refused(hooks: RunHooks) -> bool:
    with recorder(hooks):
        try:
            with run_scope("own"):
                return False
        except RejectRun as error:
            return (error.message, error.status_code) == ("Subscribe", 402)


def test_a_path_relative_to_a_folder(folder: Path) -> None:
    assert refused(load_hooks("./hooks.py:hooks", base_dir=folder))
    assert refused(load_hooks("hooks.py:hooks", base_dir=str(folder)))
    assert refused(load_hooks(f"../{folder.name}/hooks.py:hooks", folder))


def test_a_path_relative_to_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert refused(load_hooks("./hooks.py:hooks"))


def test_an_absolute_path(folder: Path) -> None:
    assert refused(load_hooks(f"{folder}/hooks.py:hooks"))
    assert refused(load_hooks(f"{folder}/hooks.py:hooks", base_dir="/elsewhere"))


def test_a_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = folder / "our_runs"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "gates.py").write_text(FILE)
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    assert refused(load_hooks("our_runs.gates:hooks"))


def test_the_module_stays_and_is_loaded_once(folder: Path) -> None:
    hooks = load_hooks("./hooks.py:hooks", folder)
    assert load_hooks(f"{folder}/hooks.py:hooks") is hooks
    (module,) = (one for one in list(sys.modules.values()) if vars(one).get("hooks") is hooks)
    assert sys.modules[module.__name__] is module
    function: Any = vars(module)["refuse"]
    assert sys.modules[function.__module__] is module


@pytest.mark.parametrize("spec", ["", ":", "./hooks.py", "./hooks.py:", ":hooks", "pkg.mod", None, 3])
def test_a_spec_without_a_name_is_a_value_error(spec: Any) -> None:
    with pytest.raises(ValueError, match=r"expected \./file\.py:name or package\.module:name"):
        load_hooks(spec)


def test_a_file_that_is_not_there_is_a_file_not_found_error(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"the file {folder}/missing.py does not exist; correct the path"):
        load_hooks("./missing.py:hooks", folder)
    with pytest.raises(FileNotFoundError, match=r"the file .* does not exist"):
        load_hooks("./:hooks", folder)


def test_a_module_that_is_not_there_is_an_import_error() -> None:
    with pytest.raises(ImportError, match="no_such_package"):
        load_hooks("no_such_package.hooks:hooks")


def test_a_name_that_is_not_there_is_an_attribute_error(folder: Path) -> None:
    with pytest.raises(AttributeError, match=r"'./hooks.py:hoks': ./hooks.py has no 'hoks'; it has hooks"):
        load_hooks("./hooks.py:hoks", folder)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("number", "int, expected a RunHooks; it has hooks"), ("RunHooks", "type, "), ("nothing", "NoneType, ")],
)
def test_another_object_is_a_type_error(folder: Path, name: str, kind: str) -> None:
    with pytest.raises(TypeError, match=f"{name} is of type {kind}"):
        load_hooks(f"./hooks.py:{name}", folder)


def test_other_hooks_are_a_type_error_that_says_where_they_go(folder: Path) -> None:
    with pytest.raises(TypeError, match=r"of type Hooks, expected a RunHooks; give it to spanhook.instrument\(\)"):
        load_hooks("./hooks.py:others", folder)


def test_what_the_file_raises_goes_through_and_leaves_no_module(folder: Path) -> None:
    (folder / "broken.py").write_text("raise LookupError('no settings')")
    with pytest.raises(LookupError, match="no settings"):
        load_hooks("./broken.py:hooks", folder)
    assert not [name for name in sys.modules if "broken" in name and "spanhook_hooks" in name]


def test_the_command_and_spanhooks_own_loader_take_them_too(folder: Path) -> None:
    hooks = load_any(f"{folder}/hooks.py:hooks")
    assert hooks is load_hooks("./hooks.py:hooks", folder).__spanhook_hooks__()


# ------------------------------------------------------------------------------------------------ configuration


def test_a_section_of_a_configuration_file(folder: Path) -> None:
    hooks = from_mapping({"path": "./hooks.py:hooks", "timeout": 5}, folder)
    assert (hooks.timeout, refused(hooks)) == (5, True)
    hooks.timeout = 10
    assert from_mapping({"path": "./hooks.py:hooks"}, folder).timeout == 10


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"path": "./hooks.py:hooks", "timeuot": 5}, "hooks: unknown key 'timeuot'; did you mean 'timeout'?"),
        ({"path": "./hooks.py:hooks", 5: 5}, "hooks: unknown key 5; expected path and timeout"),
        ({}, "hooks: path=None, expected"),
        ({"path": ["x"]}, "hooks: path=\\['x'\\], expected"),
        ({"path": "./hooks.py:hooks", "timeout": "5"}, "hooks: timeout='5', expected seconds above 0"),
        ({"path": "./hooks.py:hooks", "timeout": 0}, "hooks: timeout=0, expected"),
        ({"path": "./hooks.py:hooks", "timeout": True}, "hooks: timeout=True, expected"),
        ({"path": "./missing.py:hooks"}, "missing.py does not exist"),
        ({"path": "./hooks.py:number"}, "number is of type int"),
        ({"path": "./broken.py:hooks"}, "hooks './broken.py:hooks': LookupError: no settings"),
        ("./hooks.py:hooks", "hooks='./hooks.py:hooks', expected a mapping such as"),
    ],
)
def test_a_section_that_cannot_be_used_says_why(folder: Path, section: Any, message: str) -> None:
    (folder / "broken.py").write_text("raise LookupError('no\\nsettings')")
    with pytest.raises(ConfigurationError, match=message) as caught:
        from_mapping(section, folder)
    assert "\n" not in str(caught.value)


def aegra(folder: Path, **more: Any) -> Path:
    file = folder / "aegra.json"
    file.write_text(json.dumps({"graphs": {"agent": "./agent.py:graph"}, **more}))
    return file


def test_an_aegra_json_names_hooks_and_their_timeout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = from_aegra(aegra(folder, hooks={"path": "./hooks.py:hooks", "timeout": 3}))
    assert hooks is not None
    assert (hooks.timeout, refused(hooks)) == (3, True)
    monkeypatch.chdir(folder)
    assert from_aegra() is hooks


def test_an_aegra_json_without_hooks_names_none(folder: Path) -> None:
    assert from_aegra(aegra(folder)) is None


def test_an_aegra_json_that_cannot_be_used_is_named(folder: Path) -> None:
    file = aegra(folder, hooks={"timeout": 3})
    with pytest.raises(ConfigurationError, match=f"{file}: hooks: path=None"):
        from_aegra(file)
    for text, message in (("{", "is not valid JSON: "), ("[]", "expected a JSON object")):
        file.write_text(text)
        with pytest.raises(ConfigurationError, match=message):
            from_aegra(file)
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        from_aegra(folder / "missing.json")
