"""Every way of running a harness of LiteLLM's."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from spanhook.cli.conformance.libraries.litellm_ways import litellm

Run = Callable[..., Any]
ASK = "Say hello."


def whole(harness: Any, given: dict[str, Any]) -> Any:
    return litellm.agent(harness, ASK, **given)


def streamed(harness: Any, given: dict[str, Any]) -> Any:
    with litellm.agent(harness, ASK, stream=True, **given) as events:
        for _ in events:
            pass
    return events.result


def later(harness: Any, given: dict[str, Any]) -> Any:
    return asyncio.run(litellm.aagent(harness, ASK, **given))


def streamed_later(harness: Any, given: dict[str, Any]) -> Any:
    async def run() -> Any:
        events = litellm.aagent(harness, ASK, stream=True, **given)
        async for _ in events:
            pass
        return events.result

    return asyncio.run(run())


def in_session(harness: Any, given: dict[str, Any]) -> Any:
    with litellm.agent_session(harness, **given) as session:
        return session.run(ASK)


def in_session_later(harness: Any, given: dict[str, Any]) -> Any:
    async def run() -> Any:
        async with litellm.aagent_session(harness, **given) as session:
            return await session.arun(ASK)

    return asyncio.run(run())


every = pytest.mark.parametrize("run", [whole, streamed, later, streamed_later, in_session, in_session_later])
