"""Spans of OTLP as rows, and what they say of runs, decisions and usage."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanhook import semconv
from spanhook.store.control.columns import MOST, clean
from spanhook.store.control.facts import Batch, DecisionFacts, SpanFacts, Used, name, short
from spanhook.store.control.wire import Group, parsed

NANO = 1_000_000_000
DAY_NS = 86_400 * NANO
LARGEST = 4 * 1024 * 1024
"""Bytes of one record; larger ones are rejected."""
LONGEST_TEXT = 4_000
"""Characters of texts that are in no index."""
SERVICE_NAME = "service.name"
MOST_COUNT, MOST_NANO = 10**12, 10**18
"""What no single call can use: such numbers are mistakes, or meant to do harm."""
_HAS_REMOTE, _REMOTE = 0x100, 0x200
_MODELS = ("llm.call", "embeddings.create")

_TEXT, _NUMBER, _FLAG = 1, 2, 3
_READ = {
    **dict.fromkeys(
        (
            semconv.KIND,
            semconv.STATUS,
            semconv.RUN_ID,
            semconv.TENANT_ID,
            semconv.USER_ID,
            semconv.SESSION_ID,
            semconv.GEN_AI_AGENT_NAME,
            semconv.GEN_AI_REQUEST_MODEL,
            semconv.GEN_AI_RESPONSE_MODEL,
            semconv.ERROR_TYPE,
            semconv.COVERAGE,
            semconv.GEN_AI_TOOL_NAME,
            semconv.OPERATION_NAME,
        ),
        _TEXT,
    ),
    **dict.fromkeys(
        (
            semconv.GEN_AI_USAGE_INPUT_TOKENS,
            semconv.GEN_AI_USAGE_OUTPUT_TOKENS,
            semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
            semconv.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
            semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS,
            semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
            semconv.COST_USD,
        ),
        _NUMBER,
    ),
    semconv.IN_HOOK: _FLAG,
}
"""The attributes of spans that matter here."""
Found = dict[str, Any]


def number_of(value: Any) -> float:
    """A number of OTLP, of whichever type."""
    return value.int_value or value.double_value


def count_of(found: Found, name: str) -> int:
    """A count; 0 for what can be none."""
    value = found.get(name, 0)
    return int(value) if isinstance(value, int | float) and 0 <= value <= MOST_COUNT else 0


def nano(value: float) -> int:
    """Billionths of a number; 0 for what is none, such as infinity."""
    billionths = value * 1e9
    return round(billionths) if 0 <= billionths <= MOST_NANO else 0


def resource_row(batch: Batch, data: bytes, now_ns: int) -> tuple[bytes, str]:
    """The digest of a resource and the name of its service; it is added to the batch.

    Raises:
        MalformedError: It is no resource.
    """
    digest = blake2b(data, digest_size=16).digest()
    known = batch.resources.get(digest)
    if known is None:
        attributes = parsed(Resource, data, "resource").attributes
        service = next((one.value.string_value for one in attributes if one.key == SERVICE_NAME), "")
        known = batch.resources[digest] = (digest, short(service), data, now_ns)
    return digest, known[1]


def scope_name(data: bytes) -> str:
    """The name of a scope.

    Raises:
        MalformedError: It is no scope.
    """
    return short(parsed(InstrumentationScope, data, "scope").name)


def decode_spans(groups: Iterable[Group], owner: str, now_ns: int) -> Batch:
    """The spans of a request.

    Args:
        groups: What ``wire.groups`` found in it.
        owner: The tenant of whoever sent it; empty if the spans say themselves whose they are.
        now_ns: The time, in nanoseconds since the epoch.

    Raises:
        MalformedError: It is no request of OTLP. Single spans that cannot be kept are rejected in the batch.
    """
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
        batch.reject(f"a span has more than {LARGEST} bytes")
        return
    span = parsed(Span, data, "span")
    trace_id, span_id = span.trace_id, span.span_id
    if len(trace_id) != 16 or len(span_id) != 8 or not any(trace_id) or not any(span_id):
        batch.reject("a span has no valid ids")
        return
    found = _read(span.attributes)
    get = found.get
    parent_id = span.parent_span_id
    run_id = short(get(semconv.RUN_ID, ""))
    tenant = owner or name(get(semconv.TENANT_ID, ""))
    kind, status = name(get(semconv.KIND, "")), name(get(semconv.STATUS, ""))
    start_ns = min(span.start_time_unix_nano, MOST)
    end_ns = max(start_ns, min(span.end_time_unix_nano, MOST))
    title = name(span.name)
    row = (
        *(trace_id, span_id, parent_id, owner, tenant, run_id, kind, status, title, start_ns, end_ns, scope, resource),
        *(data, now_ns),
    )
    batch.size += len(data) + 1_000
    facts = None
    agent = name(get(semconv.GEN_AI_AGENT_NAME, ""))
    if run_id:
        model = name(get(semconv.GEN_AI_RESPONSE_MODEL) or get(semconv.GEN_AI_REQUEST_MODEL, ""))
        used = _used(found) if kind in _MODELS else None
        beside = semconv.IN_HOOK in found
        if beside and used is not None:
            who = (start_ns // DAY_NS, tenant, name(get(semconv.USER_ID, "")), agent, model)
            batch.beside.append((len(batch.spans), who, used))
        counted = not beside and status != "rejected"
        facts = SpanFacts(
            (owner, run_id),
            trace_id,
            span_id,
            parent_id,
            span.flags & _HAS_REMOTE != 0 and span.flags & _REMOTE != 0,
            start_ns,
            end_ns,
            tenant,
            name(get(semconv.USER_ID, "")),
            name(get(semconv.SESSION_ID, "")),
            agent,
            service,
            title,
            kind,
            status,
            name(get(semconv.ERROR_TYPE, "")),
            model,
            None if beside else used,
            int(counted and kind == "llm.call"),
            int(counted and kind == "tool.execute"),
        )
    batch.spans.append((row, facts))
    if span.events:
        target = get(semconv.GEN_AI_TOOL_NAME) or agent or get(semconv.GEN_AI_REQUEST_MODEL, "")
        for event in span.events:
            if event.name == semconv.EVENT_DECISION:
                noted = read_all(event.attributes)
                of = (owner, tenant, run_id, trace_id, span_id)
                about = (get(semconv.COVERAGE, ""), kind, target, agent, get(semconv.USER_ID, ""))
                batch.decisions.append(decision(noted, of, about, min(event.time_unix_nano, MOST), full=False))


def _read(attributes: Iterable[KeyValue]) -> Found:
    """The attributes that matter here."""
    found: Found = {}
    sort_of = _READ.get
    for one in attributes:
        key = one.key
        sort = sort_of(key)
        if sort is None:
            continue
        if sort == _TEXT:
            found[key] = one.value.string_value
        elif sort == _NUMBER:
            found[key] = number_of(one.value)
        elif one.value.bool_value:
            found[key] = True
    return found


def read_all(attributes: Iterable[KeyValue]) -> Found:
    """All attributes that are texts or numbers."""
    found: Found = {}
    for one in attributes:
        sort = one.value.WhichOneof("value")
        if sort in ("string_value", "int_value", "double_value", "bool_value"):
            found[one.key] = getattr(one.value, sort)
    return found


def _used(found: Found) -> Used | None:
    """What a model call used; ``None`` if it does not say."""
    if semconv.GEN_AI_USAGE_INPUT_TOKENS not in found and semconv.GEN_AI_USAGE_OUTPUT_TOKENS not in found:
        return None
    read, written = (
        count_of(found, semconv.GEN_AI_USAGE_INPUT_TOKENS),
        count_of(found, semconv.GEN_AI_USAGE_OUTPUT_TOKENS),
    )
    cost = found.get(semconv.COST_USD)
    return Used(
        1,
        read,
        written,
        count_of(found, semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS),
        count_of(found, semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS)
        or count_of(found, semconv.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS),
        count_of(found, semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS),
        read + written if cost is None else 0,
        0 if cost is None else nano(cost),
    )


def text_of(found: Found, name: str) -> str:
    """An attribute as a text that fits into an index; empty if there is none."""
    value = found.get(name, "")
    return short(value) if isinstance(value, str) else ""


def decision(
    found: Found,
    of: tuple[str, str, str, bytes, bytes],
    about: tuple[str, str, str, str, str],
    time_ns: int,
    *,
    full: bool,
) -> DecisionFacts:
    """A decision from the attributes of its event.

    Args:
        found: The attributes.
        of: Owner, tenant, run id, trace id, span id.
        about: Coverage, kind, target, agent, user.
        time_ns: When it was made, in nanoseconds since the epoch.
        full: Whether it is from a log event.
    """
    owner, tenant, run_id, trace_id, span_id = of
    hook, event, made = (text_of(found, name) for name in (semconv.HOOK, semconv.EVENT, semconv.DECISION))
    elapsed = found.get(semconv.HOOK_DURATION, 0)
    elapsed_ns = nano(elapsed) if isinstance(elapsed, int | float) else 0
    told = (owner, trace_id.hex(), span_id.hex(), hook, event, made, elapsed_ns, "" if any(span_id) else time_ns)
    reason, status_code = found.get(semconv.DECISION_REASON, ""), found.get(semconv.STATUS_CODE, 0)
    coverage, kind, target, agent, user = (short(str(one)) for one in about)
    return DecisionFacts(
        key=blake2b(repr(told).encode("utf-8", "replace"), digest_size=16).digest(),
        full=full,
        owner=owner,
        tenant_id=tenant,
        run_id=run_id,
        trace_id=trace_id,
        span_id=span_id,
        hook=hook,
        event_type=event,
        decision=made,
        reason=clean(str(reason)[:LONGEST_TEXT]),
        mode=text_of(found, semconv.MODE) or "enforce",
        fail_mode=text_of(found, semconv.FAIL_MODE),
        coverage=coverage,
        kind=kind,
        target=target,
        agent=agent,
        user_id=user,
        status_code=int(status_code) if isinstance(status_code, int) and 0 <= status_code < 1000 else 0,
        elapsed_ns=elapsed_ns,
        time_ns=time_ns,
    )
