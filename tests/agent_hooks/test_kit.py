"""The contract's conformance kit: every vector of it, over a real agent, however that is called."""

import asyncio
from typing import Any

import pytest
from agent_hooks.ctk import load_vectors, run_vector

from tests.agent_hooks.harness import WAYS, Host

pytestmark = pytest.mark.agent_hooks

VECTORS = {vector["id"]: vector for vector in load_vectors()}
FAILING = [name for name, vector in VECTORS.items() if "run_outcome_by_posture" in vector["expect"]]


def test_all_vectors_are_here() -> None:
    assert len(VECTORS) == 75


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str, way: str) -> None:
    check(VECTORS[name], way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", VECTORS)
def test_vector_without_the_sdk_of_telemetry(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")

    check(VECTORS[name], way, recorded=False)


@pytest.mark.parametrize("name", FAILING)
def test_vector_if_failures_end_the_run(name: str) -> None:
    check(VECTORS[name], "ainvoke", tool_failure="terminate")


def check(vector: dict[str, Any], way: str, *, recorded: bool = True, **settings: Any) -> None:
    host = Host(vector, way, **settings)

    found = asyncio.run(run_vector(host, vector))

    expected = vector["expect"]
    assert (found.status, found.failures) == ("pass", [])
    assert bool(host.spans) == (recorded and expected.get("load", {}).get("outcome") != "refused")
    assert host.released == expected.get("released_output", host.released)
    assert not [kept for kept in expected.get("persisted_must_not_contain", ()) if kept in host.persisted]
