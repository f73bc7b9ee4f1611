"""Every way of asking OpenAI for something through its SDK, each reduced to facts that can be compared."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI
from pydantic import BaseModel

from spanhook.conformance.loops import run
from spanhook.semconv import Kind

MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}]
CHAT: dict[str, Any] = {"model": "gpt-4o-mini", "messages": MESSAGES}
RESPONSES: dict[str, Any] = {"model": "gpt-4o-mini", "input": "Say hello.", "instructions": "Be brief."}
EMBEDDINGS: dict[str, Any] = {"model": "text-embedding-3-small", "input": ["one", "two"]}
DECISIONS: dict[str, Any] = {
    "model": "gpt-6-luna",
    "input": "Say hello.",
    "questions": [{"type": "predicate", "name": "polite", "instructions": "It is polite."}],
}
TEXT: dict[str, Any] = {"model": "gpt-3.5-turbo-instruct", "prompt": "Say hello."}


class Answer(BaseModel):
    """What structured outputs are parsed into."""

    greeting: str


def facts(value: Any) -> Any:
    """A result as its type and content."""
    if isinstance(value, list):
        return [facts(one) for one in value]
    if isinstance(value, BaseModel):
        return type(value).__name__, value.model_dump(mode="json", warnings=False)
    return type(value).__name__, value


def raw_facts(raw: Any) -> Any:
    """A raw response without what differs from call to call."""
    return type(raw).__qualname__, raw.status_code, raw.headers["content-type"], raw.http_request.method


async def collected(stream: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in stream]


def sync_client(url: str, **options: Any) -> OpenAI:
    """A client that does not retry, and loads no certificates, which would take longer than a test."""
    given: dict[str, Any] = {"http_client": DefaultHttpxClient(verify=False), "max_retries": 0, **options}
    return OpenAI(base_url=url, api_key="test", **given)


def async_client(url: str, **options: Any) -> AsyncOpenAI:
    """The same for ``await``."""
    given: dict[str, Any] = {"http_client": DefaultAsyncHttpxClient(verify=False), "max_retries": 0, **options}
    return AsyncOpenAI(base_url=url, api_key="test", **given)


@dataclass(frozen=True)
class Way:
    """One way of asking.

    Attributes:
        name: Which API, then how.
        kind: The kind of operation it makes.
        ask: Asks with a client and returns facts; async ways return a coroutine.
        streamed: Whether what comes back is a stream of events.
        raw: Whether the caller gets the HTTP response.
        text: What the model must say for it to succeed.
    """

    name: str
    kind: Kind
    ask: Callable[[Any], Any]
    streamed: bool = False
    raw: bool = False
    text: str = "hello there friend"

    @property
    def is_async(self) -> bool:
        return self.name.startswith("async ")

    def __call__(self, url: str, **options: Any) -> Any:
        """Ask once, with a client of its own."""
        if not self.is_async:
            with sync_client(url, **options) as client:
                return self.ask(client)

        async def main() -> Any:
            async with async_client(url, **options) as client:
                return await self.ask(client)

        return run(main())


def _raw(raw: Any) -> Any:
    return raw_facts(raw), facts(raw.parse())


def _raw_stream(raw: Any) -> Any:
    return raw_facts(raw), facts(list(raw.parse()))


async def _raw_astream(raw: Any) -> Any:
    return raw_facts(raw), facts(await collected(raw.parse()))


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


def _chat(client: Any) -> Any:
    return client.chat.completions


def _ways() -> list[Way]:
    found: list[Way] = []
    apis: tuple[tuple[str, Callable[[Any], Any], dict[str, Any], str], ...] = (
        ("chat", _chat, CHAT, "get_final_completion"),
        ("responses", lambda client: client.responses, RESPONSES, "get_final_response"),
        ("text", lambda client: client.completions, TEXT, ""),
        ("embeddings", lambda client: client.embeddings, EMBEDDINGS, ""),
    )
    for name, api, given, final in apis:
        found.extend(_of(name, api, given, final))
    if hasattr(OpenAI, "decisions"):  # version 1 has none
        found.extend(_of("decisions", lambda client: client.decisions, DECISIONS, ""))
    return found


def _of(name: str, api: Callable[[Any], Any], given: dict[str, Any], final: str) -> list[Way]:
    kind: Kind = "embeddings.create" if name == "embeddings" else "llm.call"
    found: list[Way] = []

    def add(how: str, ask: Callable[[Any], Any], **more: Any) -> None:
        prefix = f"async {name}" if how.startswith("a ") else name
        found.append(Way(f"{prefix} {how.removeprefix('a ')}".replace("  ", " "), kind, ask, **more))

    async def asked(awaitable: Any) -> Any:
        return facts(await awaitable)

    async def asked_raw(awaitable: Any) -> Any:
        return _raw(await awaitable)

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
    if name in ("decisions", "embeddings"):
        return found

    streamed: Any = {**given, "stream": True}

    async def asked_stream(awaitable: Any) -> Any:
        return facts(await collected(await awaitable))

    async def asked_raw_stream(awaitable: Any) -> Any:
        return await _raw_astream(await awaitable)

    add("stream", lambda client: facts(list(api(client).create(**streamed))), streamed=True)
    add("a stream", lambda client: asked_stream(api(client).create(**streamed)), streamed=True)
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
    shape = {"response_format" if name == "chat" else "text_format": Answer}
    said = '{"greeting": "hello"}'
    add("parse", lambda client: facts(api(client).parse(**given, **shape)), text=said)
    add("a parse", lambda client: asked(api(client).parse(**given, **shape)), text=said)
    add(
        "parsed manager", lambda client: _managed(api(client).stream(**given, **shape), final), streamed=True, text=said
    )
    add("raw parse", lambda client: _raw(api(client).with_raw_response.parse(**given, **shape)), raw=True, text=said)
    return found


async def _joined(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join(await collected(pieces))


WAYS = _ways()


def named(way: Way) -> str:
    """The name of a way in test ids."""
    return way.name.replace(" ", "_")
