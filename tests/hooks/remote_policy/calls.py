"""Calls that policies are asked about, and what becomes of them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import trio

import spanhook
from spanhook import Reject
from spanhook.hooks.remote_policy import RemotePolicy


@spanhook.tool
def refund(amount: Any = 5, note: str = "") -> Any:
    return f"refunded {amount}"


@spanhook.tool
async def arefund(amount: Any = 5, note: str = "") -> Any:
    return f"refunded {amount}"


WAYS: dict[str, Callable[[], Any]] = {
    "sync": refund,
    "asyncio": lambda: asyncio.run(arefund()),
    "trio": lambda: trio.run(arefund),
}


def policy(service: str = "opa", url: str = "", **settings: Any) -> RemotePolicy:
    """A policy that is asked about arguments, and waits longer than a busy machine needs."""
    given: dict[str, Any] = {"send": ["arguments"], "timeout": 20.0, "retries": 0, **settings}
    return RemotePolicy(service, url, **given)


def refusal(call: Callable[[], Any] = refund) -> Reject:
    with pytest.raises(Reject) as caught:
        call()
    return caught.value


def points(seen: Any, name: str) -> list[tuple[dict[str, Any], Any]]:
    """The series of a metric; of a histogram, how many values each has."""
    return [(told, value[1] if isinstance(value, tuple) else value) for told, value in seen.metrics()[name]]
