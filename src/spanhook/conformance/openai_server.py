"""A small OpenAI on loopback: real HTTP and the provider's wire format, in a thread of the test's own process.

    with OpenAIServer() as server:
        client = OpenAI(base_url=server.url, api_key="test")
        client.chat.completions.create(model="gpt-4o-mini", messages=[...])
        assert server.requests[0].body["model"] == "gpt-4o-mini"

It answers every request alike until it is told otherwise: ``script`` says what the next requests get, ``reply`` what
all of them get. Nothing here waits, unless ``Reply.gate`` or ``Reply.hold`` is given to wait for.
"""

import base64
import email
import json
import re
import struct
import sys
import threading
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import unquote

from spanhook.conformance import other_endpoints
from spanhook.conformance.loopback import Server

Json = dict[str, Any]

CREATED = 1_760_000_000


@dataclass(frozen=True)
class Call:
    """A tool call that the model makes."""

    name: str
    arguments: Json
    id: str = "call_1"


@dataclass(frozen=True)
class Tokens:
    """What the model is said to have used. Cached ones are part of the input, reasoning is part of the output.

    Compatible servers say odd things, hence any value.
    """

    input: Any = 20
    output: Any = 8
    cached: Any = 0
    written: Any = 0
    reasoning: Any = 0
    cost: Any = None

    @property
    def total(self) -> int:
        return sum(one for one in (self.input, self.output) if type(one) is int)

    def chat(self) -> Json:
        """As chat completions and completions report it."""
        told: Json = {
            "prompt_tokens": self.input,
            "completion_tokens": self.output,
            "total_tokens": self.total,
            "prompt_tokens_details": {"cached_tokens": self.cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning, "audio_tokens": 0},
        }
        if self.written:
            told["prompt_tokens_details"]["cache_write_tokens"] = self.written
        return told if self.cost is None else {**told, "cost": self.cost}

    def responses(self) -> Json:
        """As the Responses API reports it."""
        return {
            "input_tokens": self.input,
            "input_tokens_details": {"cached_tokens": self.cached, "cache_write_tokens": self.written},
            "output_tokens": self.output,
            "output_tokens_details": {"reasoning_tokens": self.reasoning},
            "total_tokens": self.total,
        }


@dataclass(frozen=True, eq=False)
class Reply:
    """What a request gets.

    Attributes:
        text: What the model says; a stream says it word by word.
        calls: Tool calls it makes.
        finish: Its finish reason; ``stop`` or ``tool_calls`` unless given.
        tokens: What it reports to have used.
        status: 200, or an error's.
        code, message: Of an error's body, in OpenAI's form.
        cut: Close the connection after so many events of a stream, or in the middle of a JSON body.
        gate: Wait for it before each event of a stream but the first.
        hold: Wait for it before answering at all.
        usage: Whether a stream reports usage: when it is asked to, always, or never.
        body: Sent as it is instead of all this.
        encoding: ``gzip`` or ``deflate`` the body.
        headers: More of them.
    """

    text: str = "hello there friend"
    calls: tuple[Call, ...] = ()
    finish: str = ""
    tokens: Tokens = Tokens()
    status: int = 200
    code: str = ""
    message: str = ""
    cut: int | None = None
    gate: threading.Event | None = None
    hold: threading.Event | None = None
    usage: str = "asked"
    body: Json | None = None
    encoding: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def reason(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")

    @property
    def words(self) -> list[str]:
        return [word if index == 0 else f" {word}" for index, word in enumerate(self.text.split(" "))]


_ERRORS = {
    400: ("invalid_request_error", "invalid_value", "Invalid value for 'messages'."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: test."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for gpt-4o-mini."),
    500: ("server_error", "server_error", "The server had an error while processing your request."),
}


def error(status: int, **more: Any) -> Reply:
    """A reply with an error as OpenAI words it."""
    return Reply(status=status, **more)


@dataclass(frozen=True)
class Seen:
    """A request that came in: its path without what the base URL adds, its JSON, its headers in lower case."""

    method: str
    path: str
    body: Json
    headers: dict[str, str]


class OpenAIServer:
    """The server. Requests are counted and kept in ``requests``.

    Attributes:
        requests: Every request that came in, in order.
        reply: What a request gets that ``script`` says nothing about.
    """

    def __init__(self, reply: Reply | None = None) -> None:
        self.requests: list[Seen] = []
        self.reply = reply or Reply()
        self._script: deque[Reply] = deque()
        self._http = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.stop()
        self._thread.join()
        self._http.server_close()

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def origin(self) -> str:
        """For Azure clients: their endpoint."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """For OpenAI clients: their base URL."""
        return f"{self.origin}/v1"

    def script(self, *replies: Reply | str) -> None:
        """Say what the next requests get, one each; a text is a reply that says it."""
        self._script.extend(Reply(text=one) if isinstance(one, str) else one for one in replies)

    def next(self) -> Reply:
        """What the next request gets."""
        return self._script.popleft() if self._script else self.reply

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(_Handler):
            owner = server

        return Handler


class _Server(Server):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is none; everything else is printed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    owner: OpenAIServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the requests are kept."""

    def do_GET(self) -> None:
        self._take({})
        self._json(404, _error_body(404, "", ""), {})

    do_DELETE = do_GET

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        content, kind = self.rfile.read(length), self.headers.get("content-type") or ""
        body = _form(content, kind) if kind.startswith("multipart/") else json.loads(content or b"{}")
        path = self._take(body)
        reply = self.owner.next()
        if reply.hold is not None:
            reply.hold.wait(10.0)
        if reply.status != 200:
            self._json(reply.status, _error_body(reply.status, reply.code, reply.message), reply.headers)
        elif reply.body is not None:
            self._json(200, reply.body, reply.headers, reply)
        elif (other := other_endpoints.answer(path, body, reply.text, reply.tokens.responses())) is not None:
            self._other(body, reply, other)
        elif path.endswith("/embeddings"):
            self._json(200, _embeddings(body, reply), reply.headers, reply)
        elif path.endswith("/decisions"):
            self._json(200, _decision(body, reply), reply.headers, reply)
        elif path.endswith("/chat/completions"):
            self._answer(body, reply, _chat(body, reply), _chat_events(body, reply))
        elif path.endswith("/completions"):
            self._answer(body, reply, _text(body, reply), _text_events(body, reply))
        elif path.endswith(("/responses", "/responses/compact")):
            self._answer(body, reply, _response(body, reply), _response_events(body, reply))
        else:
            self._json(404, _error_body(404, "", ""), {})

    def _take(self, body: Json) -> str:
        path = self.path.removeprefix("/v1")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.requests.append(Seen(self.command, path, body, headers))
        return re.sub("/+", "/", unquote(path).partition("?")[0]).rstrip("/").lower()

    def _other(self, body: Json, reply: Reply, answer: Any) -> None:
        if isinstance(answer, bytes):
            self._head(200, "audio/mpeg", {**reply.headers, "content-length": str(len(answer))})
            self.wfile.write(answer)
        elif isinstance(answer, str):
            self._head(200, "text/plain", {**reply.headers, "content-length": str(len(answer.encode()))})
            self.wfile.write(answer.encode())
        else:
            self._answer(body, reply, answer, other_endpoints.events(answer))

    def _answer(self, body: Json, reply: Reply, whole: Json, events: Iterator[tuple[str, Json | str]]) -> None:
        if body.get("stream") in (True, "true"):
            self._stream(reply, events)
        else:
            self._json(200, whole, reply.headers, reply)

    def _json(self, status: int, body: Json, headers: dict[str, str], reply: Reply | None = None) -> None:
        content, pack = json.dumps(body).encode(), _packer(reply)
        if pack is not None:
            content = pack.compress(content) + pack.flush()
        headers = {**headers, **_encoding(reply), "content-length": str(len(content))}
        self._head(status, "application/json", headers)
        is_cut = reply is not None and reply.cut is not None
        self.wfile.write(content[: len(content) // 2] if is_cut else content)
        if is_cut:
            self._hang_up()

    def _stream(self, reply: Reply, events: Iterator[tuple[str, Json | str]]) -> None:
        pack = _packer(reply)
        headers = {**reply.headers, **_encoding(reply), "transfer-encoding": "chunked"}
        self._head(200, "text/event-stream", headers)
        try:
            for index, (name, data) in enumerate(events):
                if index == reply.cut:
                    self._hang_up()
                    return
                if index and reply.gate is not None:
                    reply.gate.wait(10.0)
                text = data if isinstance(data, str) else json.dumps(data)
                head = f"event: {name}\n" if name else ""
                content = f"{head}data: {text}\n\n".encode()
                self._chunk(content if pack is None else pack.compress(content) + pack.flush(zlib.Z_SYNC_FLUSH))
            if pack is not None:
                self._chunk(pack.flush())
            self._chunk(b"")
        except (BrokenPipeError, ConnectionResetError):  # the client has seen enough
            self.close_connection = True

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def _head(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("x-request-id", f"req_{len(self.owner.requests)}")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True


def _form(content: bytes, kind: str) -> Json:
    """The fields of a form; of files, how many bytes they have."""
    parsed = email.message_from_bytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + content)
    fields: Json = {}
    for part in parsed.get_payload():
        entry: Any = part
        value = entry.get_payload(decode=True)
        name = entry.get_param("name", header="content-disposition")
        fields[name] = f"{len(value)} bytes" if entry.get_filename() else value.decode()
    return fields


def _encoding(reply: Reply | None) -> dict[str, str]:
    return {"content-encoding": reply.encoding} if reply is not None and reply.encoding else {}


def _packer(reply: Reply | None) -> Any:
    if reply is None or not reply.encoding:
        return None
    return zlib.compressobj(wbits=31 if reply.encoding == "gzip" else 15)


def _error_body(status: int, code: str, message: str) -> Json:
    kind, usual, words = _ERRORS.get(status, ("server_error", "server_error", "Something went wrong."))
    return {"error": {"message": message or words, "type": kind, "param": None, "code": code or usual}}


def _model(body: Json, fallback: str = "gpt-4o-mini") -> str:
    """The snapshot that answers for the model asked for, as OpenAI names it."""
    return f"{body.get('model') or fallback}-2024-07-18"


# ----------------------------------------------------------------------------------------------- chat completions


def _chat_head(body: Json, kind: str) -> Json:
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": CREATED,
        "model": _model(body),
        "service_tier": "default",
        "system_fingerprint": "fp_1",
    }


def _chat(body: Json, reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": reply.text or None, "refusal": None, "annotations": []}
    if reply.calls:
        message["tool_calls"] = [_chat_call(call) for call in reply.calls]
        message["content"] = None
    choices = [
        {"index": index, "message": message, "logprobs": None, "finish_reason": reply.reason}
        for index in range(body.get("n") or 1)
    ]
    return {**_chat_head(body, "chat.completion"), "choices": choices, "usage": reply.tokens.chat()}


def _chat_call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def _reports(body: Json, reply: Reply) -> bool:
    asked = (body.get("stream_options") or {}).get("include_usage")
    return reply.usage == "always" or (reply.usage == "asked" and bool(asked))


def _chat_events(body: Json, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    head = _chat_head(body, "chat.completion.chunk")
    reports = _reports(body, reply)
    if reports:
        head["usage"] = None

    def chunk(delta: Json, finish: str | None = None) -> tuple[str, Json]:
        choices = [
            {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
            for index in range(body.get("n") or 1)
        ]
        return "", {**head, "choices": choices}

    yield chunk({"role": "assistant", "content": "" if not reply.calls else None, "refusal": None})
    if reply.calls:
        for index, call in enumerate(reply.calls):
            arguments = json.dumps(call.arguments)
            half = len(arguments) // 2
            function: Json = {"name": call.name, "arguments": ""}
            yield chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
            for piece in (arguments[:half], arguments[half:]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    else:
        for word in reply.words:
            yield chunk({"content": word})
    yield chunk({}, reply.reason)
    if reports:
        yield "", {**head, "choices": [], "usage": reply.tokens.chat()}
    yield "", "[DONE]"


# ----------------------------------------------------------------------------------------------- completions


def _prompts(body: Json) -> int:
    prompt = body.get("prompt")
    return len(prompt) if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int) else 1


def _text(body: Json, reply: Reply) -> Json:
    choices = [
        {"index": index, "text": reply.text, "logprobs": None, "finish_reason": reply.reason}
        for index in range(_prompts(body))
    ]
    head = {"id": "cmpl-1", "object": "text_completion", "created": CREATED, "model": body.get("model")}
    return {**head, "choices": choices, "usage": reply.tokens.chat()}


def _text_events(body: Json, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    head: Json = {"id": "cmpl-1", "object": "text_completion", "created": CREATED, "model": body.get("model")}
    for index in range(_prompts(body)):
        for word in reply.words:
            yield "", {**head, "choices": [{"index": index, "text": word, "logprobs": None, "finish_reason": None}]}
        yield "", {**head, "choices": [{"index": index, "text": "", "logprobs": None, "finish_reason": reply.reason}]}
    if _reports(body, reply):
        yield "", {**head, "choices": [], "usage": reply.tokens.chat()}
    yield "", "[DONE]"


# ----------------------------------------------------------------------------------------------- responses


def _response(body: Json, reply: Reply) -> Json:
    output = [_function_call(index, call) for index, call in enumerate(reply.calls)]
    if not reply.calls:
        part: Json = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        output = [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}]
    if "compact" in body:
        output = [{"id": "cmp_1", "type": "compaction", "encrypted_content": "x"}]
    cut_short = reply.finish == "length"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": CREATED,
        "status": "incomplete" if cut_short else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": _model(body),
        "output": output,
        "parallel_tool_calls": True,
        "service_tier": "default",
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": reply.tokens.responses(),
    }


def _function_call(index: int, call: Call) -> Json:
    return {
        "id": f"fc_{index}",
        "type": "function_call",
        "status": "completed",
        "call_id": call.id,
        "name": call.name,
        "arguments": json.dumps(call.arguments),
    }


def _response_events(body: Json, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    whole = _response(body, reply)
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    sent = 0

    def event(kind: str, **data: Any) -> tuple[str, Json]:
        nonlocal sent
        sent += 1
        return kind, {"type": kind, "sequence_number": sent - 1, **data}

    yield event("response.created", response=started)
    yield event("response.in_progress", response=started)
    for index, item in enumerate(whole["output"]):
        at: Json = {"output_index": index}
        said: Json = {**at, "item_id": item["id"]}
        if item["type"] == "function_call":
            yield event("response.output_item.added", **at, item={**item, "status": "in_progress", "arguments": ""})
            yield event("response.function_call_arguments.delta", **said, delta=item["arguments"])
            yield event("response.function_call_arguments.done", **said, arguments=item["arguments"], name=item["name"])
        else:
            part = item["content"][0]
            said["content_index"] = 0
            yield event("response.output_item.added", **at, item={**item, "status": "in_progress", "content": []})
            yield event("response.content_part.added", **said, part={**part, "text": ""})
            for word in reply.words:
                yield event("response.output_text.delta", **said, delta=word, logprobs=[])
            yield event("response.output_text.done", **said, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **said, part=part)
        yield event("response.output_item.done", **at, item=item)
    last = "incomplete" if whole["status"] == "incomplete" else "completed"
    yield event(f"response.{last}", response=whole)


# ----------------------------------------------------------------------------------------------- embeddings


def _embeddings(body: Json, reply: Reply) -> Json:
    given = body["input"]
    several = isinstance(given, list) and (not given or not isinstance(given[0], int))
    dimensions = body.get("dimensions") or 3
    vector: Any = [0.5 * (index + 1) for index in range(dimensions)]
    if body.get("encoding_format") == "base64":
        vector = base64.b64encode(struct.pack(f"<{dimensions}f", *vector)).decode()
    used = reply.tokens
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": vector}
            for index in range(len(given) if several else 1)
        ],
        "model": body.get("model"),
        "usage": {"prompt_tokens": used.input, "total_tokens": used.input},
    }


# ----------------------------------------------------------------------------------------------- decisions


def _decision(body: Json, reply: Reply) -> Json:
    answers = [
        {"name": question.get("name"), "type": "predicate", "probability": 0.9}
        for question in body.get("questions") or ()
    ]
    return {"answers": answers, "model": _model(body), "usage": reply.tokens.responses()}
