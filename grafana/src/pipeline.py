"""Pipeline: whether telemetry is complete, from the SDK's queue to the backends."""

from collections.abc import Callable

from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.src import collectors, frame, gates, outside, webhooks
from grafana.src.names import label
from grafana.src.panels import BAD, COUNT, GREEN, RED, Line, figure, graph
from grafana.src.queries import (
    SERVICE,
    counts,
    is_,
    is_not,
    or_zero,
    ours,
    per_minute,
    rate,
    seen,
    series,
    summed,
    total,
)
from grafana.src.tables import Column, rows
from spanhook import semconv

NO_SDK = "The SDK's own metrics are off: set OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED=true where the application starts"


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
            "Traces that a collector held or received, less those decided and those still held: what it had in "
            "memory when it was killed. Usage, decisions and log events are not affected.",
            lost,
            unit=COUNT,
            empty="0",
            steps=BAD,
        ),
        figure(
            "Spans exported",
            "Share of the spans that applications started and their SDKs sampled; a few are always on their way. "
            "Known only where SDKs report their own metrics: OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED=true.",
            f"{exported} / ({started} > 0)",
            unit="percentunit",
            empty="SDK metrics off",
            steps=((None, RED), (0.95, GREEN)),
        ),
        figure(
            "Traces kept",
            "Share of the traces decided. Errors, rejections, expensive and slow runs are always kept, and a "
            "share of the rest. On other dashboards only the tables of traces depend on it.",
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
            "Of those that Prometheus scrapes (collector/backends/targets/backends.yaml).",
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
            "Spans and log records that wait in the SDK. By default it holds 2,048 of each and drops what comes "
            "after that.",
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
                summed(
                    rate(ours(semconv.METRIC_DROPPED, is_not(semconv.COMPONENT, "subscription"))),
                    "service.name",
                    semconv.COMPONENT,
                ),
                f"{{{{service_name}}}} {{{{{label(semconv.COMPONENT)}}}}}",
            ),
            unit="cps",
            empty="Nothing was dropped in this time",
            width=8,
        ),
        graph(
            "Events not delivered",
            "Per minute: events that subscriptions (hooks.on) did not get, since the handler was too slow for them or "
            "the process had ended. Gates and telemetry are not affected.",
            Line(per_minute(gates.UNHEARD, "service.name"), "{{service_name}}"),
            unit="cpm",
            empty="Every event was delivered in this time",
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
            width=8,
            sort="Last report",
        ),
        rows(
            "Errors in spanhook, by place",
            "In the time shown. hook.hung: a blocking hook's thread that never came back. loop.hung: an async "
            "hook that blocked the loop.",
            counts(ours(semconv.METRIC_INTERNAL_ERRORS), "service.name", semconv.COMPONENT),
            columns={
                "service_name": Column("Service"),
                label(semconv.COMPONENT): Column("Component"),
                "Value": Column("Errors", unit=COUNT),
            },
            empty="No error in spanhook's own code in this time",
            width=8,
            sort="Errors",
        ),
    ]


def dashboard() -> Dashboard:
    """Whether telemetry is complete."""
    return frame.build(
        frame.PIPELINE,
        "Pipeline",
        "Whether telemetry is complete: what SDKs drop, what collectors refuse, keep, cut and give up.",
        [_complete(), _sdk(), collectors.taken(), collectors.sent(), webhooks.row()],
    )
