"""What the loopback server is told to say: text, tool calls, tokens used, errors, and how it is sent."""

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
        events: The same of a stream of Anthropic's.
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
    events: tuple[Json, ...] = ()
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


def error_body(status: int, code: str, message: str) -> Json:
    kind, usual, words = _ERRORS.get(status, ("server_error", "server_error", "Something went wrong."))
    return {"error": {"message": message or words, "type": kind, "param": None, "code": code or usual}}
