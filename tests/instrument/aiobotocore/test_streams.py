"""Streams and bodies: left, broken, refused on their way, cancelled."""

import asyncio
import gc
import json
from typing import Any

import pytest
from botocore.exceptions import EventStreamError

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.botocore_ways import CLAUDE, CONVERSE, invocation, spoken
from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder
from tests.instrument.aiobotocore.test_calls import asked, converse, invoked
from tests.masking import MASK, SECRET, TEXT, Masking, pieces

LEAKS = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


async def stream_of(made: Any) -> Any:
    return (await made.converse_stream(**CONVERSE))["stream"]


@LEAKS
def test_left_early(server: BedrockServer) -> None:
    async def leave(made: Any) -> None:
        stream = await stream_of(made)
        async for _ in stream:
            break
        stream.close()
        del stream
        async for _ in await stream_of(made):
            break
        gc.collect()

    with recorder() as seen:
        asked(server, leave)
        gc.collect()
    assert [(op.status, op.usage.estimated) for op in seen.operations] == [("abandoned", True)] * 2


def test_an_exception_in_a_stream(server: BedrockServer) -> None:
    begun = {"messageStart": {"role": "assistant"}}
    server.reply = Reply(events=(begun, {"throttlingException": {"message": "too fast"}}))

    async def read(made: Any) -> list[Any]:
        return [event async for event in await stream_of(made)]

    with recorder() as seen, pytest.raises(EventStreamError, match="throttlingException"):
        asked(server, read)
    assert [(op.status, type(op.error).__name__) for op in seen.operations] == [("error", "EventStreamError")]


def test_masked_in_events_and_bodies(server: BedrockServer) -> None:
    server.reply = Reply(text=TEXT, pieces=pieces(TEXT, [12, 20]))

    async def read(made: Any) -> tuple[str, str]:
        stream = await stream_of(made)
        begun = spoken(await anext(aiter(stream)))
        said = begun + "".join([spoken(event) async for event in stream])
        return said, json.dumps(await invoked(made))

    with recorder(Masking()):
        said, whole = asked(server, read)
    assert said == TEXT.replace(SECRET, MASK)
    assert SECRET not in whole
    assert MASK in whole


def test_refused_when_it_is_read(server: BedrockServer) -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    async def refuse(op: Operation) -> None:
        raise Reject("not that", status_code=403)

    async def read(made: Any) -> None:
        body = (await made.invoke_model(**invocation(CLAUDE)))["body"]
        with pytest.raises(made.exceptions.AccessDeniedException):
            await body.read()

    with recorder(hooks):
        asked(server, read)


def test_cancelled(server: BedrockServer) -> None:
    async def cancel(made: Any) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(converse(made), 0.000001)

    with recorder() as seen:
        asked(server, cancel)
    assert [op.status for op in seen.operations] in ([], ["cancelled"])
