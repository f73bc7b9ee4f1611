"""The SDK's own traces stay the application's: as they are without spanhook, except for what hooks decide."""

from typing import Any

import pytest
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, function_tool, set_trace_processors

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_agents_ways import Traces
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.openai_agents.scripted import Way, both_ways, go, run, scripted

apis = pytest.mark.parametrize("kind", [OpenAIResponsesModel, OpenAIChatCompletionsModel])


class Named(Traces):
    """Records the spans too, in order of ending."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[Any] = []

    def on_span_end(self, span: Any) -> None:
        super().on_span_end(span)
        self.names.append((span.span_data.type, getattr(span.span_data, "name", None), span.error is not None))


def traced(way: Way, kind: Any, hooks: Hooks | None = None, *, ours: bool = True) -> Named:
    """A run with a tool and a hand-off."""

    def add() -> str:
        return "added"

    other = Agent(name="other", model=scripted(None, Reply.text, kind=kind))
    turns: Any = () if kind is OpenAIChatCompletionsModel else ([("add", "{}")], [("transfer_to_other", "{}")], "no")
    agent = Agent(name="helper", model=scripted(None, *turns, kind=kind), tools=[function_tool(add)], handoffs=[other])
    traces = Named()
    set_trace_processors([traces])
    if ours:
        with recorder(hooks):
            go(way, agent)
    else:
        go(way, agent)
    return traces


@apis
@both_ways
def test_they_are_as_without_us(way: Way, kind: Any) -> None:
    allowing = Hooks()
    allowing.before("*")(lambda op: None)
    allowing.after("*", stream="buffer")(lambda op: None)
    without = traced(way, kind, ours=False).names
    assert traced(way, kind).names == without
    assert sorted(traced(way, kind, allowing).names, key=str) == sorted(without, key=str)


@apis
@both_ways
def test_an_answer_that_a_hook_refuses_is_not_in_them(way: Way, kind: Any) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    traces = Named()
    set_trace_processors([traces])
    with recorder(hooks), pytest.raises(Reject):
        go(way, Agent(name="helper", model=scripted(kind=kind)))
    assert traces.names
    assert not any(word in str(traces.results) for word in Reply.text.split())


def test_a_refused_call_has_no_span_of_a_response() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    traces = Named()
    set_trace_processors([traces])
    with recorder(hooks), pytest.raises(Reject):
        go(run, Agent(name="helper", model=scripted(body)))
    assert body.runs == 0
    assert "response" not in [kind for kind, *_ in traces.names]
