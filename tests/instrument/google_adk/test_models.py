"""Models: the clients that they send requests through, and what hooks read, rewrite, answer and replace."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import (
    ASK,
    FOUND,
    RUN_WAYS,
    LlmRequest,
    LlmResponse,
    Own,
    _models,
    agent,
    content,
    gemini_at,
    last,
    own,
    request,
    runner,
    said,
    tool,
    types,
)
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import PLANTED, Body
from spanhook.testing import recorder

# ------------------------------------------------------------------------------------------------- what hooks do


def test_what_a_hook_sees_of_a_call() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        seen.append((op.model, op.request.system, op.request.tools, op.request.messages))

    with recorder(hooks):
        asyncio.run(RUN_WAYS["run_async"](runner(agent(own(), tool(Body())))))
    (model, system, tools, messages), *_ = seen
    assert (model, tools) == ("own", ["look_up"])
    assert system.startswith("Be brief.")
    assert messages == [{"role": "user", "parts": [{"type": "text", "content": ASK}]}]


def test_a_rewritten_request_arrives_and_the_applications_own_is_not_changed() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[*op.request.messages, {"role": "user", "content": PLANTED}], system="Be long.")

    asked = request()
    picture = types.Part(inline_data=types.Blob(data=b"\xff\x00", mime_type="image/png"))
    asked.contents[0].parts.append(picture)
    with recorder(hooks):
        asyncio.run(generated(own(body), asked))
    (arrived,) = body.seen
    assert [one.parts[0].text for one in arrived] == [ASK, PLANTED]
    assert arrived[0] is asked.contents[0]
    assert (len(asked.contents), asked.config.system_instruction) == (1, None)


def test_a_rewritten_message_keeps_its_pictures() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        (message,) = op.request.messages
        message["parts"][0]["content"] = PLANTED
        op.replace(messages=[message])

    asked = request()
    asked.contents[0].parts.append(types.Part(inline_data=types.Blob(data=b"\xff\x00", mime_type="image/png")))
    with recorder(hooks):
        asyncio.run(generated(own(body), asked))
    ((arrived,),) = body.seen
    assert [arrived.parts[0].text, arrived.parts[1].inline_data.data] == [PLANTED, b"\xff\x00"]


async def generated(model: Any, asked: Any, **given: Any) -> list[Any]:
    return [one async for one in model.generate_content_async(asked, **given)]


def test_what_a_hook_changes_in_place_reaches_nobody() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def spoil(op: Operation) -> None:
        op.request.messages.clear()
        op.request.inputs[0].parts[0].text = PLANTED

    with recorder(hooks):
        asyncio.run(generated(own(body), request()))
    assert [one.parts[0].text for one in body.seen[0]] == [ASK]


@pytest.mark.parametrize("stream", [False, True])
def test_a_refused_answer_asks_no_tool(stream: bool) -> None:
    body, hooks = Body(), Hooks()

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = runner(agent(own(None, ("look_up", {"query": "tea"}), "done"), tool(body)))
    way = "run_async, streaming" if stream else "run_async"
    with recorder(hooks), pytest.raises(Reject, match="not today"):
        asyncio.run(RUN_WAYS[way](made))
    assert body.runs == 0


@pytest.mark.parametrize("way", RUN_WAYS)
def test_a_call_ends_before_the_tools_that_it_asks_for_begin(way: str) -> None:
    with recorder(Hooks()) as seen:
        asyncio.run(RUN_WAYS[way](runner(agent(own(None, ("look_up", {"query": "tea"}), ""), tool(Body())))))
    assert [one.name for one in seen.spans] == [
        "chat own",
        "execute_tool look_up",
        "chat own",
        "invoke_agent helper",
    ]


class Twice(Own):
    """A model that says its answer in two whole responses, as some do for text and calls of tools."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
        yield LlmResponse(content=content("first", "model"), finish_reason="STOP")
        async for response in super().generate_content_async(llm_request, stream):
            yield response


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("hooked", [False, True])
def test_an_answer_in_several_responses_is_one(stream: bool, hooked: bool) -> None:
    hooks, results = Hooks(), list[Any]()
    if hooked:
        hooks.after("llm.call")(lambda op: results.append(said(op.result)))
    with recorder(hooks) as seen:
        found = asyncio.run(generated(Twice(body=Body()), request(), stream=stream))
    assert [said(one) for one in found if not one.partial] == ["first", Reply.text]
    assert [(one.attributes or {})["gen_ai.usage.input_tokens"] for one in seen.spans] == [Tokens().input]
    assert results == ([f"first{Reply.text}"] if hooked else [])


@pytest.mark.parametrize("hooked", [False, True])
def test_what_a_model_has_said_before_it_fails_goes_out_unless_hooks_have_to_decide(hooked: bool) -> None:
    class Failing(Own):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
            yield LlmResponse(content=content("all", "model"))
            raise OSError("too late")

    hooks, got = Hooks(), list[Any]()
    if hooked:
        hooks.after("llm.call")(lambda op: None)

    async def main() -> None:
        async for response in Failing().generate_content_async(request()):
            got.append(response.content.parts[0].text)

    with recorder(hooks) as seen, pytest.raises(OSError, match="too late"):
        asyncio.run(main())
    assert got == ([] if hooked else ["all"])
    assert [op.status for op in seen.operations] == ["error"]


def test_a_stream_that_is_left_early_is_abandoned() -> None:
    async def leave() -> None:
        made = own(Body(), "one two three").generate_content_async(request(), stream=True)
        assert said(await anext(made)) == "one"
        await made.aclose()

    with recorder(Hooks()) as seen:
        asyncio.run(leave())
    (span,) = seen.spans
    assert (span.attributes or {})["spanhook.status"] == "abandoned"


def test_no_model_is_called_where_a_callback_of_the_library_answers() -> None:
    kinds, hooks = list[str](), Hooks()
    hooks.before("*")(lambda op: kinds.append(op.kind))

    def answer(callback_context: Any, llm_request: Any) -> Any:
        return LlmResponse(content=content("from a callback", "model"))

    with recorder(hooks):
        made = runner(agent(own(Body()), before_model_callback=answer))
        assert asyncio.run(RUN_WAYS["run_async"](made)) == "from a callback"
    assert kinds == ["agent.invoke"]


def test_a_callback_of_the_library_may_answer_for_a_refused_model() -> None:
    body, hooks, told = Body(), Hooks(), list[Any]()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    def answer(callback_context: Any, llm_request: Any, error: Exception) -> Any:
        told.append(error)
        return LlmResponse(content=content("later, then", "model"))

    with recorder(hooks):
        made = runner(agent(own(body), on_model_error_callback=answer))
        assert asyncio.run(RUN_WAYS["run_async"](made)) == "later, then"
    assert (body.runs, [type(one) for one in told]) == (0, [Reject])


@pytest.mark.parametrize("refused", ["first", "second"])
def test_a_rejection_is_no_failure_that_another_model_makes_up_for(refused: str) -> None:
    if not hasattr(_models, "FallbackModel"):
        pytest.skip("older versions have no model that falls back")
    first, second, hooks = Body(), Body(), Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        if op.model == refused and op.request.messages:
            raise Reject("too many", status_code=429)

    class Failing(Own):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
            first.run(llm_request)
            error = RuntimeError("too many")
            error.status_code = 429  # type: ignore[attr-defined]
            raise error
            yield

    model = _models.FallbackModel(models=[Failing(model="first"), Own(model="second", body=second)])
    with recorder(hooks), pytest.raises(Reject, match="too many"):
        asyncio.run(generated(model, LlmRequest(model="first", contents=[content(ASK)])))
    assert (first.runs, second.runs) == (0 if refused == "first" else 1, 0)


def test_over_http_an_answer_is_told_to_no_server() -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        op.respond(FOUND)

    with GoogleServer() as server, recorder(hooks):
        events = asyncio.run(generated(gemini_at(server.url), request(), stream=True))
        assert last(events) == FOUND
    assert server.requests == []


def test_tokens_are_those_that_were_reported_whatever_a_consumer_makes_of_them() -> None:
    class Telling(Own):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
            used = types.GenerateContentResponseUsageMetadata(prompt_token_count=20, candidates_token_count=8)
            yield LlmResponse(content=content("hel", "model"), partial=True, usage_metadata=used)
            yield LlmResponse(content=content("hello", "model"), turn_complete=True)

    async def read() -> None:
        async for response in Telling(body=Body()).generate_content_async(request(), stream=True):
            if response.usage_metadata is not None:
                response.usage_metadata.prompt_token_count = response.usage_metadata.candidates_token_count = 1

    with recorder() as seen:
        asyncio.run(read())
    assert [(op.usage.input_tokens, op.usage.output_tokens) for op in seen.operations] == [(20, 8)]
