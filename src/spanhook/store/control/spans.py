"""Spans of OTLP as rows, and what they say of runs, decisions and usage."""

from collections.abc import Iterable
from hashlib import blake2b

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanhook import semconv
from spanhook.store.control.attributes import LARGEST, Found, count_of, nano, number_of, read_all
from spanhook.store.control.columns import MOST
from spanhook.store.control.decision_facts import decision
from spanhook.store.control.facts import Batch, SpanFacts, Used, name, short
from spanhook.store.control.wire import Group, parsed

SERVICE_NAME = "service.name"
_HAS_REMOTE, _REMOTE = 0x100, 0x200
_NO_TRACE, _NO_SPAN = bytes(16), bytes(8)
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
            semconv.DECISION,
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
    if len(trace_id) != 16 or len(span_id) != 8 or trace_id == _NO_TRACE or span_id == _NO_SPAN:
        batch.reject("a span has no valid ids")
        return
    found = _read(span.attributes)
    get = found.get
    parent_id = span.parent_span_id[:8]
    run_id = short(get(semconv.RUN_ID, ""))
    tenant = owner or name(get(semconv.TENANT_ID, ""))
    kind, status = name(get(semconv.KIND, "")), name(get(semconv.STATUS, ""))
    start_ns = min(span.start_time_unix_nano, MOST)
    end_ns = max(start_ns, min(span.end_time_unix_nano, MOST))
    title = name(span.name)
    ids = (trace_id, span_id, parent_id, owner, tenant, run_id)
    row = (*ids, kind, status, title, start_ns, end_ns, scope, resource, data, now_ns)
    batch.size += len(data) + 1_000
    facts = None
    agent = name(get(semconv.GEN_AI_AGENT_NAME, ""))
    if run_id:
        model = name(get(semconv.GEN_AI_RESPONSE_MODEL) or get(semconv.GEN_AI_REQUEST_MODEL, ""))
        used = _used(found) if kind in _MODELS else None
        made = status != "rejected" and get(semconv.DECISION) != "replace" and semconv.IN_HOOK not in found
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
            used,
            int((made or used is not None) and kind == "llm.call"),
            int(made and kind == "tool.execute"),
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
