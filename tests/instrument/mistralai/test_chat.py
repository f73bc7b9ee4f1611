"""Mistral's chat completions: spans, usage, what they have beyond OpenAI's, refusals, retries, the SDK's own hooks."""

import re
from typing import Any

import pytest
from inline_snapshot import snapshot
from mistralai.client import errors
from mistralai.client.models import ChatCompletionResponse
from mistralai.client.utils import BackoffStrategy, RetryConfig
from pydantic import BaseModel

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.mistralai_ways import AGENT, CHAT
from spanhook.cli.conformance.libraries.mistralai_ways import client as made
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.mistral_server import MistralServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens, error
from spanhook.settings import Settings
from spanhook.testing import recorder

CARD = re.compile(r"\d{4}-\d{4}")
TEXT = "The card 4111-1111 is mine, and so is 4111-1111."


class Masking(Hook):
    """Masks card numbers as they pass."""

    kinds = ("llm.call",)
    stream = "window"
    window = 12
    fail_mode = "closed"
    timeout = 60.0

    def text(self, op: Operation, text: str) -> str:
        return CARD.sub("[card]", text)

    def after(self, op: Operation) -> None:
        if CARD.search(op.response.text):
            op.respond(CARD.sub("[card]", op.response.text))


def said_in(events: Any) -> str:
    return "".join(event.data.choices[0].delta.content or "" for event in events)


def test_a_span(client: Any, mistral: MistralServer) -> None:
    mistral.script(Reply(tokens=Tokens(input=1000, output=500, cached=200)))
    with recorder() as seen:
        client.chat.complete(
            **CHAT, temperature=0.5, max_tokens=9, stop="x", random_seed=7, response_format={"type": "json_object"}
        )
        [node] = seen.tree()
    assert node["attributes"].pop("server.port") == mistral.port
    node["attributes"].pop("spanhook.cost.usd", None)
    assert node == snapshot(
        {
            "name": "chat mistral-large-latest",
            "status": "UNSET",
            "attributes": {
                "gen_ai.provider.name": "mistral_ai",
                "server.address": "127.0.0.1",
                "gen_ai.request.model": "mistral-large-latest",
                "gen_ai.request.temperature": 0.5,
                "gen_ai.request.max_tokens": 9,
                "gen_ai.request.stop_sequences": ("x",),
                "gen_ai.operation.name": "chat",
                "gen_ai.output.type": "json",
                "gen_ai.request.seed": 7,
                "spanhook.kind": "llm.call",
                "spanhook.status": "success",
                "spanhook.run.id": "00000000000000000000000000000001",
                "gen_ai.response.id": "cmpl-1",
                "gen_ai.response.model": "mistral-large-latest",
                "gen_ai.response.finish_reasons": ("stop",),
                "gen_ai.usage.input_tokens": 1000,
                "gen_ai.usage.output_tokens": 500,
                "gen_ai.usage.cache_read.input_tokens": 200,
            },
            "events": [],
            "children": [],
        }
    )


def test_usage_of_streams_is_reported_without_asking(client: Any, mistral: MistralServer) -> None:
    mistral.script(Reply(tokens=Tokens(input=10, output=5, cached=4)))
    with recorder() as seen:
        list(client.chat.stream(**CHAT))
    assert "stream_options" not in mistral.requests[0].body
    (op,) = seen.operations
    assert (op.usage.input_tokens, op.usage.output_tokens, op.usage.cache_read_tokens) == (10, 5, 4)
    assert (op.status, op.usage.estimated) == ("success", False)


def test_agents_have_ids(client: Any) -> None:
    with recorder() as seen:
        client.agents.complete(**AGENT)
    assert "gen_ai.agent.id" not in (seen.spans[0].attributes or {})  # it has no place on a model call


# ------------------------------------------------------------------------------------------------- tools


def test_tool_calls_in_streams_are_shown(client: Any, mistral: MistralServer) -> None:
    mistral.script(Reply(calls=(Call("look_up", {"city": "rome"}), Call("pay", {}, id="call_2"))))
    told: list[Any] = []
    hooks = Hooks()
    hooks.after("llm.call", stream="buffer", priority=50)(lambda op: told.append(op.response.messages[0]["parts"]))
    with recorder(hooks):
        events = list(client.chat.stream(**CHAT))
    assert [part["name"] for part in told[0]] == ["look_up", "pay"]
    assert told[0][0]["arguments"] == {"city": "rome"}
    assert [call.function.name for event in events for call in event.data.choices[0].delta.tool_calls or ()] == [
        "look_up",
        "pay",
    ]


# ------------------------------------------------------------------------------------------------- answers


def test_answers_are_of_the_sdks_own_types(client: Any, mistral: MistralServer) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond("closed"))
    with recorder(hooks):
        answer = client.chat.complete(**CHAT)
        events = list(client.chat.stream(**CHAT))
    assert isinstance(answer, ChatCompletionResponse)
    assert answer.choices[0].message is not None
    assert (answer.choices[0].message.content, answer.usage.total_tokens) == ("closed", 0)
    assert said_in(events) == "closed"
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond(answer))
    with recorder(hooks):
        assert client.chat.complete(**CHAT).choices == answer.choices
    assert mistral.requests == []


class Mood(BaseModel):
    good: bool


def parsed(answer: Any) -> Any:
    return answer.choices[0].message.parsed


def test_what_is_parsed_is_gated_and_rewritten(client: Any, mistral: MistralServer) -> None:
    mistral.reply = Reply('{"good": true}')
    with recorder() as seen:
        assert parsed(client.chat.parse(Mood, **CHAT)) == Mood(good=True)
        assert said_in(client.chat.parse_stream(Mood, **CHAT)) == '{"good": true}'
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 28)] * 2
    hooks = Hooks()
    hooks.after("llm.call")(lambda op: op.respond('{"good": false}'))
    with recorder(hooks):
        assert parsed(client.chat.parse(Mood, **CHAT)) == Mood(good=False)


def test_a_window(client: Any, mistral: MistralServer) -> None:
    mistral.reply = Reply(TEXT, pieces=tuple(TEXT))
    with recorder(Hooks(Masking())):
        assert said_in(client.chat.stream(**CHAT)) == CARD.sub("[card]", TEXT)


# ------------------------------------------------------------------------------------------------- refusals, errors


@pytest.mark.parametrize("status", [403, 429, 500])
def test_a_refusal_is_the_sdks_own_error_and_is_not_retried(mistral: MistralServer, status: int) -> None:
    asked: list[str] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        asked.append(op.model)
        raise Reject("not today", status_code=status)

    retries = RetryConfig("backoff", BackoffStrategy(1, 10, 1.5, 1000), retry_connection_errors=True)
    client = made(mistral.url, retry_config=retries)
    with recorder(hooks), pytest.raises(errors.SDKError) as raised:
        client.chat.complete(**CHAT)
    assert isinstance(raised.value, Reject)
    assert (raised.value.status_code, raised.value.raw_response.status_code) == (status, status)
    assert "not today" in raised.value.body
    assert (len(asked), mistral.requests) == (1, [])


def test_attempts_of_the_sdk_are_one_operation(mistral: MistralServer) -> None:
    mistral.script(error(500), error(429), Reply())
    retries = RetryConfig("backoff", BackoffStrategy(1, 10, 1.5, 10000), retry_connection_errors=True)
    client = made(mistral.url, retry_config=retries)
    with recorder() as seen:
        client.chat.complete(**CHAT)
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 28)]
    assert len(mistral.requests) == 3


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_of_the_server_has_its_status(client: Any, mistral: MistralServer, *, stream: bool) -> None:
    mistral.script(error(429))
    told: list[Any] = []
    hooks = Hooks()
    hooks.on_error("llm.call")(lambda op: told.append(getattr(op.error, "status_code", None)))
    with recorder(hooks) as seen, pytest.raises(errors.SDKError):
        (client.chat.stream if stream else client.chat.complete)(**CHAT)
    (span,) = seen.spans
    assert told == [429]
    assert (span.attributes or {})["error.type"] == "429"
    assert seen.operations[0].status == "error"


def test_cancelling_ends_it(mistral: MistralServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    async def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402)

    async def main() -> None:
        async with made(mistral.url) as client:
            with pytest.raises(errors.SDKError, match="no"):
                await client.chat.stream_async(**CHAT)

    with recorder(hooks):
        run(main())
    assert mistral.requests == []


def test_hooks_of_the_sdk_run_behind_the_gate(mistral: MistralServer) -> None:
    """What they change in a request is sent, and is no part of what the gates see."""
    client = made(mistral.url)

    class Adding:
        def before_request(self, _context: Any, request: Any) -> Any:
            request.headers["x-added"] = "yes"
            return request

    client.sdk_configuration.__dict__["_hooks"].register_before_request_hook(Adding())
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.replace(model="other"))
    with recorder(hooks):
        client.chat.complete(**CHAT)
    (sent,) = mistral.requests
    assert (sent.headers["x-added"], sent.body["model"]) == ("yes", "other")


@pytest.mark.parametrize("stream", [False, True])
def test_the_sdks_own_tracing_counts_nothing_twice(client: Any, *, stream: bool) -> None:
    """Its spans lie inside of ours; what it makes of a response is read as the response is."""
    with recorder() as seen:
        (tracing,) = (
            hook
            for hook in client.sdk_configuration.__dict__["_hooks"].before_request_hooks
            if type(hook).__name__ == "TracingHook"
        )
        tracing.tracer_provider, tracing.tracing_enabled = seen.tracer_provider, True
        tracing.tracer = seen.tracer_provider.get_tracer("mistralai_sdk_tracer")
        list(client.chat.stream(**CHAT)) if stream else client.chat.complete(**CHAT)
    assert [(op.status, op.usage.total_tokens, op.usage.estimated) for op in seen.operations] == [
        ("success", 28, False)
    ]
    *theirs, ours = seen.spans  # there are none in version 2.0, unless the global provider is a real one
    for span in theirs:
        assert span.instrumentation_scope is not None
        assert span.instrumentation_scope.name == "mistralai_sdk_tracer"
        assert span.parent is not None
        assert ours.context is not None
        assert span.parent.span_id == ours.context.span_id


def test_content(client: Any) -> None:
    with recorder(settings=Settings(content="SPAN_ONLY")) as seen:
        client.chat.complete(**CHAT)
        list(client.chat.stream(**CHAT))
    for span in seen.spans:
        assert "Say hello." in str((span.attributes or {})["gen_ai.input.messages"])
        assert "hello there friend" in str((span.attributes or {})["gen_ai.output.messages"])
