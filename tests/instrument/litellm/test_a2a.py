"""Agents on other servers, asked over A2A by its SDK, and models that are asked as if they were such agents."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from uuid import uuid4

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.litellm_ways import litellm
from spanhook.cli.conformance.servers.loopback import Server
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.testing import recorder
from tests.instrument.litellm.parts import nested

if not hasattr(litellm, "run_tool_loop"):
    pytest.skip("this version has no loops, harnesses or A2A", allow_module_level=True)
types: Any = pytest.importorskip("a2a.compat.v0_3.types")
a2a: Any = pytest.importorskip("litellm.a2a_protocol")

Ask = Callable[[str], Any]
NAME = "weather"


def said(text: str) -> dict[str, Any]:
    return {"kind": "message", "role": "agent", "messageId": "m", "parts": [{"kind": "text", "text": text}]}


class Agent(BaseHTTPRequestHandler):
    """An agent that says what it was told, whole or in a stream."""

    asked: list[str]
    port = property(lambda self: self.connection.getsockname()[1])

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        port = self.port
        self._send(
            "application/json",
            {
                "name": NAME,
                "description": "Knows the weather.",
                "version": "1",
                "protocolVersion": "0.3.0",
                "url": f"http://127.0.0.1:{port}/",
                "preferredTransport": "JSONRPC",
                "capabilities": {"streaming": True},
                "defaultInputModes": ["text"],
                "defaultOutputModes": ["text"],
                "skills": [],
            },
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = body["params"]["message"]["parts"][0]["text"]
        self.asked.append(text)
        if text == "fail":
            self._send(
                "application/json", {"jsonrpc": "2.0", "id": body["id"], "error": {"code": -32000, "message": "no"}}
            )
            return
        told = {"jsonrpc": "2.0", "id": body["id"], "result": said(f"You said {text}")}
        if body["method"] == "message/stream":
            self._send("text/event-stream", f"data: {json.dumps(told)}\n\n")
        else:
            self._send("application/json", told)

    def _send(self, kind: str, content: Any) -> None:
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Remote:
    """Where the agent is, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.http = Server(("127.0.0.1", 0), type("Here", (Agent,), {"asked": self.asked}))
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def remote() -> Iterator[Remote]:
    made = Remote()
    thread = threading.Thread(target=made.http.serve, daemon=True)
    thread.start()
    yield made
    made.http.stop()
    thread.join()
    made.http.server_close()


def request(text: str, kind: str = "SendMessageRequest") -> Any:
    message = {"role": "user", "parts": [{"kind": "text", "text": text}], "messageId": uuid4().hex}
    return getattr(types, kind)(id=str(uuid4()), params=types.MessageSendParams(message=message))


def text_in(answer: Any) -> str:
    told = answer if isinstance(answer, dict) else answer.model_dump(mode="json")
    result = told["result"]
    return "".join(part["text"] for part in result.get("parts") or result["artifacts"][0]["parts"])


async def _collected(stream: Any) -> str:
    return text_in([chunk async for chunk in stream][-1])


def by_url(remote: Remote) -> Ask:
    return lambda text: text_in(asyncio.run(a2a.asend_message(request=request(text), api_base=remote.url)))


def by_client(remote: Remote) -> Ask:
    async def ask(text: str) -> str:
        client = await a2a.create_a2a_client(remote.url)
        return text_in(await a2a.asend_message(a2a_client=client, request=request(text)))

    return lambda text: asyncio.run(ask(text))


def by_class(remote: Remote) -> Ask:
    return lambda text: text_in(asyncio.run(a2a.A2AClient(remote.url).send_message(request(text))))


def sync(remote: Remote) -> Ask:
    def ask(text: str) -> str:
        client = asyncio.run(a2a.create_a2a_client(remote.url))
        litellm.in_memory_llm_clients_cache.flush_cache()
        return text_in(a2a.send_message(a2a_client=client, request=request(text)))

    return ask


def streamed(remote: Remote) -> Ask:
    async def ask(text: str) -> str:
        asked = request(text, "SendStreamingMessageRequest")
        return await _collected(a2a.asend_message_streaming(request=asked, api_base=remote.url))

    return lambda text: asyncio.run(ask(text))


def streamed_by_class(remote: Remote) -> Ask:
    async def ask(text: str) -> str:
        asked = request(text, "SendStreamingMessageRequest")
        return await _collected(a2a.A2AClient(remote.url).send_message_streaming(asked))

    return lambda text: asyncio.run(ask(text))


WAYS = [by_url, by_client, by_class, sync, streamed, streamed_by_class]
every = pytest.mark.parametrize("way", WAYS)
NAMED = (by_client, by_class, sync, streamed_by_class)
"""Where the agent's card is known before it is asked."""


@every
def test_asking_an_agent_is_handing_over_to_it(way: Callable[[Remote], Ask], remote: Remote) -> None:
    ops: list[tuple[str, str]] = []
    hooks = Hooks()
    hooks.after("agent.delegate")(
        lambda op: ops.append((op.request.messages[0]["parts"][0]["content"], op.response.text))
    )
    with recorder(hooks) as seen:
        assert way(remote)("hello") == "You said hello"
    [op] = seen.operations
    name = NAME if way in NAMED else remote.url.removeprefix("http://")
    assert (op.kind, op.name, op.status) == ("agent.delegate", name, "success")
    assert ops == [("hello", "You said hello")]
    assert remote.asked == ["hello"]


@every
def test_an_agent_that_may_not_be_asked_is_not(way: Callable[[Remote], Ask], remote: Remote) -> None:
    hooks = Hooks()

    @hooks.before("agent.delegate")
    def refuse(op: Operation) -> None:
        raise Reject("Not today")

    with recorder(hooks), pytest.raises(Reject, match="Not today"):
        way(remote)("hello")
    assert remote.asked == []


@every
def test_an_agent_can_be_answered_for(way: Callable[[Remote], Ask], remote: Remote) -> None:
    hooks = Hooks()
    hooks.before("agent.delegate")(lambda op: op.respond("An answer."))
    with recorder(hooks):
        assert way(remote)("hello") == "An answer."
    assert remote.asked == []


@every
def test_an_agents_error_is_one_of_the_operation(way: Callable[[Remote], Ask], remote: Remote) -> None:
    def outcome() -> str:
        try:
            return str(way(remote)("fail"))
        except Exception as error:
            return type(error).__name__

    without = outcome()
    with recorder(Hooks()) as seen:
        assert outcome() == without
    spanhook.uninstrument()
    assert [op.status for op in seen.operations] == ["error"]


def test_an_agent_that_another_asks_is_inside_of_it(remote: Remote) -> None:
    @spanhook.agent("travel")
    def travel() -> str:
        return by_class(remote)("hello")

    givers: list[str] = []
    hooks = Hooks()
    hooks.before("agent.delegate", agents={"travel"})(lambda op: givers.append(op.agent))
    with recorder(hooks) as seen:
        travel()
    assert nested(seen) == [(f"delegate_agent {NAME}", "invoke_agent travel"), ("invoke_agent travel", "")]
    assert givers == ["travel"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_is_asked_as_an_agent_is_a_model_call_inside(
    stream: bool, server: OpenAIServer, to_openai: dict[str, Any]
) -> None:
    params = {"custom_llm_provider": "openai", "model": "gpt-4o-mini", "api_key": "test"}

    async def ask() -> str:
        if not stream:
            return text_in(await a2a.asend_message(request=request("hi"), api_base=server.url, litellm_params=params))
        asked = request("hi", "SendStreamingMessageRequest")
        chunks = a2a.asend_message_streaming(request=asked, api_base=server.url, litellm_params=params)
        return "".join([json.dumps(chunk) async for chunk in chunks])

    outputs: list[str] = []
    hooks = Hooks()
    hooks.after("agent.delegate")(lambda op: outputs.append(op.response.text))
    with recorder(hooks) as seen:
        assert Reply.text in asyncio.run(ask())
    assert nested(seen) == [("chat gpt-4o-mini", "delegate_agent gpt-4o-mini"), ("delegate_agent gpt-4o-mini", "")]
    assert outputs == [Reply.text]
