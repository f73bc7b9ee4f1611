"""The library's own hooks and spans beside spanhook's: each once."""

import contextlib
from collections.abc import Generator
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.haystack_ways import IS_2, agent, messages, own, tool
from spanhook.cli.conformance.servers.openai_server import Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

tracing: Any = import_module("haystack.tracing")
ASKED = ("look_up", {"query": "tea"})


class Span(tracing.Span):
    """One of the library's own, over OpenTelemetry's."""

    def __init__(self, span: Any) -> None:
        self.span = span

    def set_tag(self, key: str, value: Any) -> None:
        self.span.set_attribute(key, str(value))

    def raw_span(self) -> Any:
        return self.span


class Tracer(tracing.Tracer):
    """What applications give to ``haystack.tracing.enable_tracing``."""

    def __init__(self, tracer: Any) -> None:
        self.tracer = tracer

    @contextlib.contextmanager
    def trace(self, operation_name: str, tags: Any = None, parent_span: Any = None) -> Generator[Any]:
        del tags, parent_span
        with self.tracer.start_as_current_span(operation_name) as span:
            yield Span(span)

    def current_span(self) -> Any:
        return None


def test_its_spans_are_no_operations_of_their_own() -> None:
    body, hooks, counted, totals = Body(), Hooks(), list[Any](), list[int]()
    made = agent(own(body, ASKED, "done"), tool(Body()))

    @hooks.before("*")
    def count(op: Operation) -> None:
        counted.append((op.kind, op.name))

    @hooks.after("agent.invoke")
    def total(op: Operation) -> None:
        totals.append(op.usage.input_tokens)

    with recorder(hooks) as seen:
        tracing.enable_tracing(Tracer(seen.tracer_provider.get_tracer("haystack")))
        try:
            made.run(messages())
        finally:
            tracing.disable_tracing()
    theirs = [one.name for one in seen.spans if one.name.startswith("haystack.")]
    assert "haystack.agent.run" in theirs
    assert counted == [
        ("agent.invoke", "Agent"),
        ("llm.call", "own"),
        ("tool.execute", "look_up"),
        ("llm.call", "own"),
    ]
    assert totals == [2 * Tokens().input]


@pytest.mark.skipif(IS_2, reason="this version has no hooks of its own")
def test_its_hooks_run_once_and_are_told_of_a_refused_tool() -> None:
    hook: Any = import_module("haystack.hooks").hook
    events, errors = list[str](), list[bool]()

    def noted(name: str) -> Any:
        def note(state: Any) -> None:
            events.append(name)
            last = state.data["messages"][-1].tool_call_result if state.data.get("messages") else None
            if last is not None and name == "after_tool":
                errors.append(last.error)

        note.__annotations__["state"] = import_module("haystack.components.agents").State
        return hook(note)

    names = ["before_run", "before_llm", "before_tool", "after_tool", "on_exit", "after_run"]

    def run() -> None:
        events.clear()
        agent(own(None, ASKED, "done"), tool(Body()), hooks={name: [noted(name)] for name in names}).run(messages())

    run()
    without, hooks = list(events), Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    for one in (Hooks(), hooks):
        with recorder(one):
            run()
        assert events == without
    assert errors == [False, False, True]
