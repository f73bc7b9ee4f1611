"""Replies of the loopback server: text, tool calls, usage, errors, and how they are sent."""

import threading
from dataclasses import dataclass, field
from typing import Any

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
    """The reported usage. Cached tokens are part of the input, reasoning tokens part of the output.

    Any value is allowed, because compatible servers report odd ones.
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
        """The form of chat completions and completions."""
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
        """The form of the Responses API."""
        return {
            "input_tokens": self.input,
            "input_tokens_details": {"cached_tokens": self.cached, "cache_write_tokens": self.written},
            "output_tokens": self.output,
            "output_tokens_details": {"reasoning_tokens": self.reasoning},
            "total_tokens": self.total,
        }


@dataclass(frozen=True, eq=False)
class Reply:
    """The reply to a request.

    Attributes:
        text: The model's text; a stream sends it word by word.
        pieces: How a stream splits the text, if not by words.
        calls: Its tool calls.
        items: The output items of a response, instead of text and calls.
        finish: Its finish reason; ``stop`` or ``tool_calls`` unless given.
        tokens: The reported usage.
        status: 200, or an error status.
        code, message: The error's, in OpenAI's form.
        cut: Close the connection after this many stream events, or in the middle of a JSON body.
        gate: Wait for it before each stream event except the first.
        hold: Wait for it before answering at all.
        usage: Whether a stream reports usage: on request, always, or never.
        running: A stream that reports usage does so several times, as a running total: as vLLM and Fireworks do in
            OpenAI's format, and Anthropic in several ``message_delta``.
        body: Sent unchanged instead of all this.
        events: Sent unchanged as an Anthropic stream.
        encoding: ``gzip`` or ``deflate`` the body.
        headers: Additional headers.
    """

    text: str = "hello there friend"
    pieces: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    items: tuple[Json, ...] = ()
    finish: str = ""
    tokens: Tokens = Tokens()
    status: int = 200
    code: str = ""
    message: str = ""
    cut: int | None = None
    gate: threading.Event | None = None
    hold: threading.Event | None = None
    usage: str = "asked"
    running: bool = False
    body: Json | None = None
    events: tuple[Json, ...] = ()
    encoding: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def reason(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")

    @property
    def words(self) -> list[str]:
        if self.pieces:
            return list(self.pieces)
        return [word if index == 0 else f" {word}" for index, word in enumerate(self.text.split(" "))]


_ERRORS = {
    400: ("invalid_request_error", "invalid_value", "Invalid value for 'messages'."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: test."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for gpt-4o-mini."),
    500: ("server_error", "server_error", "The server had an error while processing your request."),
}


def error(status: int, **more: Any) -> Reply:
    """An error reply in OpenAI's form."""
    return Reply(status=status, **more)


def error_body(status: int, code: str, message: str) -> Json:
    kind, usual, words = _ERRORS.get(status, ("server_error", "server_error", "Something went wrong."))
    return {"error": {"message": message or words, "type": kind, "param": None, "code": code or usual}}
