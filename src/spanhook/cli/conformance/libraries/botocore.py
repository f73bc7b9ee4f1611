"""What is gated at clients of AWS's SDK for Bedrock, against a server on loopback."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import botocore.session
from botocore.config import Config

from spanhook.cli.conformance.libraries.botocore_ways import (
    BODIES,
    CLAUDE,
    CONVERSE,
    EMBEDDING,
    NOVA,
    Ask,
    invocation,
    short,
    spoken,
)
from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.cli.conformance.servers.requests import Line, Seen
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated, Use


def _tokens(seen: Seen) -> int:
    """The usage that the server reports for a request."""
    if "titan-embed" in seen.path:
        return Tokens().input
    return Tokens().input + Tokens().output if seen.path.startswith("/model/") else 0


@cache
def server() -> BedrockServer:
    """The single server of a process."""
    return BedrockServer().__enter__()


def counting_into(body: Body) -> str:
    """An endpoint of the single server, whose requests count as runs of ``body``."""
    return server().url_for(Line(body, _tokens))


@cache
def _session() -> Any:
    """One session, which makes the same exceptions for all clients, and looks for no settings."""
    session: Any = botocore.session.Session()
    session.set_config_variable("credentials_file", "/nonexistent")
    session.set_config_variable("config_file", "/nonexistent")
    return session


KEYS: dict[str, Any] = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}


def client(url: str, service: str = "bedrock-runtime", **settings: Any) -> Any:
    """A client with keys of its own, so that it looks for none."""
    config = Config(**{"retries": {"total_max_attempts": 1}, **settings})
    return _session().create_client(service, endpoint_url=url, config=config, **KEYS)


@dataclass
class Clients:
    """One client, created before anything is instrumented."""

    sync: Any

    @classmethod
    def of(cls, body: Body) -> "Clients":
        return cls(client(counting_into(body)))


# ----------------------------------------------------------------------------------- ways


def _converse(made: Any) -> Any:
    return made.converse(**CONVERSE)["output"]["message"]


def _converse_stream(made: Any) -> str:
    return "".join(map(spoken, made.converse_stream(**CONVERSE)["stream"]))


def _again(made: Any) -> str:
    """The first event by one iterator, the others by another."""
    stream = made.converse_stream(**CONVERSE)["stream"]
    begun = spoken(next(iter(stream)))
    return begun + "".join(map(spoken, stream))


def _invoke(model: str) -> Ask:
    return lambda made: json.loads(made.invoke_model(**invocation(model))["body"].read())


def _lines(made: Any) -> list[Any]:
    return [json.loads(line) for line in made.invoke_model(**invocation(CLAUDE))["body"].iter_lines()]


def _pieces(made: Any) -> Any:
    return json.loads(b"".join(made.invoke_model(**invocation(NOVA))["body"].iter_chunks(7)))


def _invoke_stream(model: str) -> Ask:
    return lambda made: "".join(map(spoken, made.invoke_model_with_response_stream(**invocation(model))["body"]))


def _embed(made: Any) -> Any:
    return json.loads(made.invoke_model(**EMBEDDING)["body"].read())


def _use(ask: Ask) -> Use:
    return lambda clients: ask(clients.sync)


def _uses(ways: dict[str, Ask]) -> dict[str, Use]:
    return {name: _use(ask) for name, ask in ways.items()}


COUNTED = {"messages": CONVERSE["messages"]}
_HTTP: dict[str, Any] = {"asked": "Say hello.", "faults": OVER_HTTP, "slow": True}

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "bedrock converse",
        "llm.call",
        Clients.of,
        _uses({"converse": _converse, "stream": _converse_stream, "stream in parts": _again}),
        {"converse": lambda clients: lambda: clients.sync.converse(**CONVERSE)["output"]["message"]},
        said=Reply.text,
        opened={"stream": lambda clients: clients.sync.converse_stream(**CONVERSE)["stream"]},
        **_HTTP,
    ),
    Subject(
        "bedrock models",
        "llm.call",
        Clients.of,
        _uses(
            {short(model): _invoke(model) for model in BODIES}
            | {f"{short(model)} stream": _invoke_stream(model) for model in BODIES}
            | {"lines": _lines, "pieces": _pieces}
        ),
        {},
        said=Reply.text,
        opened={"stream": lambda clients: clients.sync.invoke_model_with_response_stream(**invocation(CLAUDE))["body"]},
        **_HTTP,
    ),
    Subject(
        "bedrock embeddings",
        "embeddings.create",
        Clients.of,
        {"invoke": _use(_embed)},
        {},
        faults=OVER_HTTP,
        slow=True,
    ),
)

UNGATED = (
    Ungated(
        "counting tokens",
        Clients.of,
        lambda clients: clients.sync.count_tokens(modelId=CLAUDE, input={"converse": COUNTED}),
    ),
    Ungated("batches, and agents and knowledge bases that AWS runs"),
    Ungated("requests that are signed and sent without a client"),
)
