"""Chat completions: how a call is described, what its answer reports, what hooks change."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, semconv
from spanhook.cli.conformance.libraries.litellm_ways import litellm
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.engine.beginning import described
from spanhook.instrument.litellm import apis
from spanhook.instrument.litellm.providers import named
from spanhook.settings import Settings
from spanhook.testing import recorder


@pytest.mark.parametrize(
    ("model", "given", "parts"),
    [
        ("gpt-4o-mini", "", ("", "gpt-4o-mini", "openai")),
        ("openai/gpt-4o-mini", "", ("openai/", "gpt-4o-mini", "openai")),
        ("azure/my-deployment", "", ("azure/", "my-deployment", "azure.ai.openai")),
        ("anthropic/claude-sonnet-4-5", "", ("anthropic/", "claude-sonnet-4-5", "anthropic")),
        ("bedrock/converse/anthropic.claude-v2", "", ("bedrock/converse/", "anthropic.claude-v2", "aws.bedrock")),
        ("openai/responses/gpt-5", "", ("openai/responses/", "gpt-5", "openai")),
        ("vertex_ai/gemini-2.5-pro", "", ("vertex_ai/", "gemini-2.5-pro", "gcp.vertex_ai")),
        ("gemini/gemini-2.5-pro", "", ("gemini/", "gemini-2.5-pro", "gcp.gemini")),
        ("openrouter/openai/gpt-4o", "", ("openrouter/", "openai/gpt-4o", "openrouter")),
        ("meta-llama/Llama-3", "groq", ("", "meta-llama/Llama-3", "groq")),
        ("mistral/mistral-large", "mistral", ("mistral/", "mistral-large", "mistral_ai")),
        ("acme/model", "", ("", "acme/model", "")),
    ],
)
def test_the_parts_of_a_models_name(model: str, given: str, parts: tuple[str, str, str]) -> None:
    assert named(model, given) == parts


def test_how_a_call_is_described(server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    with recorder() as seen:
        litellm.completion(**to_openai, temperature=0.5, max_tokens=9, stop=["x"], n=2, seed=7)
    (op,) = seen.operations
    assert (op.provider, op.model) == ("openai", "gpt-4o-mini")
    (span,) = seen.spans
    told = span.attributes
    assert told is not None
    assert {name: told[name] for name in told if name.startswith(("gen_ai.request", "server", "openai."))} == {
        semconv.SERVER_ADDRESS: "127.0.0.1",
        semconv.SERVER_PORT: told[semconv.SERVER_PORT],
        semconv.GEN_AI_REQUEST_MODEL: "gpt-4o-mini",
        semconv.GEN_AI_REQUEST_TEMPERATURE: 0.5,
        semconv.GEN_AI_REQUEST_SEED: 7,
        semconv.GEN_AI_REQUEST_MAX_TOKENS: 9,
        semconv.GEN_AI_REQUEST_STOP_SEQUENCES: ("x",),
        semconv.GEN_AI_REQUEST_CHOICE_COUNT: 2,
        semconv.OPENAI_API_TYPE: "chat_completions",
        semconv.OPENAI_RESPONSE_SERVICE_TIER: "default",
        semconv.OPENAI_RESPONSE_SYSTEM_FINGERPRINT: "fp_1",
    }


def test_by_position(to_openai: dict[str, Any]) -> None:
    model, messages = to_openai.pop("model"), to_openai.pop("messages")
    hooks = Hooks()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        assert op.request.messages[-1]["parts"] == [{"type": "text", "content": "Say hello."}]
        op.replace(messages=[{"role": "user", "content": "Say goodbye."}])

    with recorder(hooks) as seen:
        litellm.completion(model, messages, **to_openai)
        run(litellm.acompletion(model, messages, **to_openai))
    assert [op.model for op in seen.operations] == ["gpt-4o-mini", "gpt-4o-mini"]


def test_usage_in_all_its_parts(server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    server.reply = Reply(tokens=Tokens(input=30, output=20, cached=10, reasoning=5))
    with recorder() as seen:
        litellm.completion(**to_openai)
        run(litellm.acompletion(**to_openai))
    for op in seen.operations:
        used = op.usage
        assert (used.input_tokens, used.output_tokens) == (30, 20)
        assert (used.cache_read_tokens, used.reasoning_tokens) == (10, 5)
        assert not used.estimated


def tells_parts() -> bool:
    """Whether LiteLLM tells of a stream's usage what was read from a cache, as it does from 1.83 on."""
    return tuple(map(int, version("litellm").split(".")[:2])) >= (1, 83)


def test_tokens_written_to_anthropics_cache(anthropic: Any, to_anthropic: dict[str, Any]) -> None:
    anthropic.reply = Reply(tokens=Tokens(input=30, output=20, cached=10, written=8))
    with recorder() as seen:
        litellm.completion(**to_anthropic)
        if tells_parts():
            list(litellm.completion(**to_anthropic, stream=True))
    for op in seen.operations:
        used = op.usage
        assert (used.cache_read_tokens, used.cache_write_tokens, used.output_tokens) == (10, 8, 20)
        assert used.input_tokens == seen.operations[0].usage.input_tokens


def test_tool_calls_and_messages_that_are_models(server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    server.script(Reply(calls=(Call("look_up", {"query": "tea"}),)), Reply())
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    hooks = Hooks()
    asked, made = list[Any](), list[Any]()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        asked.append([message["role"] for message in op.request.messages])
        op.replace(messages=[*op.request.messages, {"role": "user", "content": "Be quick."}])

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        made.extend(part for part in op.response.messages[0]["parts"] if part["type"] == "tool_call")

    with recorder(hooks, settings=Settings(content="SPAN_ONLY")) as seen:
        answer = litellm.completion(**to_openai, tools=tools).choices[0].message
        result = {"role": "tool", "tool_call_id": answer.tool_calls[0].id, "content": "leaves"}
        to_openai["messages"] = [*to_openai["messages"], answer, result]
        litellm.completion(**to_openai, tools=tools)
    assert asked == [["user"], ["user", "assistant", "tool"]]
    assert [(part["name"], part["arguments"]) for part in made] == [("look_up", {"query": "tea"})]
    assert [one["role"] for one in server.requests[1].body["messages"]] == ["user", "assistant", "tool", "user"]
    assert server.requests[1].body["messages"][1]["tool_calls"][0]["function"]["name"] == "look_up"
    assert seen.operations[0].usage.total_tokens == 28


@pytest.mark.parametrize(
    ("given", "sent"), [("gpt-4o", "gpt-4o"), ("openai/gpt-4o", "gpt-4o"), ("text-embedding", "text-embedding")]
)
def test_another_model(server: OpenAIServer, to_openai: dict[str, Any], given: str, sent: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        op.replace(model=given)

    with recorder(hooks) as seen:
        litellm.completion(**to_openai)
        run(litellm.acompletion(**to_openai))
    assert [request.body["model"] for request in server.requests] == [sent, sent]
    assert {op.status for op in seen.operations} == {"success"}
    assert {decision.decision for op in seen.operations for decision in op.decisions} == {"modify"}


def test_answers_are_litellms(server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        op.respond("From a hook.")

    with recorder(hooks):
        answer = litellm.completion(**to_openai)
        stream = litellm.completion(**to_openai, stream=True)
        assert isinstance(stream, litellm.CustomStreamWrapper)
        chunks = list(stream)

        async def later() -> list[Any]:
            return [chunk async for chunk in await litellm.acompletion(**to_openai, stream=True)]

        assert [chunk.choices[0].delta.content for chunk in run(later())] == ["From a hook.", None]
    assert type(answer) is litellm.ModelResponse
    assert answer.choices[0].message.content == answer["choices"][0]["message"]["content"] == "From a hook."
    assert litellm.stream_chunk_builder(chunks).choices[0].message.content == "From a hook."
    assert not server.requests


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (402, "APIError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (408, "Timeout"),
        (422, "UnprocessableEntityError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
        (503, "ServiceUnavailableError"),
    ],
)
def test_a_refusal_is_litellms_own_error(to_openai: dict[str, Any], status: int, name: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def before(_op: Operation) -> None:
        raise Reject("Not today", status_code=status)

    with recorder(hooks):
        for call in (lambda: litellm.completion(**to_openai), lambda: run(litellm.acompletion(**to_openai))):
            with pytest.raises(getattr(litellm.exceptions, name)) as raised:
                call()
            assert isinstance(raised.value, Reject)
            error: Any = raised.value
            assert (error.reason, error.status_code, str(error)) == ("Not today", status, "Not today")
            assert (error.model, error.llm_provider) == ("openai/gpt-4o-mini", "openai")


def test_a_mock_response_is_a_call(to_openai: dict[str, Any]) -> None:
    hooks, after = Hooks(), list[str]()

    @hooks.around("llm.call")
    def look(op: Operation) -> Iterator[None]:
        yield
        after.append(op.response.messages[0]["parts"][0]["content"])

    with recorder(hooks) as seen:
        litellm.completion(**to_openai, mock_response="It is a mock.")
        run(litellm.acompletion(**to_openai, mock_response="It is a mock."))
    assert after == ["It is a mock.", "It is a mock."]
    assert len(seen.operations) == 2


def test_no_keys_of_providers_are_kept() -> None:
    given = {"model": "gpt-4o", "messages": [], "input": "", "api_key": "sk-secret", "aws_secret_access_key": "secret"}
    for adapter in (apis.CHAT, apis.EMBEDDINGS, apis.RESPONSES):
        assert described(adapter, None, (), given) is not None
        assert not adapter.known
