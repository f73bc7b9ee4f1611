"""Every way of calling a generated client, each reduced to comparable facts.

Knows no such client.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel

from spanhook.cli.conformance.loops import run
from spanhook.semconv import Kind

Clients = tuple[Callable[..., Any], Callable[..., Any]]


class Answer(BaseModel):
    """What structured outputs are parsed into."""

    greeting: str


def facts(value: Any) -> Any:
    """A result as its type and content."""
    if isinstance(value, list):
        return [facts(one) for one in cast("list[Any]", value)]
    if isinstance(value, BaseModel):
        return type(value).__name__, value.model_dump(mode="json", warnings=False)
    return type(value).__name__, value


def raw_facts(raw: Any) -> Any:
    """A raw response without what varies between calls."""
    return type(raw).__qualname__, raw.status_code, raw.headers["content-type"], raw.http_request.method


async def collected(stream: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in stream]


@dataclass(frozen=True)
class Way:
    """One way of calling.

    Attributes:
        name: The API, then the way.
        kind: The kind of operation it creates.
        ask: Makes the call with a client and returns facts; async ways return a coroutine.
        clients: Create a sync and an async client for the server at a URL.
        streamed: Whether the result is a stream of events.
        raw: Whether the caller gets the HTTP response.
        text: The text that the model must return for it to succeed.
    """

    name: str
    kind: Kind
    ask: Callable[[Any], Any]
    clients: Clients
    streamed: bool = False
    raw: bool = False
    text: str = "hello there friend"

    @property
    def is_async(self) -> bool:
        return self.name.startswith("async ")

    def __call__(self, url: str, **options: Any) -> Any:
        """Make the call once, with a new client."""
        if not self.is_async:
            with self.clients[0](url, **options) as client:
                return self.ask(client)

        async def main() -> Any:
            async with self.clients[1](url, **options) as client:
                return await self.ask(client)

        return run(main())


def _raw(raw: Any) -> Any:
    return raw_facts(raw), facts(raw.parse())


def _raw_stream(raw: Any) -> Any:
    return raw_facts(raw), facts(list(raw.parse()))


async def _parsed(raw: Any) -> Any:
    """The parsed content of a raw response; sync with older generators."""
    parsed = raw.parse()
    return await parsed if hasattr(parsed, "__await__") else parsed


def _managed(manager: Any, final: str) -> Any:
    with manager as stream:
        events = [event.type for event in stream]
        return events, facts(getattr(stream, final)())


async def _amanaged(manager: Any, final: str) -> Any:
    async with manager as stream:
        events = [event.type async for event in stream]
        return events, facts(await getattr(stream, final)())


def _streaming(manager: Any, read: Callable[[Any], Any]) -> Any:
    with manager as response:
        return raw_facts(response), facts(read(response))


async def _astreaming(manager: Any, read: Callable[[Any], Any]) -> Any:
    async with manager as response:
        return raw_facts(response), facts(await read(response))


async def _parsed_stream(response: Any) -> list[Any]:
    return await collected(await response.parse())


def ways_of(
    name: str,
    api: Callable[[Any], Any],
    given: dict[str, Any],
    clients: Clients,
    *,
    kind: Kind = "llm.call",
    streams: bool = True,
    final: str = "",
    shape: str = "",
) -> list[Way]:
    """Every way of calling one API.

    Args:
        name: The prefix of the ways' names.
        api: Gets the API from a client.
        given: The arguments.
        clients: Create a sync and an async client for the server at a URL.
        kind: The kind of operation it creates.
        streams: Whether it streams.
        final: The method that returns the complete result of a managed stream; empty if there are none.
        shape: The argument that gives the class to parse into.
    """
    found: list[Way] = []

    def add(how: str, ask: Callable[[Any], Any], **more: Any) -> None:
        prefix = f"async {name}" if how.startswith("a ") else name
        found.append(Way(f"{prefix} {how.removeprefix('a ')}".replace("  ", " "), kind, ask, clients, **more))

    async def asked(awaitable: Any) -> Any:
        return facts(await awaitable)

    async def asked_raw(awaitable: Any) -> Any:
        raw = await awaitable
        return raw_facts(raw), facts(await _parsed(raw))

    add("create", lambda client: facts(api(client).create(**given)))
    add("a create", lambda client: asked(api(client).create(**given)))
    add("raw", lambda client: _raw(api(client).with_raw_response.create(**given)), raw=True)
    add("a raw", lambda client: asked_raw(api(client).with_raw_response.create(**given)), raw=True)
    reads: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
        "parsed": (lambda response: response.parse(), lambda response: response.parse()),
        "json": (lambda response: response.json(), lambda response: response.json()),
        "bytes": (
            lambda response: b"".join(response.iter_bytes(7)),
            lambda response: _joined(response.iter_bytes(7)),
        ),
    }
    for read, (sync, later) in reads.items():
        add(
            f"streaming {read}",
            lambda client, sync=sync: _streaming(api(client).with_streaming_response.create(**given), sync),
            raw=True,
        )
        add(
            f"a streaming {read}",
            lambda client, later=later: _astreaming(api(client).with_streaming_response.create(**given), later),
            raw=True,
        )
    if not streams:
        return found

    streamed: Any = {**given, "stream": True}

    async def asked_stream(awaitable: Any) -> Any:
        return facts(await collected(await awaitable))

    async def asked_raw_stream(awaitable: Any) -> Any:
        raw = await awaitable
        return raw_facts(raw), facts(await collected(await _parsed(raw)))

    add("stream", lambda client: facts(list(api(client).create(**streamed))), streamed=True)
    add("a stream", lambda client: asked_stream(api(client).create(**streamed)), streamed=True)

    async def read_response(awaitable: Any) -> Any:
        return await (await awaitable).response.aread()

    add("stream response", lambda client: api(client).create(**streamed).response.read(), streamed=True)
    add("a stream response", lambda client: read_response(api(client).create(**streamed)), streamed=True)
    add(
        "raw stream",
        lambda client: _raw_stream(api(client).with_raw_response.create(**streamed)),
        streamed=True,
        raw=True,
    )
    add(
        "a raw stream",
        lambda client: asked_raw_stream(api(client).with_raw_response.create(**streamed)),
        streamed=True,
        raw=True,
    )
    add(
        "streaming stream",
        lambda client: _streaming(
            api(client).with_streaming_response.create(**streamed), lambda response: list(response.parse())
        ),
        streamed=True,
        raw=True,
    )
    add(
        "a streaming stream",
        lambda client: _astreaming(api(client).with_streaming_response.create(**streamed), _parsed_stream),
        streamed=True,
        raw=True,
    )
    add(
        "streaming lines",
        lambda client: _streaming(
            api(client).with_streaming_response.create(**streamed), lambda response: list(response.iter_lines())
        ),
        streamed=True,
        raw=True,
    )
    add(
        "a streaming lines",
        lambda client: _astreaming(
            api(client).with_streaming_response.create(**streamed), lambda response: collected(response.iter_lines())
        ),
        streamed=True,
        raw=True,
    )
    if not final:
        return found

    add("manager", lambda client: _managed(api(client).stream(**given), final), streamed=True)
    add("a manager", lambda client: _amanaged(api(client).stream(**given), final), streamed=True)
    shaped = {shape: Answer}
    said = '{"greeting": "hello"}'
    add("parse", lambda client: facts(api(client).parse(**given, **shaped)), text=said)
    add("a parse", lambda client: asked(api(client).parse(**given, **shaped)), text=said)
    add(
        "parsed manager",
        lambda client: _managed(api(client).stream(**given, **shaped), final),
        streamed=True,
        text=said,
    )
    add("raw parse", lambda client: _raw(api(client).with_raw_response.parse(**given, **shaped)), raw=True, text=said)
    return found


async def _joined(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join(await collected(pieces))


def named(way: Way) -> str:
    """The name of a way in test ids."""
    return way.name.replace(" ", "_")
