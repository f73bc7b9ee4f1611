"""Every way of calling Anthropic through its SDK."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from anthropic import Anthropic, AsyncAnthropic, DefaultAsyncHttpxClient, DefaultHttpxClient, beta_async_tool, beta_tool

from spanhook.cli.conformance.libraries.stainless_ways import Way, facts, ways_of
from spanhook.cli.conformance.servers.authorities import NO_CERTIFICATES

MODEL = "claude-haiku-4-5"
MESSAGES: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 64,
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "Say hello."}],
}
BATCH: dict[str, Any] = {
    "requests": [
        {"custom_id": name, "params": {**MESSAGES, "messages": [{"role": "user", "content": f"Say {name}."}]}}
        for name in ("one", "two")
    ]
}


def sync_client(url: str, **options: Any) -> Anthropic:
    """A client that does not retry, and loads no certificates, which would take longer than a test."""
    given: dict[str, Any] = {"http_client": DefaultHttpxClient(verify=NO_CERTIFICATES), "max_retries": 0, **options}
    return Anthropic(base_url=url, api_key="test", **given)


def async_client(url: str, **options: Any) -> AsyncAnthropic:
    """The async version of ``sync_client``."""
    given: dict[str, Any] = {
        "http_client": DefaultAsyncHttpxClient(verify=NO_CERTIFICATES),
        "max_retries": 0,
        **options,
    }
    return AsyncAnthropic(base_url=url, api_key="test", **given)


@beta_tool
def look_up(city: str) -> str:
    """Look up the weather.

    Args:
        city: The city.
    """
    return f"{city}: sunny"


@beta_async_tool
async def alook_up(city: str) -> str:
    """Look up the weather.

    Args:
        city: The city.
    """
    return f"{city}: sunny"


def run_tools(client: Any) -> Any:
    """The last message of the SDK's own loop, which calls tools until the model requests none."""
    return facts(client.beta.messages.tool_runner(**MESSAGES, tools=[look_up]).until_done())


async def arun_tools(client: Any) -> Any:
    """The async version of ``run_tools``."""
    return facts(await client.beta.messages.tool_runner(**MESSAGES, tools=[alook_up]).until_done())


def _streamed_tools(client: Any) -> Any:
    runner = client.beta.messages.tool_runner(**MESSAGES, tools=[look_up], stream=True)
    return [[event.type for event in stream] for stream in runner]


async def _astreamed_tools(client: Any) -> Any:
    runner = client.beta.messages.tool_runner(**MESSAGES, tools=[alook_up], stream=True)
    return [[event.type async for event in stream] async for stream in runner]


def _text(client: Any) -> Any:
    with client.messages.stream(**MESSAGES) as stream:
        return list(stream.text_stream), stream.get_final_text()


async def _atext(client: Any) -> Any:
    async with client.messages.stream(**MESSAGES) as stream:
        texts: AsyncIterator[str] = stream.text_stream
        return [text async for text in texts], await stream.get_final_text()


async def _abatch(client: Any) -> Any:
    return facts(await client.messages.batches.create(**BATCH))


_CLIENTS = (sync_client, async_client)
_MORE: dict[str, Callable[[Any], Any]] = {
    "messages text": _text,
    "async messages text": _atext,
    "beta runner": run_tools,
    "async beta runner": arun_tools,
    "beta runner stream": _streamed_tools,
    "async beta runner stream": _astreamed_tools,
    "batches create": lambda client: facts(client.messages.batches.create(**BATCH)),
    "async batches create": _abatch,
}


def _messages(client: Any) -> Any:
    return client.messages


def _beta(client: Any) -> Any:
    return client.beta.messages


WAYS = [
    way
    for name, api in (
        ("messages", _messages),
        ("beta", _beta),
    )
    for way in ways_of(name, api, MESSAGES, _CLIENTS, final="get_final_message", shape="output_format")
] + [Way(name, "llm.call", ask, _CLIENTS, streamed="stream" in name or "text" in name) for name, ask in _MORE.items()]
