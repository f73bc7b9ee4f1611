"""Events are found however their bytes arrive, and only what changes is written anew."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook.instrument.formats.openai.texts import ChoiceTexts
from spanhook.instrument.wire import LINES, SERVER_SENT, Form, FrameTexts
from spanhook.instrument.wire.framing import Frames
from spanhook.model import Leaf

ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def chunk(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **more}


def texts(form: Form = SERVER_SENT) -> FrameTexts:
    return FrameTexts(ChoiceTexts(lambda like, value: value), form, "[DONE]")


def cut(form: Form, pieces: list[bytes]) -> list[bytes]:
    frames = Frames(form.end)
    found = [frame for piece in pieces for frame in frames.add(piece)]
    rest = frames.rest()
    return [*found, rest] if rest else found


@given(
    said=st.lists(st.text(max_size=5), max_size=6), end=ENDS, cuts=st.lists(st.integers(0, 400)), complete=st.booleans()
)
def test_events_are_the_same_however_their_bytes_arrive(
    said: list[str], end: bytes, cuts: list[int], complete: bool
) -> None:
    events = [b"event: x%sdata: %s%s%s" % (end, json.dumps(one).encode(), end, end) for one in said]
    whole = b": a comment%s%s" % (end, end) + b"".join(events)
    whole = whole if complete else whole.rstrip(b"\r\n")
    places = sorted({0, *(place for place in cuts if place < len(whole)), len(whole)})
    pieces = [whole[start:stop] for start, stop in pairwise(places)]
    found = cut(SERVER_SENT, pieces)
    assert b"".join(found) == whole
    read = [json.loads(data) for one in found if (data := SERVER_SENT.data_in(one))]
    assert read == said


@given(said=st.lists(st.text(max_size=5), max_size=6), size=st.integers(1, 9))
def test_lines_too(said: list[str], size: int) -> None:
    whole = b"".join(json.dumps({"said": one}).encode() + b"\n" for one in said)
    found = cut(LINES, [whole[start : start + size] for start in range(0, len(whole), size)])
    assert b"".join(found) == whole
    assert [json.loads(LINES.data_in(one))["said"] for one in found] == said


@pytest.mark.every_value
@pytest.mark.parametrize("form", [SERVER_SENT, LINES])
def test_an_event_that_does_not_change_is_the_same_bytes(form: Form) -> None:
    frame = form.with_data(b"data:\n\n", b'{"choices":  [{"delta": {"content": "caf\xc3\xa9"}}]}', "")
    (leaf,) = texts(form).read(frame).grows
    assert (leaf.text, texts(form).write(frame, {leaf.route: leaf.text})) == ("café", frame)
    assert json.loads(form.data_in(texts(form).write(frame, {leaf.route: "x"})))["choices"][0]["delta"] == {
        "content": "x"
    }


def test_all_else_in_an_event_stays() -> None:
    frame = b'id: 7\r\nevent: message\r\ndata: {"choices": [{"delta":\r\ndata: {"content": "a"}}]}\r\n\r\n'
    (leaf,) = texts().read(frame).grows
    made = texts().write(frame, {leaf.route: "b"})
    assert made == b'id: 7\r\nevent: message\r\ndata: {"choices": [{"delta": {"content": "b"}}]}\r\n\r\n'


def test_a_name_that_repeats_the_type_still_does() -> None:
    class Typed(ChoiceTexts):
        def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
            return {"type": "later", "text": text}

    frame = b'event: first\ndata: {"type": "first"}\n\n'
    made = FrameTexts(Typed(lambda like, value: value), SERVER_SENT, "").more(frame, Leaf((), (), ""), "x")
    assert made == b'event: later\ndata: {"type": "later", "text": "x"}\n\n'


@pytest.mark.parametrize(
    "frame",
    [
        b": keep alive\n\n",
        b"data: [DONE]\n\n",
        b"\xef\xbb\xbfdata: [DONE]\n\n",
        b"event: ping\n\n",
        b"retry: 10\nid\n\n",
        b"data:\n\n",
    ],
)
def test_events_without_text(frame: bytes) -> None:
    assert not texts().read(frame).grows
    assert texts().write(frame, {}) == frame


@pytest.mark.every_value
@pytest.mark.parametrize("frame", [b"data: secret\n\n", b'data: ["secret"]\n\n', b"secret\n\n", b"other: secret\n\n"])
def test_what_may_be_text_and_cannot_be_read(frame: bytes) -> None:
    with pytest.raises(TypeError):
        texts().read(frame)


def test_what_is_held_back_of_an_event_without_its_end_goes_out_as_a_whole_event() -> None:
    frame = b"data: " + json.dumps(chunk("a")).encode()
    (leaf,) = texts().read(frame).grows
    assert texts().more(frame, leaf, "b").endswith(b"\n\n")


def test_an_event_as_long_as_a_picture_is_joined() -> None:
    event = b"data: %s\n\n" % (b"x" * (32 << 20))
    frames = Frames(SERVER_SENT.end)
    found = [one for at in range(0, len(event), 4096) for one in frames.add(event[at : at + 4096])]
    assert (found == [event], frames.rest()) == (True, b"")
