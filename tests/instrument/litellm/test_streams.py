"""Streams: their texts, their ends, and calls that return awaitables."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, operation
from spanhook.cli.conformance.libraries.litellm_ways import litellm, renew
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.hooks.budget import Budget
from spanhook.settings import Settings
from spanhook.testing import recorder


def _sync(given: dict[str, Any]) -> list[Any]:
    return list(litellm.completion(**given, stream=True))


def _async(given: dict[str, Any]) -> list[Any]:
    async def read() -> list[Any]:
        return [chunk async for chunk in await litellm.acompletion(**given, stream=True)]

    renew()
    return run(read())


def said(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


REPORTS_EVERYWHERE = tuple(map(int, version("litellm").split(".")[:2])) >= (1, 83)
"""Whether LiteLLM passes on the usage that providers other than OpenAI report at the end of a stream."""

WAYS: dict[str, Callable[[dict[str, Any]], list[Any]]] = {"sync": _sync, "async": _async}


@pytest.mark.parametrize("way", WAYS)
def test_usage_that_is_asked_for(way: str, server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    expected = WAYS[way](to_openai)
    server.reply = Reply(tokens=Tokens(input=30, output=20, cached=10))
    with recorder(settings=Settings(stream_usage=True)) as seen:
        chunks = WAYS[way](to_openai)
    assert server.requests[-1].body["stream_options"] == {"include_usage": True}
    assert said(chunks) == said(expected)
    assert not any(getattr(chunk, "usage", None) for chunk in chunks)
    (op,) = seen.operations
    assert (op.usage.input_tokens, op.usage.output_tokens, op.usage.estimated) == (30, 20, False)


#: Providers and the variables that name their servers; all of them speak OpenAI's format.
ADDRESSES = {
    "openai/gpt-4o-mini": {"OPENAI_API_BASE": "", "OPENAI_API_KEY": "test"},
    "gpt-4o-mini": {"OPENAI_API_BASE": "", "OPENAI_API_KEY": "test"},
    "azure/gpt-4o-mini": {"AZURE_API_BASE": "", "AZURE_API_KEY": "test", "AZURE_API_VERSION": "2025-01-01-preview"},
    "hosted_vllm/qwen": {"HOSTED_VLLM_API_BASE": "", "HOSTED_VLLM_API_KEY": "test"},
    "lm_studio/qwen": {"LM_STUDIO_API_BASE": "", "LM_STUDIO_API_KEY": "test"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model", ADDRESSES)
def test_usage_that_is_requested_from_a_server_of_the_environment(
    model: str, way: str, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ADDRESSES[model].items():
        monkeypatch.setenv(name, value or server.url)
    server.reply = Reply(tokens=Tokens(input=30, output=20, cached=10))
    with recorder(settings=Settings(stream_usage=True)) as seen:
        chunks = WAYS[way]({"model": model, "messages": [{"role": "user", "content": "Say hello."}]})
    assert said(chunks) == "hello there friend"
    assert not any(getattr(chunk, "usage", None) for chunk in chunks)
    (op,) = seen.operations
    if REPORTS_EVERYWHERE or model.partition("/")[0] not in ("hosted_vllm", "lm_studio"):
        assert server.requests[-1].body["stream_options"] == {"include_usage": True}
        assert (op.usage.input_tokens, op.usage.output_tokens, op.usage.estimated) == (30, 20, False)
    else:
        assert "stream_options" not in server.requests[-1].body
        assert op.usage.estimated


@pytest.mark.parametrize("way", WAYS)
def test_no_usage_is_requested_where_litellm_refuses_it(way: str, to_anthropic: dict[str, Any]) -> None:
    with recorder(settings=Settings(stream_usage=True)) as seen:
        chunks = WAYS[way](to_anthropic)
    assert said(chunks)
    assert not seen.operations[0].usage.estimated


@pytest.mark.parametrize("way", WAYS)
def test_usage_that_the_application_asks_for(way: str, server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    with recorder(settings=Settings(stream_usage=True)) as seen:
        chunks = WAYS[way]({**to_openai, "stream_options": {"include_usage": True}})
    assert chunks[-1].usage.total_tokens == 28
    assert seen.operations[0].usage.total_tokens == 28


@pytest.mark.parametrize("way", WAYS)
def test_usage_that_nobody_reports_is_estimated(way: str, to_openai: dict[str, Any]) -> None:
    with recorder() as seen:
        WAYS[way](to_openai)
    assert seen.operations[0].usage.estimated


@pytest.mark.every_value
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model", ["hosted_vllm/qwen", "openai/gpt-4o-mini"])
def test_usage_that_litellm_counts_itself_is_an_estimate(
    model: str, way: str, server: OpenAIServer, to_openai: dict[str, Any]
) -> None:
    server.reply = Reply(usage="never")
    budget = Budget("all", tokens=10_000, output_tokens=500, store=f"memory://litellm-{model}-{way}")
    with recorder(Hooks(budget)) as seen:
        WAYS[way]({**to_openai, "model": model, "stream_options": {"include_usage": True}})
    assert seen.operations[0].usage.estimated
    assert budget.standing().tokens > 500


def test_what_is_copied_from_litellms_own_count_is_an_estimate(server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    server.reply = Reply(usage="never")
    request = {"messages": to_openai["messages"]}
    with recorder() as seen, operation("llm.call", "qwen", provider="hosted_vllm", request=request) as op:
        options = {"include_usage": True}
        *_, last = litellm.completion(**{**to_openai, "model": "hosted_vllm/qwen"}, stream=True, stream_options=options)
        op.record_usage(input_tokens=last.usage.prompt_tokens, output_tokens=last.usage.completion_tokens)
    (ended,) = seen.operations
    assert ended.usage.estimated


@pytest.mark.parametrize("way", WAYS)
def test_tool_calls(way: str, server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    server.reply = Reply(calls=(Call("look_up", {"query": "tea"}),))
    hooks, parts = Hooks(), list[Any]()

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        parts.extend(op.response.messages[0]["parts"])

    with recorder(hooks):
        WAYS[way](to_openai)
    assert [(part["type"], part["name"], part["arguments"]) for part in parts if part["type"] == "tool_call"] == [
        ("tool_call", "look_up", {"query": "tea"})
    ]


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_that_is_refused_after_its_end(way: str, to_openai: dict[str, Any]) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer")
    def after(_op: Operation) -> None:
        raise Reject("Not that")

    with recorder(hooks), pytest.raises(litellm.exceptions.PermissionDeniedError):
        WAYS[way](to_openai)


def test_a_sync_function_that_returns_awaitables(to_openai: dict[str, Any]) -> None:
    if litellm.completion.__module__ == "litellm.main":
        pytest.skip("in this version, only LiteLLM itself can call it so")

    async def main() -> list[Any]:
        answer = await litellm.completion(**to_openai, acompletion=True)
        chunks = [chunk async for chunk in await litellm.completion(**to_openai, acompletion=True, stream=True)]
        return [answer.choices[0].message.content, said(chunks)]

    with recorder() as seen:
        assert run(main()) == ["hello there friend", "hello there friend"]
    assert [op.status for op in seen.operations] == ["success", "success"]
