"""LangChain's models over OpenAI's client: one operation, counted once, whichever way."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import AzureChatOpenAI, ChatOpenAI, OpenAIEmbeddings
from langchain_openai import OpenAI as TextOpenAI
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

from spanhook import Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.testing import recorder


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Reply(tokens=Tokens(input=1000, output=500, cached=200, reasoning=100))) as running:
        yield running


Make = Callable[..., Any]
CHATS: dict[str, Make] = {
    "chat": lambda **options: ChatOpenAI(model="gpt-4o-mini", **options),
    "responses": lambda **options: ChatOpenAI(model="gpt-4o-mini", use_responses_api=True, **options),
    "headers": lambda **options: ChatOpenAI(model="gpt-4o-mini", include_response_headers=True, **options),
    "azure": lambda base_url, **options: AzureChatOpenAI(
        azure_deployment="mine",
        azure_endpoint=base_url.removesuffix("/v1"),
        api_version="2025-03-01-preview",
        **options,
    ),
}
TEXTS: dict[str, Make] = {"text": lambda **options: TextOpenAI(model="gpt-3.5-turbo-instruct", **options)}
EMBEDDINGS: dict[str, Make] = {
    "embeddings": lambda **options: OpenAIEmbeddings(
        model="text-embedding-3-small", check_embedding_ctx_length=False, **options
    )
}


async def _collect(stream: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in stream]


WAYS: dict[str, Callable[[Any], Any]] = {
    "invoke": lambda model: model.invoke("hi"),
    "stream": lambda model: list(model.stream("hi")),
    "ainvoke": lambda model: model.ainvoke("hi"),
    "astream": lambda model: _collect(model.astream("hi")),
}
EMBEDDING_WAYS: dict[str, Callable[[Any], Any]] = {
    "query": lambda model: model.embed_query("hi"),
    "documents": lambda model: model.embed_documents(["hi", "ho"]),
    "aquery": lambda model: model.aembed_query("hi"),
    "adocuments": lambda model: model.aembed_documents(["hi", "ho"]),
}
CASES = [
    *((name, make, way, use) for name, make in {**CHATS, **TEXTS}.items() for way, use in WAYS.items()),
    *((name, make, way, use) for name, make in EMBEDDINGS.items() for way, use in EMBEDDING_WAYS.items()),
]
IDS = [f"{name}-{way}" for name, _, way, _ in CASES]
Case = tuple[str, Make, str, Callable[[Any], Any]]


@contextmanager
def made(make: Make, url: str) -> Generator[Any]:
    """A model with an HTTP client that is closed; those that LangChain makes itself never are."""
    with DefaultHttpxClient(verify=False) as http:
        yield make(base_url=url, api_key="test", max_retries=0, http_client=http)


def ask(case: Case, url: str) -> Any:
    _, make, way, use = case
    if not way.startswith("a"):
        with made(make, url) as model:
            return use(model)

    async def main() -> Any:
        async with DefaultAsyncHttpxClient(verify=False) as http:
            return await use(make(base_url=url, api_key="test", max_retries=0, http_async_client=http))

    return asyncio.run(main())


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_one_operation_counted_once(case: Case, server: OpenAIServer) -> None:
    name, _, way, _ = case
    with recorder() as seen:
        ask(case, server.url)
        [span] = seen.spans
        tokens = sum(value for _, value in seen.metrics()["spanhook.usage.tokens"])
    [op] = seen.operations
    assert op._record.adapter.layer.startswith("langchain")
    assert op.status == "success"
    assert len(server.requests) == 1
    assert tokens == op.usage.total_tokens > 0
    streamed = "stream" in way and name != "responses"
    assert op.usage.estimated is streamed
    if not streamed:
        assert (op.usage.input_tokens, op.usage.output_tokens) == (1000, 0 if name == "embeddings" else 500)
    assert (span.attributes or {})["gen_ai.usage.input_tokens"] == op.usage.input_tokens
    assert op.usage.cost_nano


@pytest.mark.every_value
@pytest.mark.parametrize("case", [case for case in CASES if "stream" in case[2]], ids=[i for i in IDS if "stream" in i])
def test_a_streams_usage_is_asked_for_where_the_settings_allow_it(case: Case, server: OpenAIServer) -> None:
    chunks = len(ask(case, server.url))
    with recorder(settings=Settings(stream_usage=True)) as seen:
        assert len(ask(case, server.url)) == chunks
    [op] = seen.operations
    if case[0] == "headers":  # nothing of a raw response can be hidden
        assert op.usage.estimated
    else:
        assert (op.usage.input_tokens, op.usage.cache_read_tokens) == (1000, 200)
        assert not op.usage.estimated


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_denied(case: Case, server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", "embeddings.create")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks) as seen, pytest.raises(Reject):
        ask(case, server.url)
    assert server.requests == []
    assert len(seen.operations) == 1


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_without_langchain_bound_it_is_gated_at_the_transport(case: Case, server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", "embeddings.create")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    expected = ask(case, server.url)
    with recorder(only=["openai"]) as seen:
        again = ask(case, server.url)
        assert type(again) is type(expected)
    assert [op._record.adapter.layer for op in seen.operations] == ["openai"]
    with recorder(hooks, only=["openai"]), pytest.raises(Exception, match="no") as refused:
        ask(case, server.url)
    # Newer versions of LangChain's package turn the client's errors into their own.
    assert isinstance(refused.value, Reject) or isinstance(refused.value.__cause__, Reject)
    assert len(server.requests) == 2


def test_a_stream_left_early_is_estimated(server: OpenAIServer) -> None:
    with recorder() as seen, made(CHATS["chat"], server.url) as model:
        stream = model.stream("hi")
        next(stream)
        next(stream)
        stream.close()
    [op] = seen.operations
    assert (op.status, op.usage.estimated) == ("abandoned", True)
    assert op.usage.input_tokens == 1
    assert list(op.usage_by_model) == ["gpt-4o-mini-2024-07-18"]


def test_another_model_is_an_operation_of_its_own(server: OpenAIServer) -> None:
    """A chat model that asks another one with the SDK, inside its own call."""

    class Router(ChatOpenAI):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            with sync_client(server.url) as client:
                client.chat.completions.create(model="gpt-4o", messages=CHAT["messages"])
            return super()._generate(*args, **kwargs)

    with recorder() as seen, made(lambda **options: Router(model="gpt-4o-mini", **options), server.url) as model:
        model.invoke("hi")
    assert [op.model for op in seen.operations] == ["gpt-4o", "gpt-4o-mini"]
    assert len(server.requests) == 2


class Router(BaseChatModel):
    """A model without a name of its own that asks others."""

    client: Any

    @property
    def _llm_type(self) -> str:
        return "router"

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        for model in ("gpt-4o-mini", "gpt-4o"):
            self.client.chat.completions.create(**{**CHAT, "model": model})
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])


def test_a_model_without_a_name_absorbs_none_of_those_it_asks(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", models={"gpt-4o"})
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks) as seen, sync_client(server.url) as client, pytest.raises(Reject):
        Router(client=client).invoke("hi")
    assert len(server.requests) == 1
    assert [op.model for op in seen.operations] == ["gpt-4o-mini", "gpt-4o", ""]
    assert seen.operations[-1].usage.input_tokens == 1000
