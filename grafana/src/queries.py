"""Expressions: PromQL over spanhook's metrics, LogQL over its two log events, TraceQL over its spans."""

import json
from collections.abc import Sequence
from urllib.parse import quote

from grafana.src.names import Part, label, metric
from spanhook import semconv
from spanhook.telemetry import SCOPE

SCOPED = f'otel_scope_name="{SCOPE}"'
"""A matcher: spanhook reports the series. Frameworks and other instrumentations report the same names about the same
calls, and Prometheus keeps the scope as a label (``promote_scope_metadata``)."""
SERVICE = 'service_name=~"$service"'
AGENT = f'{label(semconv.GEN_AI_AGENT_NAME)}=~"$agent"'
TENANT = f'{label(semconv.TENANT_ID)}=~"$tenant"'
MODEL = f'{label(semconv.GEN_AI_RESPONSE_MODEL)}=~"$model"'
ASKED_MODEL = f'{label(semconv.GEN_AI_REQUEST_MODEL)}=~"$model"'
"""A call that failed has no response, so no model of a response."""


def is_(name: str, *values: str) -> str:
    """A matcher: the attribute has one of these values."""
    return f'{label(name)}="{values[0]}"' if len(values) == 1 else f'{label(name)}=~"{"|".join(values)}"'


def is_not(name: str, *values: str) -> str:
    """A matcher: the attribute has none of these values."""
    return f'{label(name)}!="{values[0]}"' if len(values) == 1 else f'{label(name)}!~"{"|".join(values)}"'


# --------------------------------------------------------------------------- PromQL


def series(name: str, *matchers: str) -> str:
    """A selector of series by the name that Prometheus has; of names of the conventions, only what spanhook reports."""
    scope = (SCOPED,) if name.startswith("gen_ai_") else ()
    return f"{name}{{{', '.join((*scope, *matchers))}}}"


def ours(name: str, *matchers: str, part: Part = "") -> str:
    """A selector of spanhook's own series, of the services chosen."""
    return series(metric(name, part), SERVICE, *matchers)


def summed(expression: str, *by: str) -> str:
    """The sum, for each value of these attributes."""
    return f"sum{_by(by)} ({expression})"


def _by(attributes: Sequence[str]) -> str:
    return f" by ({', '.join(label(one) for one in attributes)})" if attributes else ""


def rate(selector: str) -> str:
    """Growth per second."""
    return f"rate({selector}[$__rate_interval])"


def per_minute(selector: str, *by: str) -> str:
    """How many a minute."""
    return f"{summed(rate(selector), *by)} * 60"


def growth(selector: str) -> str:
    """What each counter has grown by in the time shown, to the unit.

    ``increase`` extrapolates to the edges of the range: a count of 300 within eight seconds is reported as 450. So
    it is the largest value less the one at the start, which is zero for a series that was not there: one begins with
    what it first counts, maybe hours after its process. Where a counter was reset in between, ``increase`` has to do.
    """
    largest = f"max_over_time({selector}[$__range])"
    exact = f"({largest} - ({_before(selector)} or 0 * {largest}) >= 0)"
    return f"{exact} unless resets({selector}[$__range]) > 0 or increase({selector}[$__range])"


def risen(selector: str) -> str:
    """About what each counter has grown by in the time shown; of those that were not there before, all of it.

    ``increase`` alone misses a series' first step, and rare events may have no second.
    """
    return f"last_over_time({selector}[$__range]) unless {_before(selector)} > 0 or increase({selector}[$__range])"


def _before(selector: str) -> str:
    """The last value before the time shown, of what reported in the hour before it."""
    return f"last_over_time({selector}[1h] offset $__range)"


def total(selector: str, *by: str) -> str:
    """What was counted in the time shown."""
    return summed(growth(selector), *by)


def counts(selector: str, *by: str) -> str:
    """Counts in the time shown, without zeros: for tables."""
    return f"{total(selector, *by)} > 0"


def share(part: str, whole: str, *by: str) -> str:
    """The share of a part in a whole, as rates; 0 if there is a whole but no part."""
    below = summed(rate(whole), *by)
    return f"({summed(rate(part), *by)} or 0 * {below}) / ({below} > 0)"


def share_of_total(part: str, whole: str) -> str:
    """The share of a part in a whole, in the time shown; 0 if there is a whole but no part."""
    return f"{or_zero(total(part))} / ({total(whole)} > 0)"


def latest(selector: str) -> str:
    """The last value in the time shown, of processes that have ended too."""
    return f"last_over_time({selector}[$__range])"


def seen(selector: str, *by: str) -> str:
    """When a gauge was last reported, in milliseconds as Grafana takes dates."""
    return f"max{_by(by)} (max_over_time(timestamp({selector})[$__range:1m])) * 1000"


def quantile(of: float, buckets: str, *by: str, over: str = "$__rate_interval", offset: str = "") -> str:
    """A quantile of a histogram, from a selector of its buckets."""
    ago = f" offset {offset}" if offset else ""
    return f"histogram_quantile({of}, {summed(f'rate({buckets}[{over}]{ago})', 'le', *by)})"


def mean(name: str, *by: str, matchers: Sequence[str] = ()) -> str:
    """The mean of what a histogram of spanhook's has recorded."""
    above, below = (ours(name, *matchers, part=part) for part in ("_sum", "_count"))
    return f"{summed(rate(above), *by)} / ({summed(rate(below), *by)} > 0)"


def or_zero(expression: str) -> str:
    """0 if there is no data: for figures where none is good news."""
    return f"({expression} or vector(0))"


# --------------------------------------------------------------------------- LogQL


def events(name: str, *conditions: str) -> str:
    """Log events of a name, of the services, agents and tenants chosen."""
    stages = [f'event_name="{name}"', AGENT, TENANT, *conditions]
    return " | ".join([f"{{{SERVICE}}}", *stages])


def runs(*conditions: str) -> str:
    """The event of each outermost operation."""
    return events(semconv.EVENT_RUN, *conditions)


def decisions(*conditions: str) -> str:
    """The event of each enforced decision except ``allow``."""
    return events(semconv.EVENT_DECISION, is_not(semconv.MODE, "shadow"), *conditions)


def shadow_decisions(*conditions: str) -> str:
    """The event of each decision that a hook in shadow mode would have made, except ``allow``."""
    return events(semconv.EVENT_DECISION, is_(semconv.MODE, "shadow"), *conditions)


def counted(log: str, *by: str) -> str:
    """How many of these log events there were in the time shown."""
    return f"sum{_by(by)} (count_over_time({log} [$__range]))"


def added(log: str, attribute: str, *by: str) -> str:
    """The sum of a number in these log events in the time shown."""
    return f"sum{_by(by)} (sum_over_time({log} | unwrap {label(attribute)} [$__range]))"


def largest(log: str, attribute: str, *by: str) -> str:
    """The largest of a number in these log events in the time shown."""
    return f"max{_by(by)} (max_over_time({log} | unwrap {label(attribute)} [$__range]))"


def top(count: int, expression: str) -> str:
    """The largest."""
    return f"topk({count}, {expression})"


# --------------------------------------------------------------------------- TraceQL

TRACE_SERVICE = 'resource.service.name =~ "$service"'


def attribute(name: str) -> str:
    """An attribute of a span, quoted: the grammar of Grafana's editor needs it."""
    return f'span."{name}"'


def spans(*conditions: str, show: Sequence[str] = ()) -> str:
    """Spans that were kept, of the services chosen.

    Args:
        conditions: What must hold of them.
        show: Attributes that become columns, besides the span's name.
    """
    found = f"{{ {' && '.join([TRACE_SERVICE, *conditions])} }}"
    return f"{found} | select({', '.join(['name', *(attribute(one) for one in show)])})"


# --------------------------------------------------------------------------- addresses

CLICKED = "${__value.raw:percentencode}"
"""The clicked value as a URL parameter, encoded: Grafana does not escape ``&`` and ``#`` in names."""

_TRACE = {
    "datasource": "tempo",
    "queries": [
        {"refId": "A", "datasource": {"type": "tempo", "uid": "tempo"}, "queryType": "traceql", "query": "TRACE"}
    ],
    "range": {"from": "FROM", "to": "TO"},
}


def trace_url() -> str:
    """Where the trace is shown whose id is the value clicked."""
    panes = quote(json.dumps({"trace": _TRACE}, separators=(",", ":")), safe="")
    for word, variable in (("TRACE", "${__value.raw}"), ("FROM", "${__from}"), ("TO", "${__to}")):
        panes = panes.replace(f"%22{word}%22", f"%22{variable}%22")
    return f"/explore?schemaVersion=1&orgId=1&panes={panes}"


def dashboard_url(uid: str) -> str:
    """Another dashboard, for the same time and the same choices."""
    return f"/d/{uid}?${{__url_time_range}}&${{__all_variables}}"


def chosen_url(uid: str, variable: str) -> str:
    """Another dashboard, for the value clicked alone."""
    return f"/d/{uid}?${{__url_time_range}}&${{service:queryparam}}&var-{variable}={CLICKED}"
