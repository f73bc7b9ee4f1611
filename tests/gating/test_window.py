"""Hooks that see streamed text before it goes out: what they may say, in which order, and what is refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from spanhook import ConfigurationError, Hook, HookError, Hooks, Operation, Reject, operation
from spanhook.gating import TextFilter
from spanhook.testing import Recorder, recorder


class Shouting(Hook):
    """Rewrites one word by another."""

    kinds = ("llm.call",)
    stream = "window"
    window = 8
    fail_mode = "closed"

    def __init__(self, old: str = "hello", new: str = "HELLO", **settings: Any) -> None:
        self._old, self._new = old, new
        for name, value in settings.items():
            setattr(self, name, value)

    def text(self, op: Operation, text: str) -> str:
        return text.replace(self._old, self._new)

    def after(self, op: Operation) -> None:
        said = self._new.join(op.response.text.split(self._old))
        if said != op.response.text:
            op.respond(said)


def streamed(hooks: Hooks, chunks: Any) -> tuple[list[Any], Recorder]:
    with recorder(hooks) as seen, operation("llm.call", "m") as op:
        return list(op.stream(iter(chunks))), seen


def decided(seen: Recorder) -> list[tuple[str, str, str]]:
    return [(one.hook, one.decision, one.reason) for one in seen.operations[0].decisions]


def test_the_rewritten_text_is_what_everybody_sees() -> None:
    chunks, seen = streamed(Hooks(Shouting()), ["say hel", "lo and ", "again h", "ello."])
    assert "".join(chunks) == "say HELLO and again HELLO."
    assert chunks[0] == ""
    assert seen.operations[0].response.text == "say HELLO and again HELLO."
    assert decided(seen) == [("Shouting", "replace", "rewrote streamed text")]
    assert seen.operations[0].decisions[0].event == "llm.call.post"


def test_text_that_nobody_rewrites_is_no_decision() -> None:
    chunks, seen = streamed(Hooks(Shouting()), ["nothing ", "to see"])
    assert "".join(chunks) == "nothing to see"
    assert decided(seen) == []


def test_hooks_see_what_those_before_them_let_out() -> None:
    hooks = Hooks(Shouting("HELLO", "[1]", name="second", priority=60), Shouting(name="first", priority=50))
    chunks, seen = streamed(hooks, ["hel", "lo the", "re and he", "llo"])
    assert "".join(chunks) == "[1] there and [1]"
    assert [hook for hook, _, _ in decided(seen)] == ["first", "second"]


def test_a_hook_that_holds_streams_back_wins() -> None:
    whole: list[str] = []

    class Whole(Hook):
        kinds = ("llm.call",)
        stream = "buffer"
        fail_mode = "closed"

        def after(self, op: Operation) -> None:
            whole.append(op.response.text)

    chunks, _ = streamed(Hooks(Shouting(priority=50), Whole()), ["hel", "lo"])
    assert ("".join(chunks), whole) == ("HELLO", ["HELLO"])


def test_filters_narrow_which_streams_are_shown() -> None:
    chunks, _ = streamed(Hooks(Shouting(names={"other"})), ["hel", "lo"])
    assert chunks == ["hel", "lo"]
    chunks, _ = streamed(Hooks(Shouting(when=lambda op: op.name == "other")), ["hel", "lo"])
    assert chunks == ["hel", "lo"]


def test_channels_are_apart() -> None:
    said = [{"text": "hel", "thought": "hel"}, {"text": "l", "thought": "lo"}, {"text": "o"}]
    chunks, _ = streamed(Hooks(Shouting()), said)
    assert "".join(chunk.get("text", "") for chunk in chunks) == "HELLO"
    assert "".join(chunk.get("thought", "") for chunk in chunks) == "HELLO"
    assert said[0] == {"text": "hel", "thought": "hel"}, "the application's own chunks stay as they are"


def test_what_no_text_can_be_read_from_ends_the_stream(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Reject, match="hook 'Shouting' failed: HookError"):
        streamed(Hooks(Shouting()), [object()])
    assert "no text can be read from object; use stream='buffer'" in caplog.text


class Failing(Shouting):
    def text(self, op: Operation, text: str) -> str:
        raise KeyError("broken")


class Silent(Shouting):
    def text(self, op: Operation, text: str) -> str:
        return None  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("hook", [Failing(), Silent()], ids=["raises", "returns None"])
def test_a_filter_that_fails_refuses_the_rest(hook: Hook, caplog: pytest.LogCaptureFixture) -> None:
    closed: list[bool] = []

    def words() -> Iterator[str]:
        try:
            yield "hello "
            yield "there, and again"
        finally:
            closed.append(True)

    got: list[str] = []
    hooks = Hooks(hook)
    with recorder(hooks) as seen, pytest.raises(Reject) as refused, operation("llm.call", "m") as op:
        got.extend(op.stream(words()))
    assert (refused.value.status_code, got, closed) == (500, [], [True])
    assert seen.operations[0].status == "rejected"
    assert [decision for _, decision, _ in decided(seen)] == ["error"]
    assert "failed" in caplog.text


def test_a_refusal_ends_the_stream_and_closes_it() -> None:
    class Refusing(Shouting):
        def text(self, op: Operation, text: str) -> str:
            if "hello" in text:
                raise Reject("no greetings", status_code=422)
            return text

    got: list[str] = []
    with recorder(Hooks(Refusing())) as seen, pytest.raises(Reject, match="no greetings"), operation("llm.call") as op:
        got.extend(op.stream(iter(["well, I say ", "he", "llo", " there"])))
    assert "".join(got) == "well, "
    assert decided(seen) == [("Refusing", "reject", "no greetings")]


def test_a_consumer_that_stops_early_gets_no_more_and_telemetry_what_would_have_gone_out() -> None:
    with recorder(Hooks(Shouting())) as seen, operation("llm.call", "m") as op:
        stream: Any = op.stream(chunk for chunk in ["nothing yet, hello", " and more"])
        assert next(stream) == "nothing "
        stream.close()
    assert seen.operations[0].status == "abandoned"
    assert seen.operations[0].response.text == "nothing yet, HELLO"


def test_a_hook_may_keep_what_it_likes_while_text_passes_but_not_answer() -> None:
    class Counting(Shouting):
        def text(self, op: Operation, text: str) -> str:
            op.state["seen"] = op.state.get("seen", 0) + 1
            with pytest.raises(HookError, match="a filter of streamed text only returns what may go out"):
                op.respond("never")
            return text

    _, seen = streamed(Hooks(Counting()), ["one ", "two"])
    assert seen.operations[0].state["seen"] == 3


class Upper:
    """A filter of its own."""

    reason = "shouted"

    def feed(self, text: str) -> str:
        return text.upper()

    def end(self) -> str:
        return "!"


def test_a_filter_of_ones_own_says_what_it_has_done() -> None:
    class Filtering(Shouting):
        window = 0

        def text_filter(self, op: Operation) -> TextFilter:
            return Upper()

    chunks, seen = streamed(Hooks(Filtering()), ["one ", "two"])
    assert chunks == ["ONE ", "TWO", "!"]
    assert decided(seen) == [("Filtering", "replace", "shouted")]


def test_a_filter_may_keep_what_nobody_reads() -> None:
    class Keeping(Upper):
        def unread(self) -> str:
            return "?"

    class Filtering(Shouting):
        window = 0

        def text_filter(self, op: Operation) -> TextFilter:
            return Keeping()

    with recorder(Hooks(Filtering())) as seen, operation("llm.call", "m") as op:
        stream: Any = op.stream(chunk for chunk in ["one ", "two"])
        assert next(stream) == "ONE "
        stream.close()
    assert seen.operations[0].response.text == "ONE ?"


def test_a_run_without_streams_is_for_after() -> None:
    with recorder(Hooks(Shouting())) as seen, operation("llm.call", "m") as op:
        assert op.call(lambda: "hello") == "HELLO"
    assert decided(seen) == [("Shouting", "replace", "replaced the result")]


# ------------------------------------------------------------------------------------------------- mistakes


class NoText(Hook):
    kinds = ("llm.call",)
    stream = "window"
    window = 8
    fail_mode = "closed"

    def after(self, op: Operation) -> None: ...


class NoAfter(Hook):
    kinds = ("llm.call",)
    stream = "window"
    window = 8
    fail_mode = "closed"

    def before(self, op: Operation) -> None: ...

    def text(self, op: Operation, text: str) -> str:
        return text


class Waiting(Shouting):
    async def text(self, op: Operation, text: str) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return text


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (NoText(), "it overrides neither text nor text_filter"),
        (NoAfter(), "it overrides neither after nor around, which decide about results that are not streamed"),
        (Waiting(), r"text\(\) must be a plain function, .*; to await something, use stream='buffer'"),
        (Shouting(window=0), "window=0, expected how many characters to hold back, from 1 to 32768"),
        (Shouting(window="9"), "window='9', expected how many characters"),
        (Shouting(window=True), "window=True, expected how many characters"),
        (Shouting(fail_mode=None), "stream='window' needs fail_mode='closed' or a priority below 100"),
        (Shouting(stream="buffer"), "window=8 has no effect without stream='window'"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_a_hook_that_would_not_see_text_is_refused(hook: Hook, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Hooks(hook)


def test_functions_cannot_have_windows() -> None:
    with pytest.raises(ConfigurationError, match=r"stream='window' is for classes; subclass Hook, and override text"):
        Hooks().after("llm.call", stream="window", fail_mode="closed")(lambda op: None)
