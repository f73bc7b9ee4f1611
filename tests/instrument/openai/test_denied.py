"""Denied means denied, whichever way OpenAI is asked: the server sees no request, the caller gets the rejection."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from openai import AsyncAzureOpenAI, AzureOpenAI, OpenAI
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracerProvider, StatusCode

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_ways import (
    CHAT,
    EMBEDDINGS,
    RESPONSES,
    TEXT,
    WAYS,
    Way,
    async_client,
    collected,
    named,
    sync_client,
)
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.instrument.formats.openai.chat_chunks import ChatChunks
from spanhook.testing import is_gated, recorder
from tests.conformance.tracing import ForeignProvider
from tests.thinning import a_fifth


def refusing(*kinds: str, form: str = "def") -> Hooks:
    hooks = Hooks()
    if form == "def":

        @hooks.before(*kinds, name="refuse")
        def refuse(op: Operation) -> None:
            raise Reject("no", status_code=402)

    else:

        @hooks.before(*kinds, name="refuse", timeout=60.0)
        async def refuse_later(op: Operation) -> None:
            await asyncio.sleep(0)
            raise Reject("no", status_code=402)

    return hooks


@pytest.mark.parametrize("way", WAYS, ids=named)
def test_every_way(way: Way, server: OpenAIServer) -> None:
    with recorder(refusing(way.kind)) as seen:
        with pytest.raises(Reject, match="no") as caught:
            way(server.url)
        [span] = seen.spans
    assert caught.value.status_code == 402
    assert server.requests == []
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes is not None
    assert span.attributes["spanhook.status"] == "rejected"
    assert span.attributes["spanhook.decision"] == "reject"
    assert [op._record.called for op in seen.operations] == [False]


@pytest.mark.parametrize("way", WAYS, ids=named)
@pytest.mark.slow
def test_every_way_with_an_async_hook(way: Way, server: OpenAIServer) -> None:
    with recorder(refusing(way.kind, form="async")) as seen, pytest.raises(Reject, match="no"):
        way(server.url)
    assert server.requests == []
    assert [op.status for op in seen.operations] == ["rejected"]


@pytest.mark.parametrize("way", a_fifth(WAYS), ids=named)
def test_every_way_unsampled_and_with_other_kinds_refused(way: Way, server: OpenAIServer) -> None:
    with recorder(refusing(way.kind), sampler=ALWAYS_OFF), pytest.raises(Reject):
        way(server.url)
    assert server.requests == []
    other = "llm.call" if way.kind == "embeddings.create" else "embeddings.create"
    server.script(way.text)
    with recorder(refusing(other, "tool.execute")):
        way(server.url)
    assert len(server.requests) == 1


def _bound(client: OpenAI) -> dict[str, Callable[[], Any]]:
    """Bound methods and wrappers of a client, to be called later."""
    chat, responses = client.chat.completions, client.responses
    create, raw = chat.create, chat.with_raw_response.create
    streaming, manager = responses.with_streaming_response.create, chat.stream(**CHAT)
    respond, embed, complete, post = responses.create, client.embeddings.create, client.completions.create, client.post
    copied, beta = client.with_options(timeout=9), client.beta.chat.completions.stream
    return {
        "create": lambda: create(**CHAT),
        "stream": lambda: list(create(**CHAT, stream=True)),
        "raw": lambda: raw(**CHAT),
        "streaming": lambda: _enter(streaming(**RESPONSES)),
        "manager": lambda: _enter(manager),
        "responses": lambda: respond(**RESPONSES),
        "embeddings": lambda: embed(**EMBEDDINGS),
        "text": lambda: complete(**TEXT),
        "post": lambda: post("/chat/completions", cast_to=dict[str, Any], body=CHAT),
        "options": lambda: copied.chat.completions.create(**CHAT),
        "beta": lambda: _enter(beta(**CHAT)),
    }


def _enter(manager: Any) -> None:
    with manager:
        pass


def test_clients_and_bound_methods_made_before_instrument(server: OpenAIServer) -> None:
    with sync_client(server.url) as client:
        bound = _bound(client)
        with recorder(refusing("llm.call", "embeddings.create")):
            for later in bound.values():
                with pytest.raises(Reject):
                    later()
        assert server.requests == []
        del bound["manager"]  # one manager asks once
        for later in bound.values():
            later()
        assert len(server.requests) == len(bound)


def test_async_bound_methods_made_before_instrument(server: OpenAIServer) -> None:
    async def main() -> None:
        async with async_client(server.url) as client:
            create, raw = client.chat.completions.create, client.chat.completions.with_raw_response.create
            stream = client.chat.completions.stream(**CHAT)
            embed = client.embeddings.create
            with recorder(refusing("llm.call", "embeddings.create")):
                for ask in (lambda: create(**CHAT), lambda: raw(**CHAT), lambda: embed(**EMBEDDINGS)):
                    with pytest.raises(Reject):
                        await ask()
                with pytest.raises(Reject):
                    async with stream:
                        pass
            assert server.requests == []
            assert (await create(**CHAT)).choices[0].message.content == "hello there friend"
            assert len(await collected(await create(**CHAT, stream=True))) == 5

    asyncio.run(main())
    assert len(server.requests) == 2


AZURE: dict[str, Callable[[Any], Any]] = {
    "chat": lambda client: client.chat.completions.create(**CHAT),
    "stream": lambda client: client.chat.completions.create(**CHAT, stream=True),
    "responses": lambda client: client.responses.create(**RESPONSES),
    "embeddings": lambda client: client.embeddings.create(**EMBEDDINGS),
    "text": lambda client: client.completions.create(**TEXT),
    "by path": lambda client: client.post("/deployments/mine/chat/completions", cast_to=dict[str, Any], body=CHAT),
}


@pytest.mark.parametrize("how", AZURE)
@pytest.mark.parametrize("deployment", [None, "mine"])
def test_azure(how: str, deployment: str | None, server: OpenAIServer) -> None:
    options: dict[str, Any] = {"azure_endpoint": server.origin, "api_key": "test", "api_version": "2025-03-01-preview"}
    if deployment:
        options["azure_deployment"] = deployment

    async def main() -> None:
        async with AsyncAzureOpenAI(**options) as client:
            await AZURE[how](client)

    hooks = refusing("llm.call", "embeddings.create")
    with AzureOpenAI(**options) as client, recorder(hooks) as seen:
        with pytest.raises(Reject):
            AZURE[how](client)
        with pytest.raises(Reject):
            asyncio.run(main())
    assert server.requests == []
    assert {op.provider for op in seen.operations} == {"azure.ai.openai"}


def test_an_absolute_url_is_gated(server: OpenAIServer) -> None:
    elsewhere = "http://127.0.0.1:1/v1"
    with sync_client(elsewhere) as client, recorder(refusing("llm.call")) as seen, pytest.raises(Reject):
        client.post(f"{server.url}/chat/completions", cast_to=dict[str, Any], body=CHAT)
    assert server.requests == []
    assert seen.operations[0]._record.attributes["server.port"] == server.port


@pytest.mark.parametrize(
    "path",
    [
        "chat/completions",
        "/chat/completions/",
        "/chat/completions?x=1",
        "responses",
        "/responses?beta=true",
        "embeddings",
    ],
)
def test_other_spellings_of_a_path(path: str, server: OpenAIServer) -> None:
    with sync_client(server.url) as client, recorder(refusing("*")) as seen, pytest.raises(Reject):
        client.post(path, cast_to=dict[str, Any], body=CHAT)
    assert server.requests == []
    kind = "embeddings" if "embeddings" in path else "chat"
    assert seen.operations[0]._record.attributes["gen_ai.operation.name"] == kind


@pytest.mark.parametrize("way", ["disabled", "none", "no-op", "foreign"])
def test_without_an_sdk(way: str, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    provider: Any = None
    if way == "disabled":
        monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
        provider = TracerProvider(shutdown_on_exit=False)
    elif way != "none":
        provider = NoOpTracerProvider() if way == "no-op" else ForeignProvider()
    spanhook.instrument(refusing("llm.call", "embeddings.create"), tracer_provider=provider)
    for ask in WAYS:
        with pytest.raises(Reject, match="no"):
            ask(server.url)
    assert server.requests == []


def test_what_asks_no_model_is_passed_through(server: OpenAIServer) -> None:
    with sync_client(server.url) as client, recorder(refusing("*")) as seen:
        calls: list[Callable[[], Any]] = [
            lambda: client.models.list(),
            lambda: client.responses.retrieve("resp_1"),
            lambda: client.responses.cancel("resp_1"),
            lambda: client.responses.delete("resp_1"),
            lambda: client.responses.input_items.list("resp_1"),
            lambda: client.chat.completions.retrieve("chatcmpl-1"),
            lambda: client.chat.completions.update("chatcmpl-1", metadata={}),
            lambda: client.chat.completions.list(),
            lambda: client.files.list(),
        ]
        for call in calls:
            with pytest.raises(Exception, match=r"404|does not exist"):
                call()
    assert len(server.requests) == len(calls)
    assert seen.operations == []


def test_the_probe_finds_it_gated(server: OpenAIServer) -> None:
    with sync_client(server.url) as client:
        assert is_gated("llm.call", lambda: client.chat.completions.create(**CHAT))
        assert not is_gated("tool.execute", lambda: client.chat.completions.create(**CHAT))


def test_required_and_restored() -> None:
    from openai._base_client import AsyncAPIClient, SyncAPIClient

    before = vars(SyncAPIClient)["request"], vars(AsyncAPIClient)["request"]
    codes = [function.__code__ for function in before]
    spanhook.instrument(require=["openai"], only=["openai"])
    assert vars(SyncAPIClient)["request"] is not before[0]
    spanhook.uninstrument()
    assert (vars(SyncAPIClient)["request"], vars(AsyncAPIClient)["request"]) == before
    assert [function.__code__ for function in before] == codes


def test_a_client_with_a_transport_of_its_own(server: OpenAIServer) -> None:
    class Own(OpenAI):
        def request(self, cast_to: Any, options: Any, **kwargs: Any) -> Any:
            if options.url == "/embeddings":
                return super().request(cast_to, options, **kwargs)
            return self._client.post(f"{server.url}{options.url}", json=options.json_data).json()

    with Own(base_url=server.url, api_key="x", max_retries=0) as client:
        with recorder(refusing("llm.call")), pytest.raises(Reject):
            client.chat.completions.create(**CHAT)
        assert server.requests == []
        with recorder() as seen:
            client.embeddings.create(**EMBEDDINGS)
    assert len(seen.operations) == 1


def test_a_gate_that_cannot_read_an_answered_stream_refuses_it(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: Any) -> bool:
        raise ValueError("this chunk cannot be read")

    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond("the secret is 42"))
    hooks.after("llm.call", fail_mode="closed")(lambda op: "secret" in op.response.text and None)
    monkeypatch.setattr(ChatChunks, "add", unreadable)
    with recorder(hooks) as seen, sync_client(server.url) as client, pytest.raises(Reject):
        client.chat.completions.create(**CHAT, stream=True)
    assert [op.status for op in seen.operations] == ["rejected"]
