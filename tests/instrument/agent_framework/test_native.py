"""The library's own middleware and spans beside spanhook's: each once."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import (
    ASK,
    FOUND,
    Own,
    agent,
    framework,
    observability,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio
ASKED: Any = (("look_up", {"query": "tea"}),)


class Heard:
    """Middleware of all sorts, and what it has heard."""

    def __init__(self) -> None:
        self.events = list[str]()

        @framework.agent_middleware
        async def runs(context: Any, call_next: Any) -> None:
            await self._around("agent", call_next)

        @framework.chat_middleware
        async def models(context: Any, call_next: Any) -> None:
            await self._around("chat", call_next)

        @framework.function_middleware
        async def tools(context: Any, call_next: Any) -> None:
            await self._around("function", call_next)

        self.all = [runs, models, tools]

    async def _around(self, name: str, call_next: Any) -> None:
        self.events.append(f"before {name}")
        await call_next()
        self.events.append(f"after {name}")


async def ran(made: Any, *, stream: bool) -> Any:
    run = made.run(ASK, stream=stream)
    return await (run.get_final_response() if stream else run)


def numbered(hooks: Hooks) -> list[tuple[str, str | None]]:
    """The operations that begin, as they do."""
    counted = list[tuple[str, str | None]]()
    hooks.before("*")(lambda op: counted.append((op.kind, op.name)))
    return counted


@pytest.mark.parametrize("stream", [False, True])
async def test_its_middleware_runs_once_and_in_its_order(stream: bool) -> None:
    without = Heard()
    await ran(agent(Own(None, ASKED, "done"), tool(Body()), middleware=without.all), stream=stream)
    heard, hooks = Heard(), Hooks()
    counted = numbered(hooks)
    with recorder(hooks):
        await ran(agent(Own(None, ASKED, "done"), tool(Body()), middleware=heard.all), stream=stream)
    assert heard.events == without.events
    assert heard.events.count("before chat") == 2
    assert [kind for kind, _ in counted] == ["agent.invoke", "llm.call", "tool.execute", "llm.call"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refused_run_reaches_none_of_its_middleware(stream: bool) -> None:
    heard, hooks = Heard(), Hooks()

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        await ran(agent(Own(), middleware=heard.all), stream=stream)
    assert heard.events == []


async def test_its_middleware_is_told_of_a_refused_tool() -> None:
    results, hooks = list[Any](), Hooks()

    @framework.function_middleware
    async def look(context: Any, call_next: Any) -> None:
        await call_next()
        results.append([one.text for one in context.result])

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        await ran(agent(Own(None, ASKED, "done"), tool(Body()), middleware=[look]), stream=False)
    assert results == [["Error: not today"]]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_of_a_middleware_in_place_of_a_model_is_no_call(stream: bool) -> None:
    body, hooks = Body(), Hooks()
    counted = numbered(hooks)

    @framework.chat_middleware
    async def answer(context: Any, call_next: Any) -> None:
        said = framework.Message("assistant", ["from a cache"])
        if not context.stream:
            context.result = framework.ChatResponse(messages=[said])
            return

        async def updates() -> Any:
            yield framework.ChatResponseUpdate(contents=said.contents, role="assistant")

        context.result = framework.ResponseStream(updates(), finalizer=framework.ChatResponse.from_updates)

    with recorder(hooks):
        result = await ran(agent(Own(body), middleware=[answer]), stream=stream)
    assert result.text == "from a cache"
    assert counted == [("agent.invoke", "helper")]
    assert body.runs == 0


async def test_an_answer_of_a_middleware_in_place_of_a_tool_is_no_call() -> None:
    body, hooks = Body(), Hooks()
    counted = numbered(hooks)

    @framework.function_middleware
    async def answer(context: Any, call_next: Any) -> None:
        context.result = "from a cache"

    with recorder(hooks):
        await ran(agent(Own(None, ASKED, "done"), tool(body), middleware=[answer]), stream=False)
    assert [kind for kind, _ in counted] == ["agent.invoke", "llm.call", "llm.call"]
    assert body.runs == 0


async def test_each_attempt_of_a_middleware_is_a_call() -> None:
    body, hooks = Body(), Hooks()
    counted = numbered(hooks)

    @framework.chat_middleware
    async def twice(context: Any, call_next: Any) -> None:
        await call_next()
        await call_next()

    with recorder(hooks):
        await ran(agent(Own(body), middleware=[twice]), stream=False)
    assert [kind for kind, _ in counted] == ["agent.invoke", "llm.call", "llm.call"]
    assert body.runs == 2


async def test_a_middleware_that_calls_its_agent_makes_a_run_of_it() -> None:
    hooks, asked = Hooks(), list[Any]()

    @framework.agent_middleware
    async def ask_first(context: Any, call_next: Any) -> None:
        if context.messages[0].text == ASK:
            await context.agent.run("Is that allowed?")
        await call_next()

    hooks.before("agent.invoke")(lambda op: asked.append(op.request.messages[0]["parts"][0]["content"]))
    with recorder(hooks):
        await ran(agent(Own(), middleware=[ask_first]), stream=False)
    assert asked == [ASK, "Is that allowed?"]


@pytest.mark.parametrize("stream", [False, True])
async def test_its_end_of_the_loop_is_no_error(stream: bool) -> None:
    hooks, body = Hooks(), Body()

    @framework.function_middleware
    async def stop(context: Any, call_next: Any) -> None:
        await call_next()
        raise framework.MiddlewareTermination("that is enough")

    with recorder(hooks) as seen:
        result = await ran(agent(Own(body, ASKED, "done"), tool(Body()), middleware=[stop]), stream=stream)
    assert [one.result for message in result.messages for one in message.contents][-1] == FOUND
    assert body.runs == 1
    statuses = [(one.attributes or {}).get("spanhook.status") for one in seen.spans]
    assert {str(one) for one in statuses if one is not None} == {"success"}


@pytest.mark.parametrize("stream", [False, True])
async def test_its_spans_are_no_operations_of_their_own(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observability.OBSERVABILITY_SETTINGS, "enable_instrumentation", True)
    body, hooks = Body(), Hooks()
    counted, totals = numbered(hooks), list[int]()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens))
    with recorder(hooks) as seen:
        tracer = seen.tracer_provider.get_tracer("agent_framework")
        monkeypatch.setattr(observability, "get_tracer", lambda *_given, **_more: tracer)
        await ran(agent(Own(body, ASKED, "done"), tool(Body())), stream=stream)
    theirs = [
        one.name
        for one in seen.spans
        if one.instrumentation_scope and one.instrumentation_scope.name == "agent_framework"
    ]
    assert sorted(theirs) == ["chat own", "chat own", "execute_tool look_up", "invoke_agent helper"]
    assert counted == [
        ("agent.invoke", "helper"),
        ("llm.call", "own"),
        ("tool.execute", "look_up"),
        ("llm.call", "own"),
    ]
    assert totals == [2 * Tokens().input]
