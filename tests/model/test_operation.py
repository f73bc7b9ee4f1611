"""What an operation tells its hooks, and how long it may be changed."""

import datetime as dt
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from spanhook import Hooks, Operation, operation
from spanhook.cli.conformance.libraries import openai
from spanhook.cli.conformance.libraries.langchain import Calls, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body, settle
from spanhook.diagnostics import internal
from spanhook.errors import HookError
from spanhook.gating import _hosts
from spanhook.model import Event, clock
from spanhook.testing import recorder
from tests.stub import MODES, stubbed, use


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


def test_duration_and_end_are_those_of_the_call(mode: str) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        seen.append((op.duration > 0, op.ended_at))

    hooks.after("llm.call")(lambda op: seen.append((op.duration, op.ended_at)))

    @hooks.after("llm.call", priority=900)
    def later(op: Operation) -> None:
        clock.now()
        seen.append((op.duration, op.ended_at))

    with stubbed(hooks) as (library, recorded):
        use(library, mode, "x")
        [op] = recorded.operations
        seen.append((op.duration, op.ended_at))
    assert seen[0] == (True, None)
    durations = {duration for duration, _ in seen[1:]}
    assert len(durations) == 1
    assert 0 < durations.pop() < 1
    assert all(isinstance(ended, dt.datetime) and ended.tzinfo is dt.UTC for _, ended in seen[1:])


def test_what_an_agents_hooks_are_told() -> None:
    hooks = Hooks()
    told: dict[str, Any] = {}

    @hooks.before("llm.call")
    def offered(op: Operation) -> None:
        told.setdefault("tools", op.request.tools)
        told.setdefault("definitions", op.request.tool_definitions)

    @hooks.after("llm.call")
    def answered(op: Operation) -> None:
        told.setdefault("reasons", []).append(op.response.finish_reasons)

    @hooks.after("tool.execute")
    def worked(op: Operation) -> None:
        told.setdefault("calls", []).append((op.tool_call_id, op.agent))

    @hooks.after("agent.invoke")
    def ended(op: Operation) -> None:
        told["used"] = op.usage.tools, op.usage.tool_calls

    with recorder(hooks):
        consume(agent(Calls()), "invoke")
    assert told["tools"]
    assert [one["name"] for one in told["definitions"]] == told["tools"]
    assert all(identifier and name for identifier, name in told["calls"])
    tools, calls = told["used"]
    assert sum(tools.values()) == calls == len(told["calls"]) > 0


def test_finish_reasons_and_usage_metadata_where_there_are_any() -> None:
    hooks = Hooks()
    told: list[Any] = []
    hooks.after("*")(lambda op: told.append((op.response.finish_reasons, "usage_metadata" in op.extras)))

    def look_up(query: str) -> dict[str, str]:
        """Look something up."""
        return {"found": query}

    with recorder(hooks):
        ScriptedChat(body=Body()).invoke("hi")
        StructuredTool.from_function(look_up).invoke({"query": "x"})
    assert told == [(("stop",), True), ((), False)]


def test_a_tools_own_value_is_told() -> None:
    hooks = Hooks()
    values: list[Any] = []
    hooks.after("tool.execute")(lambda op: values.append(op.response.value))

    def look_up(query: str) -> dict[str, str]:
        """Look something up."""
        return {"found": query}

    with recorder(hooks):
        StructuredTool.from_function(look_up).invoke({"query": "x"})
    assert values == [{"found": "x"}]


class Slow(Mapping[str, Any]):
    """A mapping that can only be read once somebody lets it."""

    def __init__(self) -> None:
        self.read, self.done = threading.Event(), threading.Event()

    def __getitem__(self, key: str) -> Any:
        self.read.wait(60.0)
        return "too late"

    def __iter__(self) -> Iterator[str]:
        return iter(("query",))

    def __len__(self) -> int:
        return 1


def test_a_hook_that_timed_out_in_the_middle_of_a_rewrite_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_hosts, "START_S", 60.0)  # it does begin
    hooks = Hooks()
    slow, later = Slow(), list[Any]()

    @hooks.before("tool.execute", blocking=True, timeout=0.05, fail_mode="open")
    def rewrite(op: Operation) -> None:
        try:
            op.replace(arguments=slow)
        finally:
            slow.done.set()

    @hooks.before("tool.execute", priority=80)
    def gate(op: Operation) -> None:
        slow.read.set()
        assert slow.done.wait(60.0)
        later.append(op.request.arguments)

    def look_up(query: str) -> str:
        """Look something up."""
        return query

    with recorder(hooks) as seen:
        assert StructuredTool.from_function(look_up).invoke({"query": "x"}) == "x"
    assert later == [{"query": "x"}]
    assert [one.decision for one in seen.operations[0].decisions] == ["timeout"]
    internal.counts.pop("hook.hung", None)


def test_text_is_no_message() -> None:
    """But for frameworks that take it as one."""
    hooks = Hooks()
    told: list[str] = []

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        with pytest.raises(HookError) as caught:
            op.replace(messages=["Hi"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
        told.append(str(caught.value))

    chat = openai.SUBJECTS[0]
    with recorder(hooks):
        settle(chat.ways["create"](chat.make(Body())))
    [why] = told
    assert why.startswith("op.replace(messages=) was given text: a message is a mapping")


@pytest.mark.parametrize("given", ["Hi", {"role": "user", "parts": []}], ids=["text", "message"])
def test_messages_of_a_rewrite_are_a_list(given: Any) -> None:
    hooks = Hooks()
    told: list[str] = []

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        with pytest.raises(HookError) as caught:
            op.replace(messages=given)
        told.append(str(caught.value))

    with recorder(hooks):
        ScriptedChat(body=Body()).invoke("hello")
    assert told == [f"op.replace(messages=) takes a list of messages, not one {type(given).__name__}"]


def test_responding_after_the_yield_replaces_the_result(mode: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", stream="buffer")
    def around(op: Operation) -> Iterator[None]:
        yield
        op.respond("replaced")

    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "replaced"
    assert [one.decision for one in seen.operations[0].decisions] == ["replace"]


def test_its_public_names_are_those_that_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text()
    table = text.partition("## What a hook sees")[2].partition("\n\n`op.request`")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `op.")]
    to_read = re.findall(r"`op\.(\w+)`", " ".join(rows))
    assert len(to_read) == len(set(to_read))

    with stubbed() as (library, seen):
        library.work("x")
    [op] = seen.operations
    assert {name for name in dir(op) if not name.startswith("_")} == {*to_read, "refresh", "replace", "respond"}
    text = (Path(__file__).parents[2] / "docs" / "events.md").read_text()
    table = text.partition("## What an event says")[2].partition("\n\n**Payloads")[0]
    keys = re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `")))
    assert len(keys) == len(set(keys))
    more = {name for name in dir(Event(op._record, "pre")) if not name.startswith("_")} - set(dir(op))
    assert more == {*keys, "payload"} - set(to_read)


def test_hooks_of_one_run_share_a_dict() -> None:
    hooks = Hooks()
    told: list[tuple[str, int]] = []

    @hooks.before("tool.execute", "agent.invoke")
    def count(op: Operation) -> None:
        op.run_state["calls"] = op.run_state.get("calls", 0) + 1
        told.append((op.name, op.run_state["calls"]))

    with recorder(hooks) as seen:
        for run in ("a", "b"):
            with operation("agent.invoke", run), operation("tool.execute", "t"):
                pass
    assert told == [("a", 1), ("t", 2), ("b", 1), ("t", 2)]
    assert dict(seen.operations[0].run_state) == {"calls": 2}
    with pytest.raises(TypeError):
        seen.operations[0].run_state["calls"] = 0
