"""What the conventions want a sampler to be told of, and what requests say of themselves, where it is known early."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from anthropic import Anthropic
from langchain_core.embeddings import Embeddings, FakeEmbeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_openai import AzureOpenAIEmbeddings, ChatOpenAI, OpenAI, OpenAIEmbeddings
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor
from pydantic import SecretStr

from spanhook import Hooks, Operation, Reject, semconv
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import recorder

KEY = SecretStr("x")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


class Starts(SpanProcessor):
    """Keeps the name and attributes with which each span starts."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.seen.append((span.name, dict(span.attributes or {})))


@contextmanager
def starts(hooks: Hooks | None = None) -> Generator[list[tuple[str, dict[str, Any]]]]:
    watching = Starts()
    with recorder(hooks) as seen:
        seen.tracer_provider.add_span_processor(watching)
        yield watching.seen


@contextmanager
def refused(*kinds: str) -> Generator[list[tuple[str, dict[str, Any]]]]:
    """``starts``, with nothing sent to anybody."""
    hooks = Hooks()

    def never(op: Operation) -> None:
        raise Reject("not in a test")

    for kind in kinds:
        hooks.before(kind)(never)
    with starts(hooks) as seen, pytest.raises(Reject):
        yield seen


@pytest.mark.parametrize(
    ("make", "server", "port"),
    [
        (lambda: ChatOpenAI(model="m", api_key=KEY), "api.openai.com", 443),
        (lambda: ChatOpenAI(model="m", api_key=KEY, base_url="http://a.test:8080/v1"), "a.test", 8080),
        (lambda: OpenAI(model="m", api_key=KEY), "api.openai.com", 443),
        (lambda: OpenAIEmbeddings(model="m", api_key=KEY), "api.openai.com", 443),
        (lambda: OpenAIEmbeddings(model="m", api_key=KEY, base_url="http://a.test/v1"), "a.test", 80),
    ],
)
def test_a_frameworks_model_names_its_server(make: Any, server: str, port: int) -> None:
    model = make()
    with refused("llm.call", "embeddings.create") as seen:
        model.embed_query("hi") if isinstance(model, Embeddings) else model.invoke("hi")
    [(_, told)] = seen
    assert (told[semconv.SERVER_ADDRESS], told[semconv.SERVER_PORT]) == (server, port)
    assert told[semconv.GEN_AI_PROVIDER_NAME] == "openai"


def test_embeddings_of_azure_are_azures() -> None:
    model = AzureOpenAIEmbeddings(model="m", azure_endpoint="https://a.test", api_key=KEY, api_version="1")
    with refused("embeddings.create") as seen:
        model.embed_query("hi")
    [(_, told)] = seen
    assert told[semconv.GEN_AI_PROVIDER_NAME] == "azure.ai.openai"
    assert told[semconv.SERVER_ADDRESS] == "a.test"


def test_clients_name_their_server() -> None:
    with refused("llm.call") as seen:
        Anthropic(api_key="x").messages.create(model="m", max_tokens=1, messages=[])
    [(name, told)] = seen
    assert name == "chat m"
    assert (told[semconv.SERVER_ADDRESS], told[semconv.SERVER_PORT]) == ("api.anthropic.com", 443)


def test_how_much_a_model_is_to_think(server: OpenAIServer) -> None:
    ask: dict[str, Any] = {"model": "m", "messages": CHAT["messages"]}
    with starts() as seen, sync_client(server.url) as client:
        client.chat.completions.create(**ask, reasoning_effort="low")
        client.responses.create(model="m", input="hi", reasoning={"effort": "high"})
        client.chat.completions.create(**ask)
    found = [told.get(semconv.GEN_AI_REQUEST_REASONING_LEVEL) for _, told in seen]
    assert found == ["low", "high", None]


def test_how_much_claude_is_to_think() -> None:
    body: dict[str, Any] = {"model": "m", "max_tokens": 1, "messages": [], "output_config": {"effort": "medium"}}
    with refused("llm.call") as seen:
        Anthropic(api_key="x").post("/v1/messages", body=body, cast_to=object)
    assert [told.get(semconv.GEN_AI_REQUEST_REASONING_LEVEL) for _, told in seen] == ["medium"]


def test_what_a_response_goes_on_from(server: OpenAIServer) -> None:
    with starts() as seen, sync_client(server.url) as client:
        client.responses.create(model="m", previous_response_id="resp_1", prompt={"id": "pmpt_1", "version": "2"})
    [(_, told)] = seen
    assert told[semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID] == "resp_1"
    assert (told[semconv.GEN_AI_PROMPT_NAME], told[semconv.GEN_AI_PROMPT_VERSION]) == ("pmpt_1", "2")


@pytest.mark.filterwarnings("ignore:The Assistants API:DeprecationWarning")
def test_a_run_of_a_thread_is_an_agents(server: OpenAIServer) -> None:
    with starts() as seen, sync_client(server.url) as client:
        runs: Any = client.beta.threads.runs
        runs.create("thread_1", assistant_id="asst_1", model="gpt-4o")
    [(name, told)] = seen
    assert name == "invoke_agent"  # what a model is called is no name of an agent
    assert told[semconv.GEN_AI_AGENT_ID] == "asst_1"
    assert told[semconv.GEN_AI_CONVERSATION_ID] == "thread_1"


@pytest.mark.parametrize(("options", "most"), [({"search_kwargs": {"k": 2}}, 2), ({}, None)])
def test_how_many_documents_are_asked_for(options: dict[str, Any], most: int | None) -> None:
    store: VectorStore = InMemoryVectorStore(FakeEmbeddings(size=2))
    with refused("retrieval.query") as seen:
        store.as_retriever(**options).invoke("a")
    [(_, told)] = seen
    assert told.get(semconv.GEN_AI_RETRIEVAL_TOP_K) == most
