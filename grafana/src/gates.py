"""Selectors that several dashboards share: what is ungated, what failed open, what was lost."""

from grafana.src import outside
from grafana.src.names import label
from grafana.src.queries import SERVICE, TENANT, is_, is_not, latest, or_zero, ours, risen, series, summed
from spanhook import semconv

ENFORCED = is_not(semconv.MODE, "shadow")
DECISIONS = ours(semconv.METRIC_DECISIONS, TENANT, ENFORCED)
DECIDED = ours(semconv.METRIC_DECISIONS, TENANT, ENFORCED, is_not(semconv.DECISION, "allow"))
REJECTED = ours(semconv.METRIC_DECISIONS, TENANT, ENFORCED, is_(semconv.DECISION, "reject"))
TIMED_OUT = ours(semconv.METRIC_DECISIONS, TENANT, ENFORCED, is_(semconv.DECISION, "timeout"))

_SHADOW = is_(semconv.MODE, "shadow")
SHADOWED = ours(semconv.METRIC_DECISIONS, TENANT, _SHADOW)
"""What hooks in shadow mode would have decided."""
SHADOW_STOPS = ours(semconv.METRIC_DECISIONS, TENANT, _SHADOW, is_not(semconv.DECISION, "allow"))
"""The same, without what they would have allowed."""

_FAILED_GATE = (
    TENANT,
    ENFORCED,
    f'{label(semconv.EVENT)}=~".+[.]pre"',
    is_(semconv.DECISION, "error", "timeout"),
)
FAILED_OPEN = ours(semconv.METRIC_DECISIONS, *_FAILED_GATE, is_(semconv.FAIL_MODE, "open"))
"""A hook before the call failed or took too long, and the call was made."""
FAILED_CLOSED = ours(semconv.METRIC_DECISIONS, *_FAILED_GATE, is_(semconv.FAIL_MODE, "closed"))
"""The same, and the call was refused."""

ATTEMPTED = ours(semconv.METRIC_DECISIONS, TENANT, ENFORCED, is_(semconv.DECISION, "attempted"))
"""Refusals on spans of other instrumentations, which may not have stopped the call."""
ANSWERED = ours(
    semconv.METRIC_DECISIONS,
    TENANT,
    ENFORCED,
    is_(semconv.EVENT, "llm.call.pre"),
    is_(semconv.DECISION, "reject", "replace"),
)
"""Model calls that were not made: refused, or answered by a hook."""
CIRCUITS = ours(semconv.METRIC_CIRCUIT_BREAKER_OPEN)
AUDIT_FAILED = ours(semconv.METRIC_AUDIT_FAILURES)
UNHEARD = ours(semconv.METRIC_DROPPED, is_(semconv.COMPONENT, "subscription"))
"""Events that subscriptions did not get."""

BOUND = ("bound", "waiting")
"""States of a library that is gated, or will be."""
_LIBRARY = ", ".join(label(one) for one in ("service.name", semconv.LIBRARY, semconv.LIBRARY_VERSION))
_UNBOUND = latest(ours(semconv.METRIC_POINTS, is_not(semconv.STATE, *BOUND, semconv.STATE_IMPORTABLE)))
UNBOUND = or_zero(f"count(count by ({_LIBRARY}) ({_UNBOUND}))")
"""Libraries of a service that are in use and not bound, of which some function is not wrapped, or whose version is not
supported."""


def _grown(selector: str, *by: str) -> str:
    return summed(risen(selector), *by)


def _given_up(signal: str, exported: str) -> str:
    """What exporters gave up: as spanhook counts it where it made them, else, or if that is more, as the SDK does."""
    ours_ = _grown(ours(semconv.METRIC_DROPPED, is_(semconv.COMPONENT, f"exporter.{signal}")), "service.name")
    sdks = _grown(series(exported, SERVICE, is_not(semconv.ERROR_TYPE, "")), "service.name")
    return f'sum(max by (service_name) (label_replace({ours_}, "by", "spanhook", "", "") or {sdks}))'


LOST = " + ".join(
    or_zero(expression)
    for expression in (
        *(_grown(series(name, SERVICE, is_not(semconv.ERROR_TYPE, ""))) for name in outside.SDK_PROCESSED),
        _given_up("traces", outside.SDK_EXPORTED[0]),
        _given_up("logs", outside.SDK_EXPORTED[2]),
        _grown(
            ours(semconv.METRIC_DROPPED, is_not(semconv.COMPONENT, "exporter.traces", "exporter.logs", "subscription"))
        ),
        *(_grown(series(outside.SENT.format(outcome="send_failed", signal=signal))) for signal in outside.SIGNALS),
        _grown(series(outside.SENT.format(outcome="enqueue_failed", signal="spans"), is_("exporter", outside.TEMPO))),
    )
)
"""Spans and log records that an SDK has given up, and items of all signals that a collector has.

A metric that an SDK could not send is not among them: the next export has the sum. Nor is what a collector refuses, or
finds no room for: an SDK sends it again, or gives it up. But nobody sends again what sampling kept and found no room on
its way to Tempo.
"""

FIRING = or_zero(f"count({series(outside.ALERTS, is_('alertstate', 'firing'))})")


def hook_seconds(*by: str) -> str:
    """Seconds that hooks take of calls, per second: none of those in shadow mode, which run beside them."""
    return summed(f"rate({ours(semconv.METRIC_HOOK_TIME, ENFORCED)}[$__rate_interval])", *by)
