"""The contract's conformance kit: every vector of it, over a real agent, however that is called."""

import asyncio
from typing import Any

import pytest

pytestmark = pytest.mark.agent_hooks
ctk = pytest.importorskip("agent_hooks.ctk", reason="agent-hooks-sdk is in an environment of its own")

from tests.agent_hooks.harness import WAYS, Host  # noqa: E402

VECTORS = {vector["id"]: vector for vector in ctk.load_vectors()}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str, way: str) -> None:
    check(VECTORS[name], way)


def check(vector: dict[str, Any], way: str, **settings: Any) -> None:
    host = Host(vector, way, **settings)
    found = asyncio.run(ctk.run_vector(host, vector))
    assert (found.status, found.failures) == ("pass", []), found
    expected = vector["expect"]
    if "released_output" in expected:
        assert host.released == expected["released_output"]
    for kept in expected.get("persisted_must_not_contain", ()):
        assert kept not in host.persisted
