"""Refusals, answers, and clients of both HTTP libraries."""

import importlib
import json
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import pytest
from botocore.eventstream import EventStream
from botocore.exceptions import ClientError

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.aiobotocore import client
from spanhook.cli.conformance.libraries.botocore_ways import BODIES, CLAUDE, CONVERSE, invocation, spoken
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.bedrock_server import BedrockServer
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder

FIRST = version("aiobotocore").startswith("2.")
"""Whether this is the first version that is supported, which has only aiohttp."""


def asked(server: BedrockServer, ask: Callable[[Any], Awaitable[Any]], **settings: Any) -> Any:
    """What a client gets."""

    async def main() -> Any:
        async with client(server.url, **settings) as made:
            return await ask(made)

    return run(main())


async def converse(made: Any) -> Any:
    return (await made.converse(**CONVERSE))["output"]["message"]


async def streamed(made: Any) -> str:
    return "".join([spoken(event) async for event in (await made.converse_stream(**CONVERSE))["stream"]])


async def invoked(made: Any) -> Any:
    return json.loads(await (await made.invoke_model(**invocation(CLAUDE)))["body"].read())


async def invoked_stream(made: Any) -> str:
    response = await made.invoke_model_with_response_stream(**invocation(CLAUDE))
    return "".join([spoken(event) async for event in response["body"]])


CALLS = (converse, streamed, invoked, invoked_stream)


@pytest.mark.parametrize("ask", CALLS)
def test_refused(ask: Any, server: BedrockServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    async def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=429)

    async def caught(made: Any) -> tuple[bool, Any]:
        try:
            return await ask(made)
        except made.exceptions.ThrottlingException as error:
            return isinstance(error, Reject), error

    with recorder(hooks):
        is_reject, error = asked(server, caught)
    assert is_reject
    assert isinstance(error, ClientError)
    assert server.requests == []


@pytest.mark.parametrize("ask", CALLS)
def test_answered(ask: Any, server: BedrockServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    async def answer(op: Operation) -> None:
        op.respond("no need")

    with recorder(hooks) as seen:
        assert "no need" in json.dumps(asked(server, ask))
    assert ([op.status for op in seen.operations], server.requests) == (["success"], [])


def test_over_httpx(server: BedrockServer) -> None:
    """Which cannot read streams of events."""
    for ask in () if FIRST else (converse, invoked):
        http: Any = importlib.import_module("aiobotocore.httpxsession")
        expected = asked(server, ask)
        with recorder() as seen:
            assert asked(server, ask, http_session_cls=http.HttpxSession) == expected
        assert [(op.status, op.usage.total_tokens) for op in seen.operations] == [("success", 28)]


def test_other_calls_pass(server: BedrockServer) -> None:
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    server.reply = Reply(body={})

    async def count(made: Any) -> None:
        await made.count_tokens(modelId=CLAUDE, input={"converse": {"messages": CONVERSE["messages"]}})

    async def tables() -> None:
        async with client(server.url, "dynamodb") as made:
            await made.list_tables()

    with recorder(hooks) as seen:
        if not FIRST:  # its service model does not have it
            asked(server, count)
        run(tables())
    assert (seen.operations, server.requests != []) == ([], True)


def test_the_library_of_both_is_counted_once(server: BedrockServer) -> None:
    with recorder(only=["aiobotocore", "botocore"]) as seen:
        asked(server, converse)
    assert [op.usage.total_tokens for op in seen.operations] == [28]


def test_types(server: BedrockServer) -> None:
    async def look(made: Any) -> None:
        stream = (await made.converse_stream(**CONVERSE))["stream"]
        assert isinstance(stream, EventStream)
        stream.close()
        body = (await made.invoke_model(modelId=CLAUDE, body=json.dumps(BODIES[CLAUDE])))["body"]
        assert json.loads(b"".join([line async for line in body.iter_lines()]))["type"] == "message"

    with recorder() as seen:
        asked(server, look)
    assert sorted(op.status for op in seen.operations) == ["abandoned", "success"]
