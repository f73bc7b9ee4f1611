"""Every way of calling what is gated, of the libraries that are here, while interceptors let all of it pass."""

from typing import Any

import pytest

from spanhook import Hooks
from spanhook.cli.conformance.checks.cells import Way, ways_of
from spanhook.cli.conformance.subject import Body, settle
from spanhook.hooks.agent_hooks import AgentHooks
from spanhook.testing import recorder
from tests.conformance.everything import SUBJECTS

pytestmark = pytest.mark.agent_hooks

KINDS = ("agent.invoke", "llm.call", "tool.execute")
WAYS = [way for subject in SUBJECTS if subject.kind in KINDS for way in ways_of(subject) if not way.lacking]


@pytest.mark.parametrize("streams", ["buffer", "incremental"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.subject.name}-{way.name}".replace(" ", "_"))
def test_what_is_let_pass_passes(way: Way, streams: Any) -> None:
    records: list[Any] = []
    hook = AgentHooks([lambda _context: {"decision": "allow"}], streams=streams, records=records.append)
    call = way.take(way.subject.make(Body()))
    with recorder(Hooks(hook)) as seen:
        settle(call())
    assert {one.verdict.decision.value for one in records} == {"allow"}
    assert not [decision for op in seen.operations for decision in op.decisions]
    sessions: dict[str, list[Any]] = {}
    for one in records:
        sessions.setdefault(one.session_id, []).append(one)
    for session in sessions.values():
        points = [one.interception_point.value for one in session]
        assert (points[0], points[-1]) == ("agent_startup", "agent_shutdown")
        assert [one.sequence for one in session] == list(range(len(session)))
