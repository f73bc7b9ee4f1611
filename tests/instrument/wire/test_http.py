"""A format over a transport that is no generated client: an SDK that sends an HTTP request and returns the response."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.engine import acall, call, lazy
from spanhook.instrument.formats.openai import Chat
from spanhook.instrument.wire import Content, Fields, HttpContent, Server, Servers, Transport, adapted, answered_with
from spanhook.model import Args, Kwargs
from spanhook.testing import recorder
from tests.conformance.test_windows import CARD, SECRET, TEXT, Masking

BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


class HttpTransport(Transport):
    """Of functions that take a client, a request and ``stream``."""

    servers = Servers("acme", {})

    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:
        return json.loads(args[0].content)

    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:
        return (httpx.Request("POST", args[0].url, json=dict(body)),), kwargs

    def server_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Server:
        return self.servers.at(type(instance), None, str(args[0].url))

    def is_streamed(self, args: Args, kwargs: Kwargs) -> bool:
        return kwargs["stream"]

    def is_raw(self, args: Args, kwargs: Kwargs) -> bool:
        return True

    def fields_in(self, result: Any) -> Fields:
        if isinstance(result, dict):
            return result
        return result.json() if result.is_closed else {}

    def stream_of(self, result: Any) -> str:
        return "" if result.is_closed else "async" if isinstance(result.stream, httpx.AsyncByteStream) else "sync"

    def content(self, args: Args, kwargs: Kwargs, result: Any) -> Content | None:
        return HttpContent(result, streamed=kwargs["stream"])

    def deliver(self, instance: Any, args: Args, kwargs: Kwargs, payload: Any, events: Any, last: str) -> Any:
        return answered_with(args[0], payload, events, last, streamed=kwargs["stream"])


@dataclass
class Line:
    """A chunk in which JSON is only text."""

    text: str


class LineTransport(HttpTransport):
    """Of generator functions that yield lines."""

    opened = staticmethod(lambda line: json.loads(line.text))
    closed = staticmethod(lambda _line, value: Line(json.dumps(value)))

    def chunks_for(self, args: Args, kwargs: Kwargs, events: Any) -> Iterator[Any]:
        return (Line(json.dumps(data)) for _, data in events)


ADAPTER = adapted(Chat(), HttpTransport(), "acme")
LINES = adapted(Chat(), LineTransport(), "acme")


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client() as made:
        yield made


def request_to(server: OpenAIServer) -> httpx.Request:
    return httpx.Request("POST", f"{server.url}/chat/completions", json=BODY)


def send(client: httpx.Client, server: OpenAIServer, *, stream: bool) -> httpx.Response:
    request = request_to(server)
    if stream:
        body = {**BODY, "stream": True, "stream_options": {"include_usage": True}}
        request = httpx.Request("POST", request.url, json=body)
    return call(ADAPTER, client.send, client, (request,), {"stream": stream})


def asend(server: OpenAIServer) -> tuple[bytes, Any]:
    async def main() -> bytes:
        async with httpx.AsyncClient() as client:
            body = {**BODY, "stream": True, "stream_options": {"include_usage": True}}
            request = httpx.Request("POST", f"{server.url}/chat/completions", json=body)
            response = await acall(ADAPTER, client.send, client, (request,), {"stream": True})
            return await response.aread()

    return run(main()), None


def said_in(content: bytes) -> str:
    events = [json.loads(one[6:]) for one in content.decode().split("\n\n") if one and "[DONE]" not in one]
    return "".join(choice["delta"].get("content") or "" for one in events for choice in one["choices"])


def test_a_call_is_described_and_counted(client: httpx.Client, server: OpenAIServer) -> None:
    with recorder() as seen:
        assert send(client, server, stream=False).json()["choices"][0]["message"]["content"] == "hello there friend"
    (op,) = seen.operations
    assert (op.provider, op.model, op.status, op.usage.total_tokens) == ("acme", "m", "success", 28)
    (span,) = seen.spans
    assert not [name for name in span.attributes or () if name.startswith("openai.")]


def test_it_can_be_refused_rewritten_and_answered(client: httpx.Client, server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def decide(op: Operation) -> None:
        said = op.request.messages[0]["parts"][0]["content"]
        if said == "hi":
            op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "planted"}]}], model="n")

    with recorder(hooks):
        send(client, server, stream=False)
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "planted"}]
    assert server.requests[0].body["model"] == "n"

    answering, refusing = Hooks(), Hooks()
    answering.before("llm.call")(lambda op: op.respond("closed"))

    @refusing.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402)

    with recorder(answering):
        assert send(client, server, stream=False).json()["choices"][0]["message"]["content"] == "closed"
        assert said_in(send(client, server, stream=True).read()) == "closed"
    with recorder(refusing), pytest.raises(Reject, match="no"):
        send(client, server, stream=False)
    assert len(server.requests) == 1


def test_streams_are_counted_and_held_back(client: httpx.Client, server: OpenAIServer) -> None:
    hooks = Hooks()
    hooks.after("llm.call", stream="buffer", priority=50)(lambda op: op.respond(op.response.text.upper()))
    with recorder() as seen:
        assert said_in(send(client, server, stream=True).read()) == "hello there friend"
        response = send(client, server, stream=True)
        next(response.iter_raw())
        response.close()
    assert [(op.status, op.usage.estimated) for op in seen.operations] == [("success", False), ("abandoned", True)]
    with recorder(hooks):
        assert said_in(send(client, server, stream=True).read()) == "HELLO THERE FRIEND"
        assert said_in(asend(server)[0]) == "HELLO THERE FRIEND"


def test_streams_are_rewritten_as_they_arrive(client: httpx.Client, server: OpenAIServer) -> None:
    server.script(*[Reply(TEXT)] * 2)
    with recorder(Hooks(Masking())) as seen:
        assert said_in(send(client, server, stream=True).read()) == CARD.sub("[card]", TEXT)
        assert said_in(asend(server)[0]) == CARD.sub("[card]", TEXT)
    assert [one.decision for op in seen.operations for one in op.decisions] == ["replace"] * 2
    assert [op.usage.total_tokens for op in seen.operations] == [28, 28]


def _lines(client: httpx.Client, server: OpenAIServer) -> Iterator[Line]:
    def stream(request: httpx.Request, *, stream: bool) -> Iterator[Line]:
        response = client.send(request)
        for event in response.text.split("\n\n"):
            if event and "[DONE]" not in event:
                yield Line(event[6:])

    body = {**BODY, "stream": True, "stream_options": {"include_usage": True}}
    request = httpx.Request("POST", f"{server.url}/chat/completions", json=body)
    return lazy(LINES, stream, client, (request,), {"stream": True}, is_async=False)


def said_by(lines: list[Line]) -> str:
    chunks = [json.loads(line.text) for line in lines]
    return "".join(choice["delta"].get("content") or "" for one in chunks for choice in one["choices"])


def test_chunks_that_contain_json_are_opened(client: httpx.Client, server: OpenAIServer) -> None:
    server.script(Reply(TEXT), Reply(TEXT))
    with recorder() as seen:
        assert said_by(list(_lines(client, server))) == TEXT
    assert [(op.usage.total_tokens, op.usage.estimated) for op in seen.operations] == [(28, False)]
    with recorder(Hooks(Masking())):
        lines = list(_lines(client, server))
    assert SECRET not in repr(lines)
    assert said_by(lines) == CARD.sub("[card]", TEXT)
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond("closed"))
    with recorder(hooks):
        assert said_by(list(_lines(client, server))) == "closed"
