"""LiteLLM below LangChain, its cache, and its functions that refuse and answer in the same way."""

import asyncio
from contextlib import nullcontext
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.litellm_ways import litellm, renew
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import recorder


def _looking() -> Hooks:
    hooks = Hooks()

    @hooks.before("*")
    def before(op: Operation) -> None:
        assert op.request is not None

    return hooks


def test_langchains_model_over_litellm_is_one_call(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "api_base", None)  # the model sets it, for all calls of this process
    library = pytest.importorskip("langchain_litellm", reason="LangChain's package for LiteLLM is not installed")
    model = library.ChatLiteLLM(model="openai/gpt-4o-mini", api_base=server.url, api_key="test", max_retries=1)

    async def later() -> list[Any]:
        return [await model.ainvoke("hi"), *[chunk async for chunk in model.astream("hi")]]

    with recorder(_looking()) as seen:
        model.invoke("hi")
        list(model.stream("hi"))
        renew()
        run(later())
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 28)] * 4
    assert len(server.requests) == 4
    assert sum(value for _, value in seen.metrics()["spanhook.usage.tokens"]) == 4 * 28


def test_an_answer_from_the_cache_has_used_nothing(server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    caching = pytest.importorskip("litellm.caching.caching", reason="LiteLLM's cache needs what its proxy needs")
    litellm.cache = caching.Cache(type="local")
    with recorder(_looking()) as seen:
        for _ in range(2):
            litellm.completion(**to_openai, temperature=0.3)
    assert len(server.requests) == 1
    first, second = (op.usage for op in seen.operations)
    assert (first.total_tokens, second.total_tokens, second.cost_usd) == (28, 0, 0)


@pytest.mark.parametrize("way", ["completion", "acompletion", "stream", "astream"])
@pytest.mark.parametrize("does", ["replaces", "refuses", "looks"])
def test_what_a_hook_replaces_or_refuses_is_not_kept_in_the_cache(
    server: OpenAIServer, to_openai: dict[str, Any], way: str, does: str
) -> None:
    caching = pytest.importorskip("litellm.caching.caching", reason="LiteLLM's cache needs what its proxy needs")
    litellm.cache = caching.Cache(type="local")
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer")
    def decide(op: Operation) -> None:
        if does == "refuses":
            raise Reject("Not this")
        if does == "replaces":
            op.respond("[hidden]")

    async def later() -> None:
        if way == "acompletion":
            await litellm.acompletion(**to_openai)
        else:
            async for _ in await litellm.acompletion(**to_openai, stream=True):
                pass
        for _ in range(20):  # it writes in tasks of its own
            await asyncio.sleep(0)

    def ask() -> None:
        if way == "completion":
            litellm.completion(**to_openai)
        elif way == "stream":
            list(litellm.completion(**to_openai, stream=True))
        else:
            renew()
            run(later())

    with recorder(hooks):
        for _ in range(2):
            with pytest.raises(Reject) if does == "refuses" else nullcontext():
                ask()
    kept = len(litellm.cache.cache.cache_dict)
    assert (kept, len(server.requests)) == ((1, 1) if does == "looks" else (0, 2))


@pytest.mark.parametrize(
    "function", ["rerank", "arerank", "anthropic_messages", "compact_responses", "batch_completion"]
)
def test_others_are_gated(function: str, server: OpenAIServer, to_openai: dict[str, Any]) -> None:
    if not hasattr(litellm, function):
        pytest.skip(f"this version has no {function}")
    requests: dict[str, dict[str, Any]] = {
        "rerank": {"model": "cohere/rerank-v3.5", "query": "hi", "documents": ["a", "b"]},
        "anthropic_messages": {**to_openai, "max_tokens": 20},
        "compact_responses": {"model": "openai/gpt-5", "input": "hi"},
        "batch_completion": {**to_openai, "messages": [to_openai["messages"]] * 2},
    }
    request = {**to_openai, **requests[function.removeprefix("arerank") or "rerank"]}
    if function != "anthropic_messages" and function != "batch_completion":
        del request["messages"]
    hooks = Hooks()

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        assert op.request.messages
        raise Reject("Not today")

    with recorder(hooks) as seen:
        if function == "batch_completion":  # it returns what each call has raised
            assert all(isinstance(one, Reject) for one in litellm.batch_completion(**request))
        else:
            with pytest.raises(litellm.exceptions.PermissionDeniedError, match="Not today"):
                made = getattr(litellm, function)(**request)
                if hasattr(made, "__await__"):
                    run(made)
    assert {op.status for op in seen.operations} == {"rejected"}
    assert not server.requests
