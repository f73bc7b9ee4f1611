"""Log records of OTLP as rows, and what their events say of runs and decisions."""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, cast

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from spanhook import semconv
from spanhook.store.control.attributes import (
    LARGEST,
    LONGEST_TEXT,
    MOST_COUNT,
    Found,
    count_of,
    nano,
    plain,
    read_all,
    text_of,
)
from spanhook.store.control.columns import MOST, clean
from spanhook.store.control.decision_facts import decision
from spanhook.store.control.facts import Batch, RunEvent, Used, short
from spanhook.store.control.spans import resource_row, scope_name
from spanhook.store.control.wire import Group, parsed


def decode_logs(groups: Iterable[Group], owner: str, now_ns: int) -> Batch:
    """The log records of a request; as ``decode_spans``."""
    batch = Batch()
    for resource_data, scope_data, records in groups:
        digest, service = resource_row(batch, resource_data, now_ns)
        scope = scope_name(scope_data)
        batch.received += len(records)
        for data in records:
            _add(batch, data, owner, digest, service, scope, now_ns)
    return batch


def _add(batch: Batch, data: bytes, owner: str, resource: bytes, service: str, scope: str, now_ns: int) -> None:
    if len(data) > LARGEST:
        batch.reject(f"a log record has more than {LARGEST} bytes")
        return
    record = parsed(LogRecord, data, "log record")
    found = read_all(record.attributes)
    tenant = owner or text_of(found, semconv.TENANT_ID)
    name = short(record.event_name)
    time_ns = min(record.time_unix_nano or record.observed_time_unix_nano or now_ns, MOST)
    body = plain(record.body) if record.HasField("body") else ""
    text = body if isinstance(body, str) else json.dumps(body)
    digest = blake2b(data, digest_size=16, key=resource, person=b"log")
    digest.update(owner.encode("utf-8", "replace"))
    batch.logs.append(
        (
            *(digest.digest(), owner, tenant, record.trace_id[:16], record.span_id[:8], name, record.severity_number),
            *(clean(text[:LONGEST_TEXT]), time_ns, scope, resource, data, now_ns),
        )
    )
    batch.size += len(data) + 1_000
    if name == semconv.EVENT_DECISION:
        _decision(batch, record, found, owner, tenant, time_ns)
    elif name == semconv.EVENT_RUN:
        _run(batch, record, found, owner, tenant, service, time_ns, body)


def _decision(batch: Batch, record: LogRecord, found: Found, owner: str, tenant: str, time_ns: int) -> None:
    of = (owner, tenant, text_of(found, semconv.RUN_ID), record.trace_id[:16], record.span_id[:8])
    names = (semconv.COVERAGE, semconv.KIND, semconv.TARGET, semconv.GEN_AI_AGENT_NAME, semconv.USER_ID)
    coverage, kind, target, agent, user = (text_of(found, name) for name in names)
    batch.decisions.append(decision(found, of, (coverage, kind, target, agent, user), time_ns, full=True))


def _run(
    batch: Batch, record: LogRecord, found: Found, owner: str, tenant: str, service: str, time_ns: int, body: Any
) -> None:
    run_id = text_of(found, semconv.RUN_ID)
    if not run_id:
        return
    duration = found.get(semconv.DURATION, 0.0)
    calls = count_of(found, semconv.LLM_CALLS)
    batch.events.append(
        RunEvent(
            (owner, run_id),
            record.trace_id[:16],
            record.span_id[:8],
            time_ns,
            nano(duration) if isinstance(duration, int | float) else 0,
            tenant,
            text_of(found, semconv.USER_ID),
            text_of(found, semconv.SESSION_ID),
            text_of(found, semconv.GEN_AI_AGENT_NAME),
            service,
            text_of(found, semconv.TARGET),
            text_of(found, semconv.KIND),
            text_of(found, semconv.STATUS),
            text_of(found, semconv.ERROR_TYPE),
            calls,
            count_of(found, semconv.TOOL_CALLS),
            _by_model(body, calls),
        )
    )


def _by_model(body: Any, calls: int) -> dict[str, Used]:
    """Usage by model from the body of a run's event.

    It does not say how many calls each model had: one each, and the others are the busiest one's.
    """
    given: Any = cast("dict[str, Any]", body).get(semconv.USAGE_BY_MODEL) if isinstance(body, dict) else None
    if not isinstance(given, dict):
        return {}
    models = cast("dict[str, Any]", given)
    found = {short(model): _used(cast(Found, one)) for model, one in models.items() if isinstance(one, dict)}
    if found:
        busiest = max(found, key=lambda one: (found[one].input_tokens + found[one].output_tokens, one))
        found[busiest] = found[busiest]._replace(calls=max(1, calls - len(found) + 1))
    return found


def _used(given: Found) -> Used:
    read, written = _count(given, "input_tokens"), _count(given, "output_tokens")
    cost = given.get("cost_usd")
    priced = isinstance(cost, int | float)
    return Used(
        1,
        read,
        written,
        _count(given.get("input_token_details"), "cache_read"),
        _count(given.get("input_token_details"), "cache_creation"),
        _count(given.get("output_token_details"), "reasoning"),
        0 if priced else read + written,
        nano(cost) if priced else 0,
    )


def _count(given: Any, name: str) -> int:
    value: Any = cast(Found, given).get(name, 0) if isinstance(given, dict) else 0
    return int(value) if isinstance(value, int | float) and 0 <= value <= MOST_COUNT else 0
