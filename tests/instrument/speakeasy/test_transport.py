"""Any SDK that Speakeasy generates: here one of ours, which is as such SDKs are."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, error
from spanhook.engine import call
from spanhook.instrument.formats.openai import MAKES, Chat, Endpoint
from spanhook.instrument.speakeasy import SpeakeasyTransport, chooser, points_of
from spanhook.instrument.wire import Servers, adapted
from spanhook.model import Adapter
from spanhook.testing import recorder

BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


class AcmeError(Exception):
    """The SDK's exception."""

    def __init__(self, message: str, raw_response: httpx.Response, body: str) -> None:
        super().__init__(message)
        self.raw_response, self.body, self.status_code = raw_response, body, raw_response.status_code


TRANSPORT = SpeakeasyTransport(Servers("acme", {}), AcmeError)
CHAT = adapted(Chat(), TRANSPORT, "acme")
choose = chooser(
    {"/chat/completions": CHAT, "/audio/transcriptions": adapted(Endpoint(MAKES, "", "text"), TRANSPORT, "acme")}
)


class Sdk:
    """Calls as the SDK's own code makes them."""

    def __init__(self, url: str) -> None:
        self.url, self.client = url, httpx.Client()

    def do_request(
        self, hook_ctx: Any, request: httpx.Request, is_error: Callable[[int], bool], stream: bool = False
    ) -> httpx.Response:
        return self.client.send(request, stream=stream)

    def ask(self, request: httpx.Request, *, stream: bool = False, by_place: bool = False) -> Any:
        given = {"hook_ctx": None, "request": request, "is_error": bool, "stream": stream}
        args, kwargs = (tuple(given.values()), {}) if by_place else ((), given)
        adapter = choose(self, args, kwargs)
        assert isinstance(adapter, Adapter)
        response = call(adapter, self.do_request, self, args, kwargs)
        if response.status_code >= 400:
            response.read()
            raise AcmeError("API error occurred", response, response.text)
        return response

    def request(self, **more: Any) -> httpx.Request:
        return self.client.build_request("POST", f"{self.url}/chat/completions", json={**BODY, **more})


@pytest.fixture
def sdk(server: OpenAIServer) -> Iterator[Sdk]:
    made = Sdk(server.url)
    with made.client:
        yield made


def said_in(content: bytes) -> str:
    events = [json.loads(one[6:]) for one in content.decode().split("\n\n") if one and "[DONE]" not in one]
    return "".join(choice["delta"].get("content") or "" for one in events for choice in one["choices"])


@pytest.mark.every_value
@pytest.mark.parametrize("by_place", [True, False])
def test_a_call_is_read_and_rewritten(sdk: Sdk, server: OpenAIServer, *, by_place: bool) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.replace(model="n"))
    with recorder(hooks) as seen:
        response = sdk.ask(sdk.request(), by_place=by_place)
    assert response.json()["choices"][0]["message"]["content"] == "hello there friend"
    assert [(op.provider, op.status, op.usage.total_tokens) for op in seen.operations] == [("acme", "success", 28)]
    assert server.requests[0].body == {**BODY, "model": "n"}
    assert (seen.spans[0].attributes or {})["server.port"] == server.port


def test_what_calls_no_model_is_none(sdk: Sdk) -> None:
    for method, path in (("GET", "/chat/completions"), ("POST", "/files")):
        assert choose(sdk, (), {"request": httpx.Request(method, f"{sdk.url}{path}")}) is None


def test_a_stream_is_one_if_the_json_says_so(sdk: Sdk) -> None:
    """Calls that may stream are made as streams."""
    with recorder() as seen:
        whole = sdk.ask(sdk.request(stream=False), stream=True)
        assert json.loads(whole.read())["choices"][0]["message"]["content"] == "hello there friend"
        events = sdk.ask(sdk.request(stream=True, stream_options={"include_usage": True}), stream=True)
        assert said_in(events.read()) == "hello there friend"
    assert [(op.status, op.usage.total_tokens, op.usage.estimated) for op in seen.operations] == [
        ("success", 28, False)
    ] * 2
    assert ["gen_ai.request.stream" in (span.attributes or {}) for span in seen.spans] == [False, True]


def test_results_are_replaced_and_answered(sdk: Sdk, server: OpenAIServer) -> None:
    replacing, answering = Hooks(), Hooks()
    replacing.after("llm.call", stream="buffer", priority=50)(lambda op: op.respond(op.response.text.upper()))
    answering.before("llm.call")(lambda op: op.respond("closed"))
    for hooks, said in ((replacing, "HELLO THERE FRIEND"), (answering, "closed")):
        with recorder(hooks):
            assert sdk.ask(sdk.request()).json()["choices"][0]["message"]["content"] == said
            whole = sdk.ask(sdk.request(stream=False), stream=True)
            assert json.loads(whole.read())["choices"][0]["message"]["content"] == said
            assert said_in(sdk.ask(sdk.request(stream=True), stream=True).read()) == said
    assert len(server.requests) == 3


@pytest.mark.every_value
@pytest.mark.parametrize("stream", [True, False])
def test_errors_that_are_returned(sdk: Sdk, server: OpenAIServer, *, stream: bool) -> None:
    server.script(error(401))
    with recorder() as seen, pytest.raises(AcmeError) as raised:
        sdk.ask(sdk.request(stream=stream), stream=stream)
    assert (raised.value.status_code, seen.operations[0].status) == (401, "error")
    assert (seen.spans[0].attributes or {})["error.type"] == "401"


def test_refusals_are_the_sdks_errors(sdk: Sdk, server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=429)

    with recorder(hooks), pytest.raises(AcmeError, match="not today") as raised:
        sdk.ask(sdk.request())
    assert isinstance(raised.value, Reject)
    assert (raised.value.status_code, raised.value.raw_response.status_code, server.requests) == (429, 429, [])


def test_a_connection_that_breaks(sdk: Sdk, server: OpenAIServer) -> None:
    server.script(Reply(cut=2))
    with recorder() as seen, pytest.raises(httpx.RemoteProtocolError):
        sdk.ask(sdk.request())
    assert [op.status for op in seen.operations] == ["error"]


def test_forms_are_read_and_rewritten(sdk: Sdk, server: OpenAIServer) -> None:
    told: list[Any] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        told.append((op.model, op.request.messages[0]["parts"]))
        op.replace(model="other")

    request = sdk.client.build_request(
        "POST",
        f"{sdk.url}/audio/transcriptions",
        data={"model": "m", "kinds": ["a", "b"]},
        files={"file": ("a.mp3", b"sound", "audio/mpeg")},
    )
    with recorder(hooks):
        sdk.ask(request)
    assert told == [("m", [{"type": "upload", "name": "file"}])]
    assert (server.requests[0].body["model"], server.requests[0].body["file"]) == ("other", "5 bytes")


def test_bodies_that_are_no_json_are_gated(sdk: Sdk) -> None:
    for content in (b"not json", b"[1]", iter([b"{}"])):
        request = httpx.Request("POST", f"{sdk.url}/chat/completions", content=content)
        assert TRANSPORT.body_of(sdk, (), {"request": request}) == {}


def test_points() -> None:
    points = points_of("acme.basesdk", "here:CHAT", "here:choose", later="AsyncBaseSDK", optional=True)
    assert [(one.name, one.mode, one.optional) for one in points] == [
        ("BaseSDK.do_request", "sync", True),
        ("AsyncBaseSDK.do_request_async", "async", True),
    ]
