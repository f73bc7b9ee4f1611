"""The application sees no difference: the same calls with and without spanhook, also where spanhook itself breaks."""

import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from spanhook import Hooks, Operation, Settings
from spanhook.cli.conformance.libraries.openai_ways import CHAT, WAYS, Way, named, sync_client
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply, Tokens
from spanhook.diagnostics import internal
from spanhook.instrument.formats.openai import Deltas, ResponsesChunks
from spanhook.instrument.openai import paths
from spanhook.instrument.wire import BodyChunks
from spanhook.model import Adapter
from spanhook.testing import recorder
from tests.extractors import extractors, with_extractor
from tests.thinning import a_fifth


def looking() -> Hooks:
    """Hooks that look at everything and change nothing."""
    hooks = Hooks()

    @hooks.before("*")
    def before(op: Operation) -> None:
        assert op.request.messages is not None

    @hooks.after("*")
    def after(op: Operation) -> None:
        assert op.response.text is not None
        assert op.usage.total_tokens >= 0

    @hooks.on_error("*")
    def on_error(op: Operation) -> None:
        assert op.error is not None

    return hooks


OFTEN = ("chat create", "async chat stream", "chat raw stream")


def some_of(ways: list[Way]) -> list[Any]:
    """A way of each sort always; all the others, whose code is mostly the same, where slow tests are run."""
    return [way if way.name in OFTEN else pytest.param(way, marks=pytest.mark.slow) for way in ways]


def outcome(way: Way, url: str, **options: Any) -> Any:
    """What a way returns, or the exception it raises, as facts."""
    try:
        return way(url, **options)
    except Exception as error:
        cause = error.__cause__
        return {
            "type": type(error),
            "text": str(error),
            "cause": (type(cause), str(cause)) if cause is not None else None,
            "context": type(error.__context__),
            "status": getattr(error, "status_code", None),
            "code": getattr(error, "code", None),
            "body": getattr(error, "body", None),
        }


REPLIES: dict[str, Callable[[str], Reply]] = {
    "answered": lambda text: Reply(text, tokens=Tokens(cached=4, reasoning=2)),
    "tool calls": lambda text: Reply(text, calls=(Call("look_up", {"query": "x"}),)),
    "cut short": lambda text: Reply(text, finish="length"),
    "reporting": lambda text: Reply(text, usage="always"),
    "compressed": lambda text: Reply(text, encoding="gzip"),
    "400": lambda text: Reply(status=400),
    "401": lambda text: Reply(status=401),
    "429": lambda text: Reply(status=429),
    "500": lambda text: Reply(status=500),
    "cut": lambda text: Reply(text, cut=2),
    "no JSON that fits": lambda text: Reply(body={"what": "ever"}),
}


@pytest.mark.every_value
@pytest.mark.parametrize("way", a_fifth(WAYS), ids=named)
def test_same_results_types_and_errors(way: Way, server: OpenAIServer) -> None:
    _compare(way, looking(), server, ("answered", "429", "cut"))


@pytest.mark.every_value
@pytest.mark.parametrize("way", some_of(WAYS), ids=named)
@pytest.mark.parametrize("hooks", [looking(), Hooks()], ids=["hooks", "no hooks"])
def test_same_whatever_the_reply(way: Way, hooks: Hooks, server: OpenAIServer) -> None:
    _compare(way, hooks, server, tuple(REPLIES))


def _compare(way: Way, hooks: Hooks, server: OpenAIServer, sorts: tuple[str, ...]) -> None:
    replies = [REPLIES[sort](way.text) for sort in sorts]
    server.script(*replies, *replies)
    expected = [outcome(way, server.url) for _ in replies]
    with recorder(hooks) as seen:
        assert [outcome(way, server.url) for _ in replies] == expected
    assert len(seen.operations) == len(replies)
    first, second = server.requests[: len(replies)], server.requests[len(replies) :]
    for one, other in zip(first, second, strict=True):
        assert one.body == other.body
        assert one.path == other.path
        assert _sent(one.headers) == _sent(other.headers)


def _sent(headers: dict[str, str]) -> dict[str, str]:
    """Headers without those that the SDK makes up for each request."""
    return {name: value for name, value in headers.items() if "idempotency" not in name}


#: Who reads the bytes of a stream's HTTP response sees the usage that was asked for, and the chunk that it came in.
SAME = [way for way in WAYS if "stream response" not in way.name]


@pytest.mark.slow
@pytest.mark.parametrize("way", SAME, ids=named)
def test_same_with_content_captured_and_usage_asked_for(way: Way, server: OpenAIServer) -> None:
    server.script(way.text, way.text)
    expected = outcome(way, server.url)
    with recorder(looking(), settings=Settings(content="SPAN_AND_EVENT", stream_usage=True)):
        assert outcome(way, server.url) == expected


@pytest.mark.slow
@pytest.mark.parametrize("way", [way for way in WAYS if way.name in ("chat create", "async chat stream")], ids=named)
def test_same_timeout(way: Way, server: OpenAIServer) -> None:
    gate = threading.Event()
    server.reply = Reply(hold=gate)
    try:
        limits = httpx.Timeout(60.0, read=0.2)  # nothing but the answer may be late
        expected = outcome(way, server.url, timeout=limits)
        with recorder(looking()) as seen:
            assert outcome(way, server.url, timeout=limits) == expected
    finally:
        gate.set()
    assert "timed out" in expected["text"]
    assert [op.status for op in seen.operations] == ["error"]


@pytest.mark.slow
def test_same_refusal_to_connect() -> None:
    for way in WAYS:
        expected = outcome(way, "http://127.0.0.1:1/v1")
        with recorder():
            assert outcome(way, "http://127.0.0.1:1/v1") == expected


def test_same_mistakes_of_the_application(server: OpenAIServer) -> None:
    def mistakes() -> list[Any]:
        found: list[Any] = []
        with sync_client(server.url) as client:
            for call in (
                lambda: client.chat.completions.create(model="x"),  # pyright: ignore[reportCallIssue, reportArgumentType]
                lambda: client.chat.completions.create(**CHAT, nonsense=1),  # pyright: ignore[reportCallIssue]
                lambda: client.chat.completions.create(model="x", messages=[object()]),  # pyright: ignore[reportArgumentType]
                lambda: client.post("/chat/completions", cast_to=dict[str, Any], body=object()),
            ):
                try:
                    call()
                except Exception as error:
                    found.append((type(error), str(error).partition(" at 0x")[0]))
        return found

    expected = mistakes()
    assert len(expected) == 4
    with recorder(looking()):
        assert mistakes() == expected


# ----------------------------------------------------------------------------------------------- faults


class Fault(Exception):
    """Raised by code of ours on purpose."""


def broken(*_args: Any, **_kwargs: Any) -> Any:
    raise Fault


EXTRACTORS = sorted({name for adapter in set(paths.ADAPTERS.values()) for name in extractors(adapter)})


def test_every_extractor_is_known() -> None:
    """A new function of an adapter must be listed here, and so be made to raise."""
    assert set(EXTRACTORS) == {
        "editing.answer",
        "editing.bare_model",
        "editing.native_error",
        "editing.prepare",
        "editing.repeat",
        "editing.rewrite",
        "nesting.carries",
        "reading.error_type",
        "reading.failure",
        "reading.message",
        "reading.output",
        "reading.request",
        "reading.response",
        "start",
        "streaming.answer_chunks",
        "streaming.body",
        "streaming.chunks",
        "streaming.stream_of",
        "watch",
    }


#: What a fault is tried with, beside an answer that comes whole.
ALSO = {
    "editing.repeat": Reply(status=400),
    "reading.error_type": Reply(status=429),
    "reading.failure": Reply("no JSON"),
    "reading.response": Reply(cut=2),
    "streaming.chunks": Reply(cut=2),
    "streaming.body": Reply(cut=2),
}


@pytest.mark.every_value
@pytest.mark.parametrize("way", some_of(WAYS), ids=named)
def test_every_extractor_made_to_raise(way: Way, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Reply(way.text)
    server.script(whole, *ALSO.values())
    expected = {reply: outcome(way, server.url) for reply in (whole, *ALSO.values())}
    for extractor in EXTRACTORS:
        for reply in {whole, ALSO.get(extractor, whole)}:
            server.script(reply)
            for path, adapter in list(paths.ADAPTERS.items()):
                if extractor in extractors(adapter):
                    monkeypatch.setitem(paths.ADAPTERS, path, with_extractor(adapter, extractor, broken))
            with recorder(settings=Settings(stream_usage=extractor == "editing.prepare")) as seen:
                internal.fatal = False
                assert outcome(way, server.url) == expected[reply], extractor
                internal.fatal = True
            monkeypatch.undo()
            assert len(seen.operations) == 1, extractor
    internal.renew()


@pytest.mark.every_value
@pytest.mark.parametrize("way", some_of([way for way in WAYS if way.streamed or way.raw]), ids=named)
@pytest.mark.parametrize("method", ["add", "response", "result", "complete"])
def test_every_adder_made_to_raise(
    way: Way, method: str, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reply in (Reply(way.text), Reply(way.text, cut=2)):
        server.script(reply, reply)
        expected = outcome(way, server.url)
        for adder in (Deltas, *Deltas.__subclasses__(), ResponsesChunks, BodyChunks):
            if hasattr(adder, method):
                monkeypatch.setattr(adder, method, property(broken) if method == "complete" else broken)
        with recorder(looking(), settings=Settings(content="SPAN_ONLY")) as seen:
            internal.fatal = False
            assert outcome(way, server.url) == expected
            internal.fatal = True
        monkeypatch.undo()
        assert len(seen.operations) == 1
    internal.renew()


@pytest.mark.parametrize("way", some_of(WAYS), ids=named)
def test_a_call_that_cannot_be_told_apart_is_gated_all_the_same(
    way: Way, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(dict[str, Adapter]):
        get = broken

    server.script(way.text, way.text)
    expected = outcome(way, server.url)
    monkeypatch.setattr(paths, "ADAPTERS", Broken())
    with recorder() as seen:
        internal.fatal = False
        assert outcome(way, server.url) == expected
        internal.fatal = True
    assert [op.kind for op in seen.operations] == ["llm.call"]
    internal.renew()
