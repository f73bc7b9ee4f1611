"""Streams: what a caller gets is the library's own object, and its operation ends however it does."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import (
    ASK,
    Content,
    Own,
    Plain,
    Update,
    agent,
    framework,
    messages,
    observability,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import Recorder, recorder

pytestmark = pytest.mark.anyio
WORDS = ("Say ", "hello ", "to ", "everybody.")


class Talking(Own):
    """A client that says one word after the other, and notes that its stream was closed."""

    def __init__(self, body: Body | None = None) -> None:
        super().__init__(body)
        self.closed = False

    async def _updates(self, messages: Any) -> Any:
        try:
            for word in WORDS:
                await asyncio.sleep(0)
                yield Update(contents=[Content.from_text(word)], role="assistant", raw_representation={"word": word})
            yield Update(contents=[Content.from_usage({"input_token_count": 3})], finish_reason="stop")
        finally:
            self.closed = True


def statuses(seen: Recorder) -> dict[str, Any]:
    return {
        one.name: (one.attributes or {})["spanhook.status"]
        for one in seen.spans
        if (one.attributes or {}).get("spanhook.kind")
    }


async def test_it_is_the_librarys_own_object() -> None:
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    for made in (
        lambda: agent(Talking()).run(ASK, stream=True),
        lambda: Talking().get_response(messages(), stream=True),
    ):
        with recorder(hooks):
            stream = made()
            assert type(stream) is framework.ResponseStream
            assert await stream is stream
            updates = [one async for one in stream]
            assert [one.text for one in updates if one.text] == list(WORDS)
            assert list(stream.updates) == updates
            first = await stream.get_final_response()
            assert first.text == "".join(WORDS)
            assert await stream.get_final_response() is first


async def test_its_hooks_see_what_has_gone_out() -> None:
    hooks, heard = Hooks(), list[str]()
    hooks.around("llm.call", stream="buffer")(_else)
    with recorder(hooks):
        stream = agent(Talking()).run(ASK, stream=True)
        stream = stream.with_transform_hook(lambda one: heard.append(one.text))
        stream = stream.with_cleanup_hook(lambda: heard.append("cleaned up"))
        stream = stream.with_result_hook(lambda one: heard.append(f"result: {one.text}"))
        result = await stream.get_final_response()
    assert "".join(heard).startswith("something else")
    assert heard[-2:] == ["cleaned up", f"result: {result.text}"]


@pytest.mark.parametrize("stop", ["closed", "left", "dropped"])
async def test_a_consumer_that_stops_early_has_abandoned_it(stop: str) -> None:
    client = Talking()
    with recorder(Hooks()) as seen:
        stream = agent(client).run(ASK, stream=True)
        async for update in stream:
            assert update.text == WORDS[0]
            break
        if stop == "dropped":
            del stream
            await _collected(lambda: client.closed)
        elif hasattr(stream, "close"):
            await stream.close()
        else:
            pytest.skip("streams of this version cannot be closed")
    assert client.closed
    assert statuses(seen) == {"chat own": "abandoned", "invoke_agent helper": "abandoned"}


async def _collected(done: Callable[[], bool]) -> None:
    """Until what nobody holds any more has been closed on the loop; the reaper's thread may still hold it."""
    for _ in range(500):
        if done():
            return
        gc.collect()
        await asyncio.sleep(0.01)


async def test_a_block_that_is_left_early_closes_it() -> None:
    client = Talking()
    with recorder(Hooks()) as seen:
        stream = agent(client).run(ASK, stream=True)
        if not hasattr(stream, "__aenter__"):
            pytest.skip("streams of this version cannot be closed")
        async with stream:
            async for _ in stream:
                break
    assert client.closed
    assert statuses(seen) == {"chat own": "abandoned", "invoke_agent helper": "abandoned"}


async def test_one_that_nobody_reads_is_no_operation() -> None:
    body = Body()
    with recorder(Hooks()) as seen:
        stream = agent(Own(body)).run(ASK, stream=True)
        del stream
        gc.collect()
    assert (statuses(seen), body.runs) == ({}, 0)


async def test_each_of_its_steps_may_be_read_in_a_task_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        observability.OBSERVABILITY_SETTINGS, "enable_instrumentation", False
    )  # its spans stay in one task
    with recorder(Hooks()) as seen:
        stream, said = agent(Talking()).run(ASK, stream=True), list[str]()
        while True:
            try:
                said.append((await asyncio.create_task(step(stream))).text)
            except StopAsyncIteration:
                break
    assert "".join(said) == "".join(WORDS)
    assert statuses(seen) == {"chat own": "success", "invoke_agent helper": "success"}


async def step(stream: Any) -> Any:
    return await stream.__anext__()


async def test_several_at_once_are_apart() -> None:
    totals, hooks = list[Any](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append((op.name, op.usage.input_tokens)))
    with recorder(hooks):
        made = [agent(Own(Body()), name=f"agent {place}").run(ASK, stream=True) for place in range(5)]
        await asyncio.gather(*[one.get_final_response() for one in made])
    assert sorted(totals) == [(f"agent {place}", Tokens().input) for place in range(5)]


async def test_a_cancelled_reader_cancels_it() -> None:
    started = asyncio.Event()

    class Slow(Own):
        async def _updates(self, messages: Any) -> Any:
            yield Update(contents=[Content.from_text("one")], role="assistant")
            started.set()
            await asyncio.Event().wait()

    with recorder(Hooks()) as seen:
        task = asyncio.ensure_future(agent(Slow()).run(ASK, stream=True).get_final_response())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert statuses(seen) == {"chat own": "cancelled", "invoke_agent helper": "cancelled"}


class Quiet(Hook):
    """Refuses what is said to everybody, as it comes."""

    kinds = ("llm.call",)
    stream = "window"
    window = 12
    fail_mode = "closed"

    def text(self, op: Operation, text: str) -> str:
        if "everybody" in text:
            raise Reject("not everybody")
        return text.replace("hello", "HELLO")

    def after(self, op: Operation) -> None:
        if "everybody" in op.response.text:
            raise Reject("not everybody")


async def test_what_a_hook_refuses_in_the_middle_does_not_get_out() -> None:
    said = list[str]()
    with recorder(Hooks(Quiet())), pytest.raises(Reject, match="not everybody"):
        async for update in agent(Talking()).run(ASK, stream=True):
            said.append(update.text)
    assert "".join(said) in "Say HELLO to "


@pytest.mark.parametrize("words", [WORDS[:-1], ("Say hel", "lo t", "o "), tuple("Say hello to ")])
async def test_a_window_shows_hooks_what_is_said_however_it_is_cut(words: tuple[str, ...]) -> None:
    class Cut(Talking):
        async def _updates(self, messages: Any) -> Any:
            for word in words:
                yield Update(contents=[Content.from_text(word)], role="assistant", raw_representation={"word": word})
            yield Update(contents=[Content.from_function_call("call_1", "unknown", arguments='{"to": "hello"}')])
            yield Update(contents=[Content.from_usage({"input_token_count": 3})], finish_reason="stop")

    with recorder(Hooks(Quiet())):
        updates = [one async for one in framework_only(Cut()).get_response(messages(), stream=True)]
    assert "".join(one.text for one in updates) == "Say HELLO to "
    assert "hello" not in repr([vars(one) | {"contents": [vars(c) for c in one.contents]} for one in updates])


def framework_only(client: Any) -> Any:
    """The client without the calls of tools."""
    client.function_invocation_configuration["enabled"] = False
    return client


async def test_a_response_is_made_of_what_hooks_have_changed() -> None:
    hooks = Hooks()

    @hooks.around("llm.call", stream="buffer")
    def replace(op: Operation) -> Any:
        yield
        return "something else"

    with recorder(hooks):
        stream = agent(Talking()).run(ASK, stream=True)
        said = [one.text async for one in stream]
        assert "".join(said) == "something else"
        assert (await stream.get_final_response()).text == "something else"


async def test_what_stands_in_raw_pieces_does_not_get_around_a_hook() -> None:
    hooks = Hooks()

    @hooks.around("llm.call", stream="buffer")
    def replace(op: Operation) -> Any:
        yield
        return "something else"

    with recorder(hooks):
        updates = [one async for one in Talking().get_response(messages(), stream=True)]
    assert [one.raw_representation for one in updates if one.raw_representation is not None] == []


async def test_a_callback_of_a_sub_agent_is_told_of_what_goes_out() -> None:
    heard, hooks = list[str](), Hooks()
    hooks.around("llm.call", stream="buffer")(_else)
    helper = agent(Talking(), name="expert").as_tool(stream_callback=lambda one: heard.append(one.text))
    with recorder(hooks):
        await helper.invoke(arguments={"task": ASK})
    assert "".join(heard) == "something else"


def _else(op: Operation) -> Any:
    yield
    return "something else"


@pytest.mark.parametrize("kind", ["coroutine", "generator"])
async def test_clients_that_give_their_streams_otherwise(kind: str) -> None:
    body, hooks = Body(), Hooks()
    hooks.before("llm.call")(lambda op: None)

    class Odd(framework.FunctionInvocationLayer, framework.ChatMiddlewareLayer, Plain):
        def __init__(self) -> None:
            super().__init__()
            self.script(body)

        async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_given: Any) -> Any:
            if not stream:
                return await self._response(messages)
            return (
                self._build_response_stream(self._updates(messages)) if kind == "coroutine" else self._updates(messages)
            )

    with recorder(hooks) as seen:
        assert (await Odd().get_response(messages())).text == Reply.text
        assert (await Odd().get_response(messages(), stream=True).get_final_response()).text == Reply.text
    assert body.runs == 2
    assert [one.name for one in seen.spans if (one.attributes or {}).get("spanhook.kind")] == ["chat own"] * 2


async def test_tokens_are_those_that_were_reported_whatever_a_consumer_makes_of_them() -> None:
    with recorder() as seen:
        async for update in Talking().get_response(messages(), stream=True):
            for content in update.contents:
                if content.type == "usage":
                    content.usage_details.clear()
    assert [(op.usage.input_tokens, op.usage.estimated) for op in seen.operations] == [(3, False)]
