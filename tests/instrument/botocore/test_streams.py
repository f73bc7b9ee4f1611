"""Streams of events and bodies: read in other ways, left, broken, refused on their way."""

import gc
import io
import json
from typing import Any

import pytest
from botocore.eventstream import EventStream
from botocore.exceptions import EventStreamError, ResponseStreamingError
from botocore.response import StreamingBody

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.botocore_ways import BODIES, CLAUDE, NOVA, invocation, spoken
from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.testing import recorder
from tests.instrument.botocore.parts import LEAKS, converse, invoked, streamed
from tests.masking import MASK, SECRET, TEXT, Masking, pieces

pytestmark = LEAKS


def test_a_stream_looks_as_before(made: Any) -> None:
    with recorder() as seen:
        response = made.converse_stream(modelId=CLAUDE, messages=[])
        stream = response["stream"]
        assert isinstance(stream, EventStream)
        assert sorted(response) == ["ResponseMetadata", "stream"]
        assert [next(iter(event)) for event in stream][-1] == "metadata"
        assert list(stream) == []
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 28)]


def test_an_iterator_keeps_the_stream_alive(made: Any) -> None:
    with recorder() as seen:
        said = ""
        for event in streamed(made):
            gc.collect()
            said += spoken(event)
    assert said == Reply.text
    assert [op.status for op in seen.operations] == ["success"]


def test_left_early(made: Any) -> None:
    with recorder() as seen:
        stream = streamed(made)
        next(iter(stream))
        stream.close()
        next(iter(streamed(made)))
        gc.collect()
    assert [(op.status, op.usage.estimated) for op in seen.operations] == [("abandoned", True)] * 2


def test_left_at_the_end_of_the_message(made: Any) -> None:
    with recorder() as seen:
        stream = streamed(made)
        for event in stream:
            if "messageStop" in event:
                break
        stream.close()
    assert [(op.status, op.usage.estimated) for op in seen.operations] == [("success", True)]


def test_an_exception_in_a_stream(made: Any, server: BedrockServer) -> None:
    begun = {"messageStart": {"role": "assistant"}}
    server.reply = Reply(events=(begun, {"throttlingException": {"message": "too fast"}}))
    for hooks in (None, Hooks()):
        with recorder(hooks) as seen:
            stream = iter(streamed(made))
            assert next(stream) == begun
            with pytest.raises(EventStreamError, match="throttlingException"):
                next(stream)
        assert [(op.status, type(op.error).__name__) for op in seen.operations] == [("error", "EventStreamError")]


def test_refused_at_its_end(made: Any) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer")
    def refuse(op: Operation) -> None:
        raise Reject("not that", status_code=403)

    with recorder(hooks):
        stream = iter(streamed(made))
        with pytest.raises(made.exceptions.AccessDeniedException):
            next(stream)
        body = invoked(made, BODIES[CLAUDE])["body"]
        with pytest.raises(made.exceptions.AccessDeniedException):
            body.read()


# ----------------------------------------------------------------------------------- text on its way


@pytest.mark.parametrize("cuts", [[], [12, 20], list(range(1, len(TEXT)))], ids=["whole", "few", "many"])
@pytest.mark.parametrize("model", ["converse", *BODIES])
def test_what_a_window_masks_does_not_get_out(model: str, cuts: list[int], made: Any, server: BedrockServer) -> None:
    server.reply = Reply(text=TEXT, pieces=pieces(TEXT, cuts))
    with recorder(Masking()):
        if model == "converse":
            events = list(streamed(made))
        else:
            events = list(made.invoke_model_with_response_stream(**invocation(model))["body"])
    assert SECRET not in repr(events)
    assert "".join(map(spoken, events)) == TEXT.replace(SECRET, MASK)


def test_arguments_are_text_too(made: Any, server: BedrockServer) -> None:
    server.script(Reply(calls=(Call("pay", {"card": SECRET}),)))
    with recorder(Masking()):
        said = repr(list(streamed(made)))
    assert (SECRET in said, MASK in said) == (False, True)


def test_two_iterators_are_one_window(made: Any, server: BedrockServer) -> None:
    server.reply = Reply(text=TEXT, pieces=pieces(TEXT, [10, 16]))
    with recorder(Masking()):
        stream = streamed(made)
        said = repr([next(iter(stream)), next(iter(stream)), *stream])
    assert SECRET not in said


# ----------------------------------------------------------------------------------- bodies


def _lines(body: StreamingBody) -> bytes:
    return b"\n".join(body.iter_lines())


def _into(body: StreamingBody) -> bytes:
    place, said = bytearray(7), b""
    while count := body.readinto(place):
        said += place[:count]
    return said


def _raw(body: Any) -> bytes:
    with body as raw:
        return b"".join(raw.stream(5))


READS: dict[str, Any] = {
    "read": lambda body: body.read(),
    "read some": lambda body: body.read(3) + body.read(2) + body.read(),
    "pieces": lambda body: b"".join(body),
    "small pieces": lambda body: b"".join(body.iter_chunks(4)),
    "lines": _lines,
    "all lines": lambda body: b"".join(body.readlines()),
    "as a file": lambda body: io.TextIOWrapper(io.BytesIO(body.read())).read().encode(),
    "raw": _raw,
}
if hasattr(StreamingBody, "readinto"):
    READS["into"] = _into


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_every_way_to_read_a_body(read: Any, made: Any) -> None:
    expected = read(invoked(made, BODIES[CLAUDE])["body"])
    with recorder() as seen:
        body = invoked(made, BODIES[CLAUDE])["body"]
        assert (isinstance(body, StreamingBody), body.readable()) == (True, True)
        body.set_socket_timeout(5)
        assert (read(body), body.read()) == (expected, b"")
    assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 28)]


def test_a_body_that_is_replaced_has_another_length(made: Any) -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def replace(op: Operation) -> None:
        op.respond("a much longer answer than what the model had said, which was short " * 9)

    with recorder(hooks):
        told = json.loads(invoked(made, BODIES[CLAUDE])["body"].read())
        other = json.loads(b"".join(invoked(made, BODIES[NOVA], NOVA)["body"].iter_chunks(9)))
    assert told["content"][0]["text"].startswith("a much longer")
    assert other["output"]["message"]["content"][0]["text"].startswith("a much longer")


def test_a_body_that_is_not_read(made: Any) -> None:
    with recorder() as seen:
        invoked(made, BODIES[CLAUDE])["body"].close()
        invoked(made, BODIES[CLAUDE])
        gc.collect()
    assert [op.status for op in seen.operations] == ["abandoned"] * 2


def test_a_body_that_breaks_off(made: Any, server: BedrockServer) -> None:
    server.reply = Reply(cut=1)
    with recorder() as seen:
        body = invoked(made, BODIES[CLAUDE])["body"]
        with pytest.raises(ResponseStreamingError):
            body.read()
    assert [(op.status, type(op.error).__name__) for op in seen.operations] == [("error", "ResponseStreamingError")]


def test_models_that_report_no_usage_and_no_metrics(made: Any, server: BedrockServer) -> None:
    server.reply = Reply(headers={"x-other": "1"})
    with recorder() as seen:
        invoked(made, {"prompt": "x"}, "mistral.mistral-7b")["body"].read()
        converse(made)
    assert [op.usage.total_tokens for op in seen.operations] == [0, 28]
