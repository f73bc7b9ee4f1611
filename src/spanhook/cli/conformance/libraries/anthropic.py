"""What is gated at Anthropic's client, against a server on loopback."""

from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from anthropic import DEFAULT_CONNECTION_LIMITS, Anthropic, AsyncAnthropic, DefaultAsyncHttpxClient, DefaultHttpxClient

from spanhook.cli.conformance.libraries.anthropic_tools import SAID, TOOL_WAYS, Tooled
from spanhook.cli.conformance.libraries.anthropic_ways import MESSAGES, MODEL, WAYS
from spanhook.cli.conformance.libraries.stainless_ways import Way
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated, Use

_ONCE = type(DEFAULT_CONNECTION_LIMITS)(max_keepalive_connections=0)  # a connection is not reused on another event loop


def _tokens(seen: Seen) -> int:
    """The usage that the server reports for a request."""
    answers = seen.path.partition("?")[0] == "/messages"
    return Tokens().input + Tokens().output if answers else 0


@cache
def _server() -> AnthropicServer:
    return AnthropicServer().__enter__()


def counting_into(body: Body) -> str:
    """A base URL of the single server, whose requests count as runs of ``body``."""
    return _server().url_for(Line(body, _tokens))


@dataclass
class Clients:
    """One client of each kind, created before anything is instrumented."""

    sync: Anthropic
    later: AsyncAnthropic

    @classmethod
    def of(cls, body: Body) -> "Clients":
        given: dict[str, Any] = {"base_url": counting_into(body), "api_key": "test", "max_retries": 0}
        return cls(
            Anthropic(http_client=DefaultHttpxClient(verify=NO_CERTIFICATES, limits=_ONCE), **given),
            AsyncAnthropic(http_client=DefaultAsyncHttpxClient(verify=NO_CERTIFICATES, limits=_ONCE), **given),
        )


def _use(way: Way) -> Use:
    return lambda clients: way.ask(clients.later if way.is_async else clients.sync)


_HOWS = (
    "create",
    "stream",
    "stream response",
    "raw",
    "raw stream",
    "streaming lines",
    "streaming parsed",
    "manager",
    "text",
    "runner",
)


def _ways(api: str) -> dict[str, Use]:
    names = {f"{prefix}{api} {how}" for prefix in ("", "async ") for how in _HOWS}
    return {way.name.replace(f"{api} ", "", 1): _use(way) for way in WAYS if way.name in names}


def _opened(api: str) -> dict[str, Use]:
    """Both clients' streams, unread."""
    create, asked = attrgetter(f"{api}.create"), {**MESSAGES, "stream": True}
    return {
        "stream": lambda clients: create(clients.sync)(**asked),
        "async stream": lambda clients: create(clients.later)(**asked),
    }


def _bound(method: Any) -> Any:
    return lambda: method(**MESSAGES)


def _parsed(method: Any) -> Any:
    return lambda: method(**MESSAGES).parse()


_HTTP: dict[str, Any] = {"asked": "Say hello.", "faults": OVER_HTTP, "slow": True}

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "anthropic messages",
        "llm.call",
        Clients.of,
        _ways("messages"),
        {
            "create": lambda clients: _bound(clients.sync.messages.create),
            "acreate": lambda clients: _bound(clients.later.messages.create),
            "raw": lambda clients: _parsed(clients.sync.messages.with_raw_response.create),
        },
        said=Reply.text,
        opened=_opened("messages"),
        **_HTTP,
    ),
    Subject(
        "anthropic beta",
        "llm.call",
        Clients.of,
        _ways("beta"),
        {"create": lambda clients: _bound(clients.sync.beta.messages.create)},
        said=Reply.text,
        opened=_opened("beta.messages"),
        **_HTTP,
    ),
    Subject("anthropic batches", "llm.call", Clients.of, _ways("batches"), {}, faults=OVER_HTTP, slow=True),
)
MORE = (Subject("anthropic tools", "tool.execute", Tooled.of, TOOL_WAYS, {}, said=SAID, raises=False),)
"""What is refused to the model, not raised, so that only the command and the tests of the client call it."""

UNGATED = (
    Ungated(
        "counting tokens",
        Clients.of,
        lambda clients: clients.sync.messages.count_tokens(model=MODEL, messages=MESSAGES["messages"]),
    ),
    Ungated("reading what exists, such as batches", Clients.of, lambda clients: clients.sync.messages.batches.list()),
    Ungated("files and models", Clients.of, lambda clients: clients.sync.models.list()),
    Ungated(
        "its HTTP client, used directly",
        Clients.of,
        lambda clients: clients.sync._client.post(f"{clients.sync.base_url}v1/messages", json=MESSAGES),
    ),
    Ungated("agents that Anthropic runs, and their sessions"),
)
