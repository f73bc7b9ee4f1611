"""Decisions from their events, on spans and in logs: the same decision has the same key."""

from hashlib import blake2b

from spanhook import semconv
from spanhook.store.control.attributes import LONGEST_TEXT, Found, nano, text_of
from spanhook.store.control.columns import clean
from spanhook.store.control.facts import DecisionFacts, short


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
