"""Models of fast-agent: one count for all layers, usage, errors, cancellation, and what listeners get."""

import asyncio
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import spanhook
from spanhook import Event, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.fast_agent_ways import (
    City,
    OpenAILLM,
    OpenAISettings,
    PassthroughLLM,
    Prompt,
    agent_of,
    context,
    own_model,
)
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Tokens
from spanhook.cli.conformance.servers.requests import Line
from spanhook.cli.conformance.subject import Body, Fault
from spanhook.testing import recorder

_usage: Any = import_module("fast_agent.llm.usage_tracking")

pytestmark = pytest.mark.anyio


@pytest.fixture
def body() -> Body:
    return Body()


@pytest.fixture
def model(body: Body) -> Iterator[Any]:
    with OpenAIServer() as server:
        url = server.url_for(Line(body, lambda _seen: Tokens().total))
        settings = OpenAISettings(api_key="test", base_url=url)
        yield OpenAILLM(context=context(openai=settings), model="gpt-4o-mini")


def asked(text: str = "Say hello.") -> Any:
    return [Prompt.user(text)]


def hearing(heard: list[str]) -> Any:
    def hear(chunk: Any) -> None:
        heard.append(chunk.text)

    return hear


async def test_the_clients_request_is_its_transport(model: Any, body: Body, hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        await agent_of(model).send("Say hello.")
    spans = {span.name: dict(span.attributes or {}) for span in seen.spans}
    assert sorted(spans) == ["chat gpt-4o-mini", "invoke_agent helper"]
    told: Any = spans["chat gpt-4o-mini"]
    assert told["gen_ai.provider.name"] == "openai"
    used = (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"])
    assert (sum(used), body.runs) == (body.tokens, 1)


async def test_the_turns_of_a_loop_with_tools_are_counted_once(model: Any, body: Body, hooks: Hooks) -> None:
    """What the last message of a turn says is a tool's result, which the client sends as a message of its own."""

    async def look_up(query: str) -> dict[str, str]:
        """Look something up."""
        return {"found": query}

    calls = iter(({"look_up": "tea"}, None))

    @hooks.after("llm.call")
    def call_a_tool(op: Operation) -> None:
        if next(calls):
            part = {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "tea"}}
            op.respond({"role": "assistant", "parts": [part]})

    with recorder(hooks) as seen:
        await agent_of(model, look_up).send("Say hello.")
    names = sorted(span.name for span in seen.spans)
    assert names == ["chat gpt-4o-mini", "chat gpt-4o-mini", "execute_tool look_up", "invoke_agent helper"]
    assert body.runs == 2


async def test_a_refused_call_is_not_retried(body: Body, hooks: Hooks) -> None:
    asks: list[str] = []

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        asks.append(op.name)
        raise Reject("Not today", status_code=429)

    spanhook.instrument(hooks)
    with OpenAIServer() as server:
        url = server.url_for(Line(body, lambda _seen: Tokens().total))
        there = context(openai=OpenAISettings(api_key="test", base_url=url))
        there.config.llm_retries = 3
        with pytest.raises(Reject, match="Not today"):
            await agent_of(OpenAILLM(context=there, model="gpt-4o-mini")).send("Say hello.")
    assert (len(asks), body.runs) == (1, 0)


async def test_an_error_that_became_a_message_is_an_error(model: Any, body: Body, hooks: Hooks) -> None:
    body.fault = Fault("an error", status=401)
    with recorder(hooks) as seen:
        message = await model.generate(asked())
    assert message.stop_reason.value == "error"
    (span,) = seen.spans
    assert (span.status.status_code.name, (span.attributes or {})["error.type"]) == ("ERROR", "model_error")


async def test_a_cancelled_call_is_cancelled(model: Any, body: Body, hooks: Hooks) -> None:
    ended: list[str] = []

    def note(event: Event) -> None:
        ended.append(event.status)

    hooks.on("llm.call.post", note)
    spanhook.instrument(hooks)
    body.hold = threading.Event()
    task = asyncio.ensure_future(model.generate(asked()))
    try:
        await asyncio.to_thread(body.started.wait, 10)
        task.cancel()
        assert (await task).stop_reason.value == "cancelled"
    finally:
        body.hold.set()
    assert hooks.flush(60.0)
    assert ended == ["cancelled"]


async def test_parameters_and_content(model: Any, hooks: Hooks) -> None:
    told: list[Any] = []

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        told.append((op.request.model, op.request.system, op.request.messages, op.request.tools))

    async def look_up(query: str) -> str:
        """Look something up."""
        return query

    spanhook.instrument(hooks)
    agent = agent_of(model, look_up)
    await agent.send("Say hello.")
    message = {"role": "user", "parts": [{"type": "text", "content": "Say hello."}]}
    assert [(one[0], one[2:]) for one in told] == [("gpt-4o-mini", ([message], ["look_up"]))]


async def test_an_object_answers_a_structured_call(hooks: Hooks) -> None:
    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        op.respond(City(city="Oslo"))

    spanhook.instrument(hooks)
    found, message = await own_model(Body()).structured(asked(), City)
    assert found == City(city="Oslo")
    assert message.first_text() == '{"city":"Oslo"}'


async def test_saving_the_history_asks_no_model(hooks: Hooks, tmp_path: Any) -> None:
    with recorder(hooks) as seen:
        await own_model().generate(asked(f"***SAVE_HISTORY {tmp_path / 'history.json'}"))
    assert seen.spans == []


@pytest.mark.parametrize("held", [False, True])
async def test_listeners_get_nothing_that_is_decided_about_later(model: Any, hooks: Hooks, held: bool) -> None:
    heard: list[str] = []
    at_the_decision: list[int] = []

    def decide(op: Operation) -> None:
        at_the_decision.append(len(heard))
        op.respond("something else")

    (hooks.after("llm.call", stream="buffer") if held else hooks.after("llm.call"))(decide)
    spanhook.instrument(hooks)
    model.add_stream_listener(hearing(heard))
    message = await model.generate(asked())
    assert message.first_text() == "something else"
    assert at_the_decision == ([0] if held else at_the_decision)
    assert bool("".join(heard)) is not held


async def test_listeners_get_what_is_held_back_and_allowed(model: Any, hooks: Hooks) -> None:
    heard: list[str] = []
    at_the_decision: list[int] = []

    @hooks.after("llm.call", stream="buffer")
    def look(_op: Operation) -> None:
        at_the_decision.append(len(heard))

    spanhook.instrument(hooks)
    model.add_stream_listener(hearing(heard))
    message = await model.generate(asked())
    assert "".join(heard) == message.first_text()
    assert at_the_decision == [0]


class Counting(PassthroughLLM):
    """A model without a client that is bound: it reports usage to the library alone."""

    async def _apply_prompt_provider_specific(self, *args: Any, **kwargs: Any) -> Any:
        prompt = {"total": 20, "cache_read": 5}
        told = {"provider": self.provider, "usage_schema": "openai-responses", "model": "counting-1"}
        turn = _usage.TurnUsage(**told, prompt=prompt, completion={"total": 8, "reasoning": 3})
        self._usage_accumulator.add_turn(turn)
        base: Any = super()
        return await base._apply_prompt_provider_specific(*args, **kwargs)


@pytest.mark.skipif(not hasattr(_usage, "UsageReport"), reason="this version of fast-agent reports no calls one by one")
async def test_usage_of_a_model_without_a_client(hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        model = Counting(context=context())
        for _ in range(2):
            await model.generate(asked())
    names = ("input_tokens", "output_tokens", "cache_read.input_tokens", "reasoning.output_tokens")
    told = [[dict(span.attributes or {}).get(f"gen_ai.usage.{name}") for name in names] for span in seen.spans]
    assert told == [[20, 8, 5, 3]] * 2
    assert dict(seen.spans[0].attributes or {})["gen_ai.response.model"] == "counting-1"
