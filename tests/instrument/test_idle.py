"""Hooks for kinds that nothing makes are told of, once."""

import importlib
import logging
import pkgutil
import sys
from collections.abc import Iterator
from types import BuiltinMethodType, FunctionType
from typing import Any

import pytest

import spanhook
from spanhook import Hook, Hooks, Operation
from spanhook.gating import handler
from spanhook.instrument import instrumentor_of
from spanhook.instrument.idle import _said
from spanhook.model import Adapter, made
from tests.here import BOUND


def noop(op: Operation) -> None:
    return None


@pytest.fixture(autouse=True)
def unsaid() -> None:
    _said.clear()
    made.clear()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "makes" in record.getMessage()]


def adapters_in(value: Any) -> Iterator[Adapter]:
    """The adapters in a module's value: itself, those of a table, and those that a function has been made with."""
    if isinstance(value, Adapter):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from adapters_in(one)
    elif isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            yield from adapters_in(cell.cell_contents)
    elif isinstance(value, BuiltinMethodType) and isinstance(value.__self__, dict):
        yield from adapters_in(value.__self__)


@pytest.mark.parametrize("library", BOUND)
def test_a_library_says_which_kinds_it_makes(library: str) -> None:
    package = importlib.import_module(f"spanhook.instrument.{library}")
    modules = [
        importlib.import_module(one.name) for one in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]
    adapters = [one for module in modules for value in vars(module).values() for one in adapters_in(value)]
    assert instrumentor_of(library).kinds == {one.kind for one in adapters}


def test_kinds_that_nothing_makes_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()
    hooks.before("iteration", "llm.call")(noop)
    hooks.on("cron.execute.post", noop)  # spanhook makes these, once schedules are started
    hooks.on("job:end", noop)
    hooks.before("*")(noop)
    with caplog.at_level(logging.WARNING, "spanhook"):
        spanhook.instrument(hooks)
        spanhook.instrument(hooks)
        hooks.before("run")(noop)  # while they are in force
        spanhook.uninstrument()
        spanhook.instrument(hooks)
    iteration, run = told(caplog)
    assert "hook 'noop' is for iteration, which no library makes: it runs for operations of your own code" in iteration
    assert f"({__file__}, line " in iteration
    assert "is for run, which comes from libraries that are " in run
    assert ": nothing else makes one but `run_scope`, agents that are served and spans of other instrumentations" in run


@pytest.mark.parametrize(
    ("command", "warned"),
    [
        ("python -m spanhook serve --agent support=./app.py:graph", False),
        ("python /usr/bin/spanhook serve --config=server.yaml", False),
        ("python /usr/bin/spanhook worker --queue redis://queue/0 --agent a=./app.py:graph", False),
        ("python /usr/bin/spanhook serve", True),
        ("python app.py serve --agent a", True),
    ],
)
def test_a_server_with_agents_makes_their_runs(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, command: str, warned: bool
) -> None:
    monkeypatch.setattr(sys, "orig_argv", command.split())
    hooks = Hooks()
    hooks.before("run", "job", "cron.execute")(noop)
    with caplog.at_level(logging.WARNING, "spanhook"):
        spanhook.instrument(hooks)
    assert ["is for run" in one for one in told(caplog)] == [True] * warned


def test_subscriptions_to_everything_and_to_delegations_always_have_something_to_wait_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    for event in ("*", "*.post", "delegate:start", "agent.delegate"):
        hooks.on(event, noop, name=event)
    hooks.on("*", noop, level="trace")
    hooks.on("iteration.post", noop, name="turns")
    with caplog.at_level(logging.WARNING, "spanhook"):
        spanhook.instrument(hooks, only=("openai",))
    (message,) = told(caplog)
    assert "hook 'turns' is for iteration, which no library makes" in message


def test_libraries_that_are_left_out_are_named(caplog: pytest.LogCaptureFixture) -> None:
    class Gate(Hook):
        kinds = ("tool.execute", "embeddings.create")

        def before(self, op: Operation) -> None:
            return None

    with caplog.at_level(logging.WARNING, "spanhook"):
        spanhook.instrument(Gate(), only=("groq",))
        (message,) = told(caplog)
        assert "hook 'Gate' is for tool.execute, which comes from libraries that are left out by `only` (" in message
        left_out = message.partition("`only` (")[2].partition(")")[0].split(", ")
        assert {"anthropic", "langchain_core"} <= {*left_out}
        assert "groq" not in left_out
        assert "; added at " in message
        spanhook.instrument(only=("langchain_core",))  # now it is there
        caplog.clear()
        _said.clear()
        spanhook.instrument(Gate())
    assert told(caplog) == []


def test_nothing_is_said_where_nothing_is_to_run(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(noop)
    with caplog.at_level(logging.WARNING, "spanhook"):
        spanhook.instrument(hooks, only=())
        spanhook.instrument(settings=spanhook.Settings(mode="off"))
        hooks.before("job")(noop)
    assert told(caplog) == []


def test_what_own_code_makes_is_made(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()
    hooks.before("iteration")(noop)
    spanhook.operation("iteration", "turn")
    with caplog.at_level(logging.WARNING, "spanhook"):
        spanhook.instrument(hooks)
    assert told(caplog) == []


def test_a_ready_made_hook_is_for_whatever_there_is_of_its_kinds(caplog: pytest.LogCaptureFixture) -> None:
    @handler
    class Ready(Hook):
        kinds = ("tool.execute", "iteration", "retrieval.query")

        def before(self, op: Operation) -> None: ...

    with caplog.at_level(logging.WARNING, "spanhook"):
        spanhook.instrument(Ready())
        assert told(caplog) == []
        spanhook.uninstrument()
        ready = Ready()
        ready.kinds = ("iteration",)
        spanhook.instrument(ready)
        assert len(told(caplog)) == 1
