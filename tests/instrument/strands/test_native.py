"""The library's own hooks and spans beside spanhook's: each once."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.strands_ways import ASK, Own, agent, events_of_hooks, tool, using
from spanhook.cli.conformance.servers.openai_server import Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

ALL = ["BeforeInvocationEvent", "BeforeToolCallEvent", "AfterToolCallEvent", "AfterInvocationEvent"]


def heard(made: Any) -> list[str]:
    """The names of the library's events, as they happen."""
    events = list[str]()
    for name in ALL:
        made.hooks.add_callback(getattr(events_of_hooks, name), lambda event: events.append(type(event).__name__))
    return events


def test_its_hooks_run_once() -> None:
    made = using(tool)(Body())
    events = heard(made)
    with recorder(Hooks()):
        made(ASK)
    assert events == ALL


def test_its_hooks_are_told_of_a_refused_tool() -> None:
    made, hooks = using(tool)(Body()), Hooks()
    results = list[Any]()
    made.hooks.add_callback(events_of_hooks.AfterToolCallEvent, lambda event: results.append(event.result))
    events = heard(made)

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        made(ASK)
    assert events == ALL
    assert [one["content"] for one in results] == [[{"text": "Error: not today"}]]


def test_its_spans_are_no_operations_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    body, hooks = Body(), Hooks()
    made = agent(Own(body, ("look_up", {"query": "tea"}), "done"), tool(Body()))
    counted, totals = list[tuple[str, str | None]](), list[int]()

    @hooks.before("*")
    def count(op: Operation) -> None:
        counted.append((op.kind, op.name))

    @hooks.after("agent.invoke")
    def total(op: Operation) -> None:
        totals.append(op.usage.input_tokens)

    with recorder(hooks) as seen:
        monkeypatch.setattr(made.tracer, "tracer", seen.tracer_provider.get_tracer("strands.telemetry.tracer"))
        made(ASK)
    theirs = [one.name for one in seen.spans if (one.instrumentation_scope or one).name.startswith("strands")]
    assert sorted(theirs) == [
        "chat",
        "chat",
        "execute_event_loop_cycle",
        "execute_event_loop_cycle",
        "execute_tool look_up",
        "invoke_agent helper",
    ]
    assert counted == [
        ("agent.invoke", "helper"),
        ("llm.call", "own"),
        ("tool.execute", "look_up"),
        ("llm.call", "own"),
    ]
    assert totals == [2 * Tokens().input]
