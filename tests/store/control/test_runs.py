"""Pages of runs and what filters let through, and one run in full."""

import pytest

from spanhook import semconv
from spanhook.store.control import CursorError, Database, Ingestor, RunFilter, run_detail, runs_page
from tests.store.control.otlp import START_NS, decision_event, run_event, run_of, send_logs, send_spans, span

pytestmark = pytest.mark.anyio


async def _ids(database: Database, given: RunFilter, tenant: str | None = None) -> list[str]:
    return [one.id for one in (await runs_page(database, tenant, given)).rows]


@pytest.fixture
async def four(ingestor: Ingestor) -> None:
    """Runs 1 to 4, a millisecond apart; each differs in one thing."""
    for number, more in enumerate(
        (
            {semconv.STATUS: "error", semconv.ERROR_TYPE: "ValueError"},
            {semconv.GEN_AI_AGENT_NAME: "100%_sure"},
            {semconv.TENANT_ID: "globex"},
            {semconv.USER_ID: "u2", semconv.SESSION_ID: "s2"},
        ),
        1,
    ):
        await send_spans(ingestor, [span(number, 0, number, number + 5, "agent.invoke", **more)])
    await send_spans(
        ingestor,
        [span(2, 1, 3, 4, "llm.call", **{semconv.GEN_AI_RESPONSE_MODEL: "m", semconv.GEN_AI_USAGE_INPUT_TOKENS: 1})],
    )
    await send_logs(ingestor, [decision_event(1), decision_event(2)])


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (RunFilter(), [4, 3, 2, 1]),
        (RunFilter(status="error"), [1]),
        (RunFilter(status="running"), []),
        (RunFilter(agent="100%_sure"), [2]),
        (RunFilter(tenant_id="globex"), [3]),
        (RunFilter(user_id="u2"), [4]),
        (RunFilter(session_id="s2"), [4]),
        (RunFilter(model="m"), [2]),
        (RunFilter(hook="guard"), [2, 1]),
        (RunFilter(hook="guard", model="m"), [2]),
        (RunFilter(hook="guard", status="error", user_id="u1"), [1]),
        (RunFilter(since_ns=START_NS + 2_000_000, until_ns=START_NS + 4_000_000), [3, 2]),
        (RunFilter(model="m", since_ns=START_NS + 3_000_000), []),
        (RunFilter(search="valueerr"), [1]),
        (RunFilter(search="100%_"), [2]),
        (RunFilter(search="%"), [2]),
        (RunFilter(search="GLOBEX"), [3]),
        (RunFilter(search=f"{4:032x}"), [4]),
        (RunFilter(search="'; DROP TABLE spanhook_runs; --"), []),
        (RunFilter(agent="no\0such"), []),
    ],
)
async def test_filters(four: None, database: Database, given: RunFilter, found: list[int]) -> None:
    assert await _ids(database, given) == [f"run-{number}" for number in found]


async def test_a_tenant_sees_its_own_alone(four: None, database: Database) -> None:
    assert await _ids(database, RunFilter(), "globex") == ["run-3"]
    assert await _ids(database, RunFilter(hook="guard"), "globex") == []
    assert await _ids(database, RunFilter(tenant_id="acme"), "globex") == []
    assert await run_detail(database, "globex", "run-1") is None
    assert await run_detail(database, None, "none") is None


@pytest.mark.parametrize("given", [RunFilter(), RunFilter(hook="guard"), RunFilter(tenant_id="acme")])
async def test_pages_have_each_run_once(database: Database, ingestor: Ingestor, given: RunFilter) -> None:
    runs = [span(number, 0, number // 3, 99, "agent.invoke") for number in range(1, 26)]
    await send_spans(ingestor, runs)
    await send_logs(ingestor, [decision_event(number) for number in range(1, 26)])
    found: list[str] = []
    cursor = ""
    for _ in range(4):
        page = await runs_page(database, "acme", given, cursor=cursor, limit=7)
        found += [one.id for one in page.rows]
        cursor = page.cursor
    assert not cursor
    assert len(found) == len(set(found)) == 25
    assert found[0] == "run-25"


@pytest.mark.parametrize("cursor", ["x", "AAAA", "\u20ac", "AAAAAAAAAAAAAAAAAAAAAA=", "' OR 1=1", "\0"])
async def test_cursors_that_are_none(database: Database, cursor: str) -> None:
    with pytest.raises(CursorError):
        await runs_page(database, None, RunFilter(), cursor=cursor)


async def test_one_run_in_full(database: Database, ingestor: Ingestor) -> None:
    await send_spans(ingestor, run_of(1))
    await send_logs(ingestor, [run_event(1), decision_event(1)])
    detail = await run_detail(database, "acme", "run-1")
    assert detail is not None
    assert not detail.more
    assert [one.kind for one in detail.spans] == ["agent.invoke", "llm.call", "llm.call", "tool.execute"]
    root, call, *_ = detail.spans
    assert (root.parent_id, call.parent_id, root.resource) == ("", root.span_id, {"service.name": "test"})
    assert call.attributes[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 100
    assert {one.event_name for one in detail.logs} == {"spanhook.run", "spanhook.decision"}
    [told] = [one for one in detail.logs if one.event_name == "spanhook.run"]
    assert told.body[semconv.USAGE_BY_MODEL]["unpriced"]["cost_usd"] is None
