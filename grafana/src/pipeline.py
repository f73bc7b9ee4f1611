"""Pipeline: whether telemetry is complete, from the SDK's queue to the backends."""

from collections.abc import Callable

from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.src import frame, gates, outside
from grafana.src.names import label
from grafana.src.panels import COUNT, GREEN, RED, Line, Panel, figure, graph
from grafana.src.queries import SERVICE, counts, is_, is_not, or_zero, ours, rate, seen, series, summed, total
from grafana.src.tables import Column, rows
from spanhook import semconv

NO_SDK = "The SDK's own metrics are off: set OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED=true where the application starts"
NO_COLLECTOR = "No collector has reported: its own metrics go to Prometheus, not through itself"
BAD = ((None, GREEN), (1, RED))
OUTCOMES = {
    "refused": ["refused by"],
    "failed": ["failed in"],
    "send_failed": ["refused by"],
    "enqueue_failed": ["without room for"],
}
"""What stands between a signal and who it is about, where a graph shows two outcomes."""


def _by_signal(name: str, outcome: str, *by: str) -> list[Line]:
    legend = " ".join([*OUTCOMES.get(outcome, ()), *(f"{{{{{one}}}}}" for one in by)])
    return [
        Line(
            summed(rate(series(name.format(outcome=outcome, signal=signal))), *by),
            f"{title} {legend}".strip(),
        )
        for signal, title in outside.SIGNALS.items()
    ]


def _complete() -> frame.Row:
    exported = total(series(outside.SDK_EXPORTED[0], SERVICE, is_(semconv.ERROR_TYPE, "")))
    started = total(series(outside.SDK_STARTED, SERVICE, is_("otel_span_sampling_result", "RECORD_AND_SAMPLE")))
    kept = series(outside.SAMPLING_DECIDED, is_("sampled", "true"))
    held = series(outside.SAMPLING_HELD)
    lost = (
        f"clamp_min({or_zero(total(series(outside.SAMPLING_TRACES)))} + {or_zero(summed(f'{held} offset $__range'))} - "
        f"{or_zero(total(series(outside.SAMPLING_DECIDED)))} - {or_zero(summed(held))}, 0)"
    )
    return "Is telemetry complete", [
        figure(
            "Items lost",
            "Spans and log records that an SDK, and items of any signal that a collector has given up.",
            gates.LOST,
            unit=COUNT,
            empty="0",
            steps=BAD,
        ),
        figure(
            "Traces lost",
            "Traces that a collector held or received, less those decided and those still held: what it had in memory "
            "when it was killed. Usage, decisions and log events are not among it.",
            lost,
            unit=COUNT,
            empty="0",
            steps=BAD,
        ),
        figure(
            "Spans exported",
            "Share of the spans that applications started and their SDKs sampled; a few are always on their way. SDKs "
            "tell it with OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED=true alone.",
            f"{exported} / ({started} > 0)",
            unit="percentunit",
            empty="SDK metrics off",
            steps=((None, RED), (0.95, GREEN)),
        ),
        figure(
            "Traces kept",
            "Share of the traces decided. Errors, rejections, dear and slow runs are always kept, of the rest a "
            "share. No figure "
            "on other dashboards depends on it but those of tables of traces.",
            f"{total(kept)} / ({total(series(outside.SAMPLING_DECIDED))} > 0)",
            unit="percentunit",
            empty="None decided",
        ),
        figure(
            "Errors in spanhook",
            "Errors in spanhook's own code. They never reach the application; what they cost is a span or a figure.",
            or_zero(total(ours(semconv.METRIC_INTERNAL_ERRORS))),
            unit=COUNT,
            empty="0",
            steps=BAD,
        ),
        figure(
            "Backends down",
            "Of those that Prometheus asks (collector/backends/targets/backends.yaml).",
            or_zero(f"count({series(outside.UP, is_('job', 'backends'))} == 0)"),
            unit=COUNT,
            empty="0",
            steps=BAD,
        ),
    ]


def _sdk() -> frame.Row:
    component = "{{service_name}} {{otel_component_name}}"
    by = ("service_name", "otel_component_name")

    def of(names: tuple[str, ...], shape: Callable[[str], str], *matchers: str) -> list[Line]:
        return [Line(summed(shape(series(name, SERVICE, *matchers)), *by), component) for name in names]

    failed = is_not(semconv.ERROR_TYPE, "")
    return "In the application: the SDK", [
        graph(
            "Queue",
            "Spans and log records that wait in the SDK. It holds 2,048 of each unless told otherwise, and drops "
            "what comes then.",
            *of(outside.SDK_QUEUE, str),
            unit="short",
            empty=NO_SDK,
            width=8,
        ),
        graph(
            "Exported",
            "Items per second that left the process.",
            *of(outside.SDK_EXPORTED, rate, is_(semconv.ERROR_TYPE, "")),
            unit="cps",
            empty=NO_SDK,
            width=8,
        ),
        graph(
            "Dropped and not exported",
            "Items per second: dropped by a full queue, refused by the collector, or not kept by spanhook.",
            *of((*outside.SDK_PROCESSED, *outside.SDK_EXPORTED), rate, failed),
            Line(
                summed(rate(ours(semconv.METRIC_DROPPED)), "service.name", semconv.COMPONENT),
                f"{{{{service_name}}}} {{{{{label(semconv.COMPONENT)}}}}}",
            ),
            unit="cps",
            empty="Nothing was dropped in this time",
            width=8,
        ),
        rows(
            "Services by last report",
            "When each service last reported. One that is silent is down, or its telemetry is.",
            seen(ours(semconv.METRIC_INFO), "service.name"),
            columns={
                "service_name": Column("Service", url=frame.service_url(), link="This service's agents"),
                "Value": Column("Last report", unit="dateTimeFromNow"),
            },
            empty="No service has reported in this time: OTEL_EXPORTER_OTLP_ENDPOINT is not set, or leads elsewhere",
            sort="Last report",
        ),
        rows(
            "Errors in spanhook, by place",
            "Over the time shown. hook.hung: a blocking hook's thread that never came back.",
            counts(ours(semconv.METRIC_INTERNAL_ERRORS), "service.name", semconv.COMPONENT),
            columns={
                "service_name": Column("Service"),
                label(semconv.COMPONENT): Column("Component"),
                "Value": Column("Errors", unit=COUNT),
            },
            empty="No error in spanhook's own code in this time",
            sort="Errors",
        ),
    ]


def _collector() -> frame.Row:
    policy = summed(rate(series(outside.SAMPLING_BY_POLICY, is_("sampled", "true"))), "policy")
    decided = series(outside.SAMPLING_DECIDED)
    truncated = series(outside.SPAN_CALLS, SERVICE, is_(outside.TRUNCATED, "true"))
    return "In the collector: in, and what is kept", [
        graph(
            "Received",
            "Items per second.",
            *_by_signal(outside.RECEIVED, "accepted"),
            unit="cps",
            empty=NO_COLLECTOR,
            width=8,
        ),
        graph(
            "Refused",
            "Items per second that were not taken, for lack of memory or because a queue is full. SDKs try again for "
            "a while.",
            *_by_signal(outside.RECEIVED, "refused", "instance"),
            *_by_signal(outside.RECEIVED, "failed", "instance"),
            unit="cps",
            empty="Nothing was refused in this time",
            width=8,
        ),
        graph(
            "Cut at 2 KB",
            "Spans a minute of which an attribute was cut, since Tempo keeps no more. The whole of it stands in the "
            "log event of "
            "the same trace and span, where content is exported as events.",
            Line(f"{summed(rate(truncated), semconv.KIND)} * 60", f"{{{{{label(semconv.KIND)}}}}}"),
            unit="cpm",
            empty="No span was cut in this time",
            width=8,
        ),
        graph(
            "Traces kept and not",
            "Per second, decided 10 s after a trace's root span has come.",
            Line(f"{summed(rate(decided), 'decision')}", "{{decision}}"),
            unit="cps",
            empty="No trace was decided in this time",
            stacked=True,
            width=6,
        ),
        graph(
            "Kept, by policy",
            "Per second. A trace that several policies would keep counts for each.",
            Line(policy, "{{policy}}"),
            unit="cps",
            empty="No trace was kept in this time",
            width=6,
        ),
        graph(
            "Traces held",
            "Waiting for their decision, and those decided before they were whole since there was no room for more.",
            Line(summed(series(outside.SAMPLING_HELD), "instance"), "held by {{instance}}"),
            Line(summed(rate(series(outside.SAMPLING_EARLY)), "instance"), "decided early by {{instance}}, per second"),
            unit="short",
            empty=NO_COLLECTOR,
            width=6,
        ),
        graph(
            "Late and not kept",
            "Spans per second that came after the decision not to keep their trace, however they ended: of runs that "
            "last longer than SPANHOOK_SAMPLING_WAIT, or of what goes on 10 s after its root has ended. Usage, "
            "decisions and log events are not among it.",
            Line(summed(rate(series(outside.SAMPLING_LATE, is_("sampled", "false"))), "instance"), "{{instance}}"),
            unit="cps",
            empty="No such span came in this time",
            width=6,
        ),
    ]


def _out() -> frame.Row:
    def full() -> str:
        by = ("instance", "exporter", "data_type")
        return f"{summed(series(outside.EXPORT_QUEUE), *by)} / {summed(series(outside.EXPORT_CAPACITY), *by)}"

    panels: list[Panel] = [
        graph(
            "Sent",
            "Items per second that a backend has taken.",
            *_by_signal(outside.SENT, "sent", "exporter"),
            unit="cps",
            empty=NO_COLLECTOR,
            width=8,
        ),
        graph(
            "Given up",
            "Items per second that a backend refused for good, or that found no room in the queue.",
            *_by_signal(outside.SENT, "send_failed", "exporter"),
            *_by_signal(outside.SENT, "enqueue_failed", "exporter"),
            unit="cps",
            empty="Nothing was given up in this time",
            width=8,
        ),
        graph(
            "Queues",
            "How full the queues on disk are. They grow while a backend is away.",
            Line(full(), "{{exporter}} {{data_type}} {{instance}}"),
            unit="percentunit",
            most=1,
            empty=NO_COLLECTOR,
            width=8,
        ),
        graph(
            "Memory",
            "Of each collector's process.",
            Line(summed(series(outside.COLLECTOR_MEMORY), "instance"), "{{instance}}"),
            unit="bytes",
            empty=NO_COLLECTOR,
            width=8,
        ),
        graph(
            "CPU",
            "Cores that each collector uses.",
            Line(summed(rate(series(outside.COLLECTOR_CPU)), "instance"), "{{instance}}"),
            unit="none",
            empty=NO_COLLECTOR,
            width=8,
        ),
        graph(
            "Who calls whom",
            "Calls per second from services to model providers and data sources, out of spans, before sampling.",
            Line(
                summed(rate(series(outside.GRAPH_REQUESTS, 'client=~"$service"')), "client", "server"),
                "{{client}} to {{server}}",
            ),
            unit="cps",
            empty="No span of a call to a model in this time",
            width=8,
        ),
    ]
    return "In the collector: out", panels


def dashboard() -> Dashboard:
    """Whether telemetry is complete."""
    return frame.build(
        frame.PIPELINE,
        "Pipeline",
        "Whether telemetry is complete: what SDKs drop, what collectors refuse, keep, cut and give up.",
        [_complete(), _sdk(), _collector(), _out()],
    )
