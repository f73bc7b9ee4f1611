"""What is received becomes runs, decisions and usage: once, in whichever order it comes."""

import asyncio
import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanhook import semconv
from spanhook.store.control import (
    Database,
    DecisionFilter,
    FullError,
    IngestLimits,
    Ingestor,
    MalformedError,
    Run,
    RunFilter,
    TooLargeError,
    UnsupportedError,
    Used,
    decisions_page,
    run_detail,
    runs_page,
    usage_by,
)
from tests.store.control.otlp import (
    DAY,
    PROTOBUF,
    START_NS,
    attributes,
    decision,
    decision_event,
    run_event,
    run_of,
    send_logs,
    send_spans,
    span,
    traces,
)

pytestmark = pytest.mark.anyio
WHOLE = Used(1, 100, 20, 0, 0, 0, 0, 250_000_000), Used(1, 100, 20, 0, 0, 0, 120, 0)


async def one_run(database: Database) -> Run:
    [run] = (await runs_page(database, None, RunFilter())).rows
    return run


async def used(database: Database) -> dict[tuple[Any, ...], Used]:
    rows = await usage_by(database, None, ("day", "tenant_id", "user_id", "agent", "model"))
    return {tuple(row.by.values()): row.used for row in rows}


async def test_a_run_is_derived_from_its_spans(database: Database, ingestor: Ingestor) -> None:
    kept = await send_spans(ingestor, run_of(1))
    assert (kept.accepted, kept.rejected) == (4, 0)
    run = await one_run(database)
    assert (run.id, run.name, run.kind, run.status, run.agent) == (
        "run-1",
        "agent.invoke 0",
        "agent.invoke",
        "success",
        "researcher",
    )
    assert (run.tenant_id, run.user_id, run.session_id, run.service) == ("acme", "u1", "s1", "test")
    assert (run.start_ns, run.duration_s, run.spans) == (START_NS, 0.05, 4)
    assert (run.llm_calls, run.tool_calls, run.input_tokens, run.output_tokens) == (2, 1, 200, 40)
    assert (run.cost_usd, run.unpriced_tokens, run.told) == (0.25, 120, False)
    assert run.by_model == dict(zip(("priced", "unpriced"), WHOLE, strict=True))
    assert await used(database) == {
        (DAY, "acme", "u1", "researcher", "priced"): WHOLE[0],
        (DAY, "acme", "u1", "researcher", "unpriced"): WHOLE[1],
    }


PIECES = [*([one] for one in run_of(1)), run_event(1), decision_event(1)]


@pytest.mark.parametrize("seed", range(6))
async def test_order_and_repetition_do_not_matter(database: Database, ingestor: Ingestor, seed: int) -> None:
    order = [*PIECES, *PIECES]
    random.Random(seed).shuffle(order)
    for piece in order:
        await (send_spans(ingestor, piece) if isinstance(piece, list) else send_logs(ingestor, [piece]))
    run = await one_run(database)
    assert (run.start_ns, run.duration_s, run.status, run.name, run.told) == (
        START_NS,
        0.05,
        "success",
        "researcher",
        True,
    )
    assert (run.spans, run.decisions, run.llm_calls, run.tool_calls) == (4, 1, 2, 1)
    assert run.by_model == dict(zip(("priced", "unpriced"), WHOLE, strict=True))
    assert list((await used(database)).values()) == list(WHOLE)
    assert len((await decisions_page(database, None, DecisionFilter())).rows) == 1


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
async def test_spans_alone_in_any_order(database: Database, ingestor: Ingestor, order: tuple[int, ...]) -> None:
    for place in order:
        await send_spans(ingestor, [run_of(1)[place]])
    run = await one_run(database)
    assert (run.start_ns, run.duration_s, run.status, run.agent) == (START_NS, 0.05, "success", "researcher")
    assert (run.spans, run.llm_calls, run.tool_calls) == (4, 2, 1)
    assert list((await used(database)).values()) == list(WHOLE)


async def test_repeated_in_one_request(database: Database, ingestor: Ingestor) -> None:
    await send_spans(ingestor, [*run_of(1), *run_of(1)])
    assert (await one_run(database)).spans == 4
    assert list((await used(database)).values()) == list(WHOLE)


async def test_a_run_that_was_not_sampled_is_known_by_its_event(database: Database, ingestor: Ingestor) -> None:
    await send_logs(ingestor, [run_event(1)])
    run = await one_run(database)
    assert (run.status, run.spans, run.start_ns, run.duration_s) == ("success", 0, START_NS, 0.05)
    assert list((await used(database)).values()) == list(WHOLE)


async def test_its_event_stands_above_its_spans(database: Database, ingestor: Ingestor) -> None:
    await send_spans(ingestor, run_of(1)[:1])
    await send_logs(ingestor, [run_event(1, **{semconv.STATUS: "rejected", semconv.ERROR_TYPE: "spanhook.Reject"})])
    await send_spans(ingestor, run_of(1)[1:])
    run = await one_run(database)
    assert (run.status, run.error_type, run.spans) == ("rejected", "spanhook.Reject", 4)
    assert list((await used(database)).values()) == list(WHOLE)


async def test_running_until_its_outermost_span_is_known(database: Database, ingestor: Ingestor) -> None:
    *inside, root = run_of(1)
    await send_spans(ingestor, inside)
    assert (await one_run(database)).status == "running"
    assert (await runs_page(database, None, RunFilter(status="running"))).rows
    await send_spans(ingestor, [root])
    assert (await one_run(database)).status == "success"
    assert not (await runs_page(database, None, RunFilter(status="running"))).rows


@pytest.mark.parametrize("around_first", [True, False])
async def test_a_run_inside_of_a_request(database: Database, ingestor: Ingestor, around_first: bool) -> None:
    """Its outermost span has a parent, which belongs to another instrumentation."""
    *inside, root = run_of(1)
    around = Span(trace_id=root.trace_id, span_id=b"/request", name="GET /", start_time_unix_nano=START_NS - 1)
    around.end_time_unix_nano = START_NS + 10**9
    root.parent_span_id = around.span_id
    first, then = ([around], [*inside, root]) if around_first else ([*inside, root], [around])
    await send_spans(ingestor, first)
    await send_spans(ingestor, then)
    run = await one_run(database)
    assert (run.status, run.agent, run.spans) == ("success", "researcher", 4)
    detail = await run_detail(database, "acme", "run-1")
    assert detail is not None
    assert [one.name for one in detail.spans][:2] == ["GET /", "agent.invoke 0"]


async def test_a_run_called_from_elsewhere(database: Database, ingestor: Ingestor) -> None:
    root = span(1, 0, 0, 5, "agent.invoke", parent=7, flags=0x301)
    await send_spans(ingestor, [root])
    assert (await one_run(database)).status == "success"


async def test_decisions_are_counted_once_from_either_signal(database: Database, ingestor: Ingestor) -> None:
    root = run_of(1)[-1]
    event = root.events.add(name=semconv.EVENT_DECISION, time_unix_nano=START_NS + 1_000_000)
    event.attributes.extend(attributes(decision()))
    await send_spans(ingestor, [root])
    [before] = (await decisions_page(database, "acme", DecisionFilter())).rows
    assert (before.coverage, before.target, before.run_id, before.agent) == ("", "researcher", "run-1", "researcher")
    await send_logs(
        ingestor, [decision_event(1), decision_event(1, 0, **{semconv.HOOK: "shadow", semconv.MODE: "shadow"})]
    )
    found = (await decisions_page(database, "acme", DecisionFilter())).rows
    assert {(one.hook, one.mode, one.coverage) for one in found} == {
        ("guard", "enforce", "enforced"),
        ("shadow", "shadow", "enforced"),
    }
    assert found[-1].reason == "because"
    assert (await one_run(database)).decisions == 2
    assert len((await runs_page(database, None, RunFilter(hook="guard"))).rows) == 1
    assert not (await decisions_page(database, "other", DecisionFilter())).rows


async def test_calls_that_were_not_made(database: Database, ingestor: Ingestor) -> None:
    """Answered or refused by a hook, or a hook's own; what a hook's own call used is counted as in the run's event."""
    answered, refused = {semconv.DECISION: "replace"}, {semconv.STATUS: "rejected"}
    in_hook = attributes({semconv.IN_HOOK: True})
    judge, tool = run_of(1)[0], span(1, 9, 1, 2, "tool.execute")
    for one in (judge, tool):
        one.attributes.extend(in_hook)
    kinds = ("llm.call", "tool.execute")
    others = [span(1, 4 + 2 * a + b, 1, 2, kinds[a], **(answered, refused)[b]) for a in (0, 1) for b in (0, 1)]
    await send_spans(ingestor, [judge, tool, *others])
    run = await one_run(database)
    assert (run.llm_calls, run.tool_calls, run.input_tokens) == (1, 0, 100)


async def test_whose_key_it_is_wins(database: Database, ingestor: Ingestor) -> None:
    await send_spans(ingestor, run_of(1), tenant="globex")
    await send_logs(ingestor, [run_event(1), decision_event(1)], tenant="globex")
    assert (await one_run(database)).tenant_id == "globex"
    assert {key[1] for key in await used(database)} == {"globex"}
    assert await run_detail(database, "acme", "run-1") is None
    assert not (await decisions_page(database, "acme", DecisionFilter())).rows


async def test_tenants_never_meet_whatever_ids_they_use(database: Database, ingestor: Ingestor) -> None:
    await send_spans(ingestor, run_of(1), tenant="one")
    await send_logs(ingestor, [decision_event(1)], tenant="two")
    await send_spans(ingestor, run_of(1)[:2], tenant="two")
    for tenant, spans, decisions in (("one", 4, 0), ("two", 2, 1)):
        [run] = (await runs_page(database, tenant, RunFilter())).rows
        assert (run.spans, run.decisions) == (spans, decisions)
        detail = await run_detail(database, tenant, "run-1")
        assert detail is not None
        assert len(detail.spans) == spans
        assert {one.tenant_id for one in detail.spans} == {tenant}


HOSTILE = "a\0b \U0001f600 '\"; DROP TABLE spanhook_runs; -- <script>"


async def test_hostile_values(database: Database, ingestor: Ingestor) -> None:
    root = span(1, 0, 0, 5, "agent.invoke", name=HOSTILE, **{semconv.GEN_AI_AGENT_NAME: HOSTILE})
    root.end_time_unix_nano = 2**64 - 1
    huge = {semconv.GEN_AI_USAGE_INPUT_TOKENS: 2**63 - 1, semconv.GEN_AI_USAGE_OUTPUT_TOKENS: -5}
    call = span(1, 1, 0, 1, "llm.call", **{**huge, semconv.COST_USD: float("inf"), semconv.RUN_ID: "r" * 100_000})
    named = span(2, 0, 0, 1, "x" * 5_000, **{semconv.RUN_ID: HOSTILE, semconv.TENANT_ID: "\u20ac" * 5_000})
    lost = Span(trace_id=b"short", span_id=b"")
    kept = await send_spans(ingestor, [root, call, named, lost])
    assert (kept.accepted, kept.rejected, bool(kept.message)) == (3, 1, True)
    assert len((await runs_page(database, None, RunFilter())).rows) == 3
    kept_as = HOSTILE.replace("\0", "\ufffd")
    found = (await runs_page(database, None, RunFilter(search="drop table"))).rows
    assert {one.id for one in found} == {"run-1"}  # by a part of its name; ids are found by their beginning
    found = (await runs_page(database, None, RunFilter(search=kept_as[:12]))).rows
    assert {one.id for one in found} == {"run-1", kept_as}
    [long] = (await runs_page(database, None, RunFilter(search="rrrrr"))).rows
    assert len(long.id) < 200
    assert await run_detail(database, None, "r" * 100_000)


async def test_sums_stop_before_they_overflow(database: Database, ingestor: Ingestor) -> None:
    most = {semconv.GEN_AI_USAGE_INPUT_TOKENS: 10**12, semconv.COST_USD: 1e9, semconv.GEN_AI_RESPONSE_MODEL: "m"}
    for number in range(40):
        await send_spans(ingestor, [span(number + 1, 0, 0, 1, "llm.call", **most)])
    [row] = await usage_by(database, None, ("model",))
    assert row.used.input_tokens == 40 * 10**12
    assert row.used.cost_nano == 4 * 10**18


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "error"),
    [
        (b"\xff\xff\xff", PROTOBUF, "", MalformedError),
        (b"\x0a\xff\x01", PROTOBUF, "", MalformedError),
        (traces(run_of(1)).SerializeToString()[:-9], PROTOBUF, "", MalformedError),
        (b"not gzip", PROTOBUF, "gzip", MalformedError),
        (b"{}", "text/html", "", UnsupportedError),
        (b"{}", "application/json", "br", UnsupportedError),
        (b"[" * 100_000, "application/json", "", MalformedError),
        (b"\x0a\x84\x80\x40\x12\x80\x80\x40" + b"\x12\x00" * 2**19, PROTOBUF, "", TooLargeError),
        (b"x" * (17 * 2**20), PROTOBUF, "", TooLargeError),
    ],
)
async def test_what_cannot_be_taken(
    database: Database, ingestor: Ingestor, body: bytes, content_type: str, encoding: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await ingestor.take("traces", body, content_type=content_type, content_encoding=encoding)
    assert not (await runs_page(database, None, RunFilter())).rows
    await send_spans(ingestor, run_of(1))
    assert (await one_run(database)).spans == 4


@pytest.mark.slow
async def test_a_hundred_thousand_spans_at_once(database: Database, ingestor: Ingestor) -> None:
    many = [span(number // 100 + 1, number % 100, 0, 1, "tool.execute") for number in range(100_000)]
    assert (await send_spans(ingestor, many)).accepted == 100_000
    assert ingestor.figures.spans == 100_000
    [run, *_] = (await runs_page(database, None, RunFilter(search="run-7"))).rows
    assert run.spans == 100


async def test_full_is_said_at_once(database: Database) -> None:
    ingestor = Ingestor(database, replace(IngestLimits(), waiting=2))
    results = await asyncio.gather(*(send_spans(ingestor, run_of(one + 1)) for one in range(8)), return_exceptions=True)
    refused = [one for one in results if isinstance(one, FullError)]
    assert len(refused) == 6
    assert refused[0].retry_after_s >= 1
    await ingestor.close()
    assert len((await runs_page(database, None, RunFilter())).rows) == 2
    with pytest.raises(FullError):
        await send_spans(ingestor, run_of(1))
