"""Functions that a configuration file names are tools and agents, whenever and however they are imported."""

import asyncio
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject, RequirementError
from spanhook.config import bind_functions, bound_functions, is_function, load_file, require_functions
from spanhook.config.bound import states, unbound_functions
from spanhook.errors import ConfigurationFileError
from spanhook.testing import recorder

MODULE = '''
from functools import lru_cache
import spanhook

class Base:
    def inherited(self, amount):
        return ("inherited", amount)

class Shell(Base):
    __slots__ = ("calls",)
    limit = 3

    def execute(self, command, timeout=1):
        """Run a command."""
        return f"ran {command}"

    @staticmethod
    def apart(command):
        return f"apart {command}"

    @classmethod
    def of_class(cls, command):
        return f"{cls.__name__} {command}"

    async def later(self, command):
        return f"later {command}"

    def each(self, command):
        yield from command

    async def each_later(self, command):
        for one in command:
            yield one

class Louder(Shell):
    pass

def search(query):
    return f"found {query}"

@lru_cache
def cached(query):
    return f"found {query}"

@spanhook.tool
def decorated(query):
    return query

class Agent:
    def run(self, task):
        return search(task), Shell().execute(task)

taken = {"search": search, "execute": Shell().execute}
'''


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Writes a module, and a configuration file that names its functions; returns the file."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "by_hand").mkdir()
    (tmp_path / "by_hand" / "__init__.py").write_text("")
    (tmp_path / "by_hand" / "shell.py").write_text(MODULE)
    path = tmp_path / "spanhook.yaml"

    def written(*tools: str, agents: tuple[str, ...] = ()) -> Any:
        lines = [f"    - {one}" for one in tools]
        more = [f"    - {one}" for one in agents]
        path.write_text("\n".join(["version: 1", "bind:", "  tools:", *lines, *(["  agents:", *more] if more else [])]))
        return load_file(str(path))

    yield written
    spanhook.uninstrument()
    for name in [name for name in sys.modules if name.partition(".")[0] == "by_hand"]:
        del sys.modules[name]


def shell() -> Any:
    return importlib.import_module("by_hand.shell")


async def _all(steps: Any) -> list[Any]:
    return [one async for one in steps]


CALLS: dict[str, tuple[Callable[[Any], Any], Any, dict[str, Any]]] = {
    "Shell.execute": (lambda m: m.Shell().execute("ls"), "ran ls", {"command": "ls", "timeout": 1}),
    "Shell.apart": (lambda m: m.Shell.apart("ls"), "apart ls", {"command": "ls"}),
    "Shell.of_class": (lambda m: m.Louder.of_class("ls"), "Louder ls", {"command": "ls"}),
    "Shell.later": (lambda m: asyncio.run(m.Shell().later("ls")), "later ls", {"command": "ls"}),
    "Shell.each": (lambda m: list(m.Shell().each("ls")), ["l", "s"], {"command": "ls"}),
    "Shell.each_later": (lambda m: asyncio.run(_all(m.Shell().each_later("ls"))), ["l", "s"], {"command": "ls"}),
    "Shell.inherited": (lambda m: m.Shell().inherited(5), ("inherited", 5), {"amount": 5}),
    "search": (lambda m: m.search("tea"), "found tea", {"query": "tea"}),
    "cached": (lambda m: m.cached("tea"), "found tea", {"query": "tea"}),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("early", [False, True], ids=["imported later", "imported before"])
def test_each_call_is_a_tool(name: str, early: bool, write: Callable[..., Any]) -> None:
    call, expected, arguments = CALLS[name]
    if early:
        shell()
    hooks, seen = Hooks(), list[Any]()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen.append((op.name, dict(op.request.arguments or {})))

    with recorder(hooks) as recorded:
        bind_functions(write(f"by_hand.shell:{name}"))
        assert call(shell()) == expected
        assert seen == [(name.rpartition(".")[2], arguments)]
        assert [op.status for op in recorded.operations] == ["success"]
    assert call(shell()) == expected  # restored
    assert len(seen) == 1


@pytest.mark.parametrize("name", [name for name in CALLS if name != "cached"])
def test_each_call_is_gated(name: str, write: Callable[..., Any]) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def never(_op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks):
        bind_functions(write(f"by_hand.shell:{name}"))
        with pytest.raises(Reject, match="no"):
            CALLS[name][0](shell())


@pytest.mark.parametrize("what", ["search", "execute"])
def test_references_that_were_taken_earlier_are_gated(what: str, write: Callable[..., Any]) -> None:
    taken = shell().taken[what]
    with recorder() as seen:
        bind_functions(write("by_hand.shell:search", "by_hand.shell:Shell.execute"))
        taken("tea")
        assert [op.name for op in seen.operations] == [what]


def test_a_module_that_is_loaded_again_is_bound_again(write: Callable[..., Any]) -> None:
    with recorder() as seen:
        bind_functions(write("by_hand.shell:search", "by_hand.shell:Shell.execute"))
        importlib.reload(shell())
        shell().search("tea")
        shell().Shell().execute("ls")
        assert [op.name for op in seen.operations] == ["search", "execute"]


def test_a_name_of_its_own_and_rewritten_arguments(write: Callable[..., Any]) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"bash"})
    def safer(op: Operation) -> None:
        op.replace(arguments={"command": "true"})

    with recorder(hooks):
        bind_functions(write("{function: 'by_hand.shell:Shell.execute', name: bash}"))
        assert shell().Shell().execute("rm") == "ran true"


def test_the_run_of_an_agent(write: Callable[..., Any]) -> None:
    hooks, made = Hooks(), list[str]()

    @hooks.before("tool.execute", names={"search"})
    def never(_op: Operation) -> None:
        raise Reject("stop", scope="run")

    @hooks.after("tool.execute")
    def after(op: Operation) -> None:
        made.append(op.name)

    with recorder(hooks) as seen:
        file = write("by_hand.shell:search", "by_hand.shell:Shell.execute", agents=("by_hand.shell:Agent.run",))
        bind_functions(file)
        with pytest.raises(Reject, match="stop"):
            shell().Agent().run("tea")
        assert made == []
        assert {op.identity.run_id for op in seen.operations if op.kind == "tool.execute"} == {
            op.identity.run_id for op in seen.operations if op.kind == "agent.invoke"
        }


# --------------------------------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        (
            ["nowhere.at_all:search"],
            r"spanhook\.yaml:4: bind\.tools\[0\]: nowhere\.at_all:search: the module nowhere\.at_all does not exist;",
        ),
        (["by_hand.nothing:search"], "the module by_hand.nothing does not exist"),
        (["by_hand.shell:serach"], "by_hand.shell has no serach"),
        (["by_hand.shell:Base.execute"], "Base of by_hand.shell has no execute"),
        (["by_hand.shell:search"] * 2, "it is named twice"),
        (["__main__:search"], "the application is started with this script"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(tools: list[str], message: str, write: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationFileError, match=message):
        bind_functions(write(*tools))
    assert "by_hand.shell" not in sys.modules
    assert states() == {}


@pytest.mark.parametrize(
    "tools", ["search", "'by_hand.shell:'", "{name: search}", "'a:b c'", "{function: 'a:b', x: 1}"]
)
def test_entries_that_say_nothing_are_mistakes(tools: str, write: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationFileError, match=r"bind\.tools\[0\]"):
        write(tools)


def test_the_script_that_is_started(write: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "by_hand" / "shell.py")])
    with pytest.raises(ConfigurationFileError, match=r"move the function to a module, or decorate it"):
        bind_functions(write("by_hand.shell:search"))


@pytest.mark.every_value
@pytest.mark.parametrize("name", ["Shell.limit", "Louder", "decorated", "Louder.missing"])
def test_what_is_no_function_is_told_when_it_is_imported(
    name: str, write: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    with recorder():
        bind_functions(write(f"by_hand.shell:{name}"))
        shell()
        assert states() == {f"by_hand.shell:{name}": "missing"}
        assert f"by_hand.shell:{name}" in caplog.text
        with pytest.raises(RequirementError, match=f"required function 'by_hand.shell:{name}' is not bound"):
            require_functions(["by_hand"])


def test_required_functions(write: Callable[..., Any]) -> None:
    file = write("by_hand.shell:search")
    functions = bound_functions(file)
    assert [is_function(one, functions) for one in ("by_hand", "by_hand.shell", "by_hand.shell:search", "openai")] == [
        True,
        True,
        True,
        False,
    ]
    with recorder():
        bind_functions(file)
        assert states() == {"by_hand.shell:search": "waiting"}
        require_functions(["by_hand"])
        assert states() == {"by_hand.shell:search": "bound"}


def test_a_module_that_exits_when_it_is_imported(
    write: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "exiting_tools.py").write_text("def search(query): ...\nraise SystemExit(7)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with recorder():
        bind_functions(write("exiting_tools:search"))
        assert unbound_functions() == {"exiting_tools:search": "SystemExit: 7"}
        with pytest.raises(RequirementError, match="'exiting_tools:search' is not bound: SystemExit: 7"):
            require_functions(["exiting_tools"])
