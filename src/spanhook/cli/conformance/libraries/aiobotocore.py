"""What is gated at clients of aiobotocore for Bedrock, against a server on loopback."""

import importlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from spanhook.cli.conformance.libraries.botocore import KEYS, counting_into
from spanhook.cli.conformance.libraries.botocore_ways import (
    BODIES,
    CLAUDE,
    CONVERSE,
    EMBEDDING,
    NOVA,
    invocation,
    short,
    spoken,
)
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Subject, Ungated, Use

# It is in an environment of its own, and unknown where types are checked.
_CONFIG: Any = importlib.import_module("aiobotocore.config")
_SESSION: Any = importlib.import_module("aiobotocore.session")
Ask = Callable[[Any], Awaitable[Any]]


@cache
def _session() -> Any:
    """One session, which makes the same exceptions for all clients, and looks for no settings."""
    session: Any = _SESSION.AioSession()
    session.set_config_variable("credentials_file", "/nonexistent")
    session.set_config_variable("config_file", "/nonexistent")
    return session


def client(url: str, service: str = "bedrock-runtime", **settings: Any) -> Any:
    """A context manager with a client, which belongs to one event loop."""
    config = _CONFIG.AioConfig(**{"retries": {"total_max_attempts": 1}, **settings})
    return _session().create_client(service, endpoint_url=url, config=config, **KEYS)


@dataclass
class Clients:
    """An endpoint, of which each call makes a client."""

    url: str

    @classmethod
    def of(cls, body: Body) -> "Clients":
        return cls(counting_into(body))


async def _converse(made: Any) -> Any:
    return (await made.converse(**CONVERSE))["output"]["message"]


async def _converse_stream(made: Any) -> str:
    stream = (await made.converse_stream(**CONVERSE))["stream"]
    return "".join([spoken(event) async for event in stream])


async def _again(made: Any) -> str:
    """The first event by one iterator, the others by another."""
    stream = (await made.converse_stream(**CONVERSE))["stream"]
    begun = spoken(await anext(aiter(stream)))
    return begun + "".join([spoken(event) async for event in stream])


def _invoke(model: str) -> Ask:
    async def ask(made: Any) -> Any:
        return json.loads(await (await made.invoke_model(**invocation(model)))["body"].read())

    return ask


def _invoke_stream(model: str) -> Ask:
    async def ask(made: Any) -> Any:
        stream = (await made.invoke_model_with_response_stream(**invocation(model)))["body"]
        return "".join([spoken(event) async for event in stream])

    return ask


async def _pieces(made: Any) -> Any:
    body = (await made.invoke_model(**invocation(NOVA)))["body"]
    return json.loads(b"".join([piece async for piece in body.iter_chunks(7)]))


async def _within(made: Any) -> Any:
    async with (await made.invoke_model(**invocation(CLAUDE)))["body"] as body:
        return json.loads(await body.read())


async def _embed(made: Any) -> Any:
    return json.loads(await (await made.invoke_model(**EMBEDDING))["body"].read())


def _use(ask: Ask) -> Use:
    async def use(clients: Clients) -> Any:
        async with client(clients.url) as made:
            return await ask(made)

    return use


def _uses(ways: dict[str, Ask]) -> dict[str, Use]:
    return {name: _use(ask) for name, ask in ways.items()}


_HTTP: dict[str, Any] = {"asked": "Say hello.", "faults": OVER_HTTP, "slow": True}
_MODELS = (CLAUDE, NOVA, "meta.llama3-8b-instruct-v1:0")

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "aiobotocore converse",
        "llm.call",
        Clients.of,
        _uses({"converse": _converse, "stream": _converse_stream, "stream in parts": _again}),
        {},
        said=Reply.text,
        **_HTTP,
    ),
    Subject(
        "aiobotocore models",
        "llm.call",
        Clients.of,
        _uses(
            {short(model): _invoke(model) for model in BODIES if model in _MODELS}
            | {f"{short(model)} stream": _invoke_stream(model) for model in BODIES if model in _MODELS}
            | {"pieces": _pieces, "within": _within}
        ),
        {},
        said=Reply.text,
        **_HTTP,
    ),
    Subject(
        "aiobotocore embeddings",
        "embeddings.create",
        Clients.of,
        {"invoke": _use(_embed)},
        {},
        faults=OVER_HTTP,
        slow=True,
    ),
)

UNGATED = (Ungated("batches, and agents and knowledge bases that AWS runs"),)
