"""A server that refuses to be asked for the usage of a stream: the call is made without that, and the server known."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from spanhook import Hooks, Settings
from spanhook.cli.conformance.libraries.openai_ways import CHAT, async_client, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.hooks.budget import Budget
from spanhook.instrument.wire.refused_options import refusals
from spanhook.model import Identity
from spanhook.testing import recorder

ASKED = Settings(stream_usage=True)
REFUSED = Reply(status=400, message="Unrecognized request argument supplied: stream_options")


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    refusals().clear()
    yield
    refusals().clear()


def sync(url: str) -> list[Any]:
    with sync_client(url, max_retries=0) as client:
        return list(client.chat.completions.create(**CHAT, stream=True))


def later(url: str) -> list[Any]:
    async def read() -> list[Any]:
        async with async_client(url, max_retries=0) as client:
            return [chunk async for chunk in await client.chat.completions.create(**CHAT, stream=True)]

    return asyncio.run(read())


def below_langchain(url: str) -> list[Any]:
    model = ChatOpenAI(model="gpt-4o-mini", base_url=url, api_key=SecretStr("test"), max_retries=0)
    return [chunk.content for chunk in model.stream("Say hello.")]


@pytest.mark.parametrize("way", [sync, later, below_langchain])
def test_the_call_is_made_once_more_without_it(way: Any, server: OpenAIServer) -> None:
    server.script("hello", REFUSED, "hello", "hello")
    expected = way(server.url)
    with recorder(settings=ASKED) as seen:
        assert way(server.url) == expected
        assert way(server.url) == expected
    options = [request.body.get("stream_options") for request in server.requests]
    assert options == [None, {"include_usage": True}, None, None]
    assert [(op.status, op.usage.estimated) for op in seen.operations] == [("success", True)] * 2


def test_it_has_one_reservation(server: OpenAIServer) -> None:
    server.script(REFUSED, "hello")
    budget = Budget("all", tokens=10_000, output_tokens=500, store="memory://refused-options")
    with recorder(Hooks(budget)):
        sync(server.url)
    assert len(server.requests) == 2
    standing = budget.standing(Identity())
    assert 500 < standing.tokens < 600
    assert standing.reserved_tokens == 0


@pytest.mark.parametrize("status", [400, 422, 404])
def test_other_errors_are_the_applications(status: int, server: OpenAIServer) -> None:
    named = "stream_options" if status == 404 else "temperature"
    server.script(Reply(status=status, message=f"{named} is wrong"), "hello")
    with recorder(settings=ASKED), pytest.raises(openai.APIStatusError):
        sync(server.url)
    assert len(server.requests) == 1
    assert not refusals()


def test_a_request_that_is_wrong_otherwise_does_not_count_as_refused(server: OpenAIServer) -> None:
    """Servers made with FastAPI quote the whole request in their errors."""
    quoting = Reply(status=422, message="messages: Field required, input: {'stream_options': {'include_usage': True}}")
    server.script(quoting, quoting, quoting, quoting, "hello")
    with recorder(settings=ASKED):
        for way in (sync, later):
            with pytest.raises(openai.UnprocessableEntityError):
                way(server.url)
        assert not refusals()
        sync(server.url)
    assert server.requests[-1].body["stream_options"] == {"include_usage": True}


def test_what_the_application_asked_for_is_not_asked_again(server: OpenAIServer) -> None:
    server.script(REFUSED, "hello")
    with recorder(settings=ASKED), sync_client(server.url, max_retries=0) as client, pytest.raises(openai.APIError):
        client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True})
    assert len(server.requests) == 1


@pytest.mark.parametrize("setting", [None, True, False])
def test_a_budget_asks_unless_it_is_set_to_false(setting: bool | None, server: OpenAIServer) -> None:
    budget = Budget("all", tokens=10_000, store=f"memory://asks-{setting}")
    with recorder(Hooks(budget), settings=Settings(stream_usage=setting)):
        sync(server.url)
    with recorder(settings=Settings(stream_usage=setting)):
        sync(server.url)
    options = [request.body.get("stream_options") for request in server.requests]
    requested = {"include_usage": True}
    assert options == [None if setting is False else requested, requested if setting else None]


def test_a_budget_in_shadow_mode_changes_no_request(server: OpenAIServer) -> None:
    budget = Budget("all", tokens=10_000, store="memory://asks-in-shadow")
    budget.mode = "shadow"
    with recorder(Hooks(budget)):
        sync(server.url)
    assert "stream_options" not in server.requests[0].body


def test_the_first_call_without_a_count_warns_once(server: OpenAIServer, caplog: pytest.LogCaptureFixture) -> None:
    server.reply = Reply(usage="never")
    budget = Budget("all", tokens=10_000, store="memory://warns")
    with caplog.at_level(logging.WARNING, "spanhook"), recorder(Hooks(budget)):
        sync(server.url)
        sync(server.url)
    [said] = [one.getMessage() for one in caplog.records if "reported no usage" in one.getMessage()]
    assert "stream_usage" in said
