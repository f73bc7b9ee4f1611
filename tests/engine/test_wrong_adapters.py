"""Adapters that are wrong: the application gets what its call gives, and whoever reads the log learns what to mend."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from spanhook import HookError, Hooks, Operation, Reject
from spanhook.concurrency import reaper
from spanhook.diagnostics import internal
from spanhook.engine import call
from spanhook.model import Adapter, Editing, Point, Reading, Streaming, Usage
from spanhook.testing import Recorder, recorder


class Chunks:
    """Adds up the chunks of a stream."""

    keep = False
    complete = False

    def add(self, chunk: Any) -> bool:
        return True

    def response(self) -> tuple[dict[str, Any], Usage | None]:
        return {}, None

    def result(self) -> Any:
        return ""


class Silent(Chunks):
    def add(self, chunk: Any) -> Any: ...


class Broken(Chunks):
    def response(self) -> Any:
        raise KeyError("field")


def adapter(**parts: Any) -> Adapter:
    return Adapter(kind="llm.call", layer="openai", start=lambda *_: {"gen_ai.request.model": "m"}, **parts)


def streaming(chunks: type[Chunks]) -> Adapter:
    return adapter(streaming=Streaming(chunks=lambda *_: chunks(), stream_of=lambda _: "sync"))


@pytest.fixture
def in_production() -> Iterator[Recorder]:
    with recorder() as seen:
        internal.fatal = False
        yield seen


@pytest.mark.every_value
@pytest.mark.parametrize(
    "told",
    [
        pytest.param(({}, {"input_tokens": 3}), id="usage"),
        pytest.param((["a"], None), id="attributes"),
        pytest.param(None, id="nothing"),
        pytest.param("ab", id="text"),
    ],
)
def test_what_is_no_report_does_not_reach_the_application(told: Any, in_production: Recorder) -> None:
    reads = adapter(reading=Reading(response=lambda _: told, failure=lambda *_: told))
    before = internal.counts["extract.response"], internal.counts["extract.failure"]
    assert call(reads, lambda: "an answer", None, (), {}) == "an answer"
    with pytest.raises(OSError, match="away"):
        call(reads, fails, None, (), {})
    assert (internal.counts["extract.response"], internal.counts["extract.failure"]) == (before[0] + 1, before[1] + 1)
    assert [op.status for op in in_production.operations] == ["success", "error"]


def fails() -> None:
    raise OSError("away")


def test_chunks_about_which_nothing_is_said_pass() -> None:
    with recorder():
        assert list(call(streaming(Silent), lambda: iter("abc"), None, (), {})) == ["a", "b", "c"]


def test_an_error_on_the_reapers_thread_is_raised_there_and_the_thread_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda told: raised.append(told.exc_value))
    with recorder():
        next(call(streaming(Broken), lambda: iter("abc"), None, (), {}))
    assert [repr(error) for error in raised] == ["KeyError('field')"]
    with recorder() as seen:
        next(call(streaming(Chunks), lambda: iter("abc"), None, (), {}))
        assert reaper.drain(10.0)
    assert [op.status for op in seen.operations] == ["abandoned"]


def wrong(*_: Any) -> Any:
    return {}["missing"]


def _rewrites(op: Operation) -> None:
    op.replace(model="other")


def _answers(op: Operation) -> None:
    op.respond("x")


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("editing", "hook", "said"),
    [
        pytest.param(
            Editing(takes=frozenset(("model",)), rewrite=wrong),
            _rewrites,
            "openai could not rewrite the call: KeyError: 'missing'",
            id="rewrite raises",
        ),
        pytest.param(
            Editing(takes=frozenset(("model",)), rewrite=lambda *_: None),  # type: ignore[arg-type, return-value]
            _rewrites,
            "openai could not rewrite the call: its rewrite returned no arguments and keywords",
            id="rewrite returns nothing",
        ),
        pytest.param(
            Editing(answer=wrong), _answers, "cannot answer llm.call with str: KeyError: 'missing'", id="answer raises"
        ),
    ],
)
def test_an_adapter_that_fails_to_edit_is_named(editing: Editing, hook: Any, said: str) -> None:
    hooks = Hooks()
    hooks.before("llm.call", fail_mode="closed")(hook)
    with recorder(hooks), pytest.raises(Reject) as refused:
        call(adapter(editing=editing), lambda: "made", None, (), {})
    assert isinstance(refused.value.__cause__, HookError)
    assert said in str(refused.value.__cause__)
    if "KeyError" in said:
        assert isinstance(refused.value.__cause__.__cause__, KeyError)


def test_unknown_kinds_and_modes_are_refused_where_they_are_written() -> None:
    with pytest.raises(ValueError, match=r"an adapter of openai has the unknown kind 'llm\.cal'"):
        Adapter(kind="llm.cal", layer="openai", start=lambda *_: {})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the point f has the unknown mode 'synchronous'; expected one of sync, async"):
        Point(module="m", name="f", adapter="m:A", mode="synchronous")
