"""What collectors tell of themselves: what they take, keep, cut, send and give up."""

from grafana.src import frame, outside
from grafana.src.names import label
from grafana.src.panels import Line, Panel, graph
from grafana.src.queries import SERVICE, is_, rate, series, summed
from spanhook import semconv

NO_COLLECTOR = "No collector has reported: its own metrics go to Prometheus, not through itself"
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


def taken() -> frame.Row:
    """From applications to what is kept."""
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
            "Items per second that were refused, because memory or a queue is full. SDKs try again for a while.",
            *_by_signal(outside.RECEIVED, "refused", "instance"),
            *_by_signal(outside.RECEIVED, "failed", "instance"),
            unit="cps",
            empty="Nothing was refused in this time",
            width=8,
        ),
        graph(
            "Cut at 2 KB",
            "Spans per minute with an attribute that was cut, because Tempo keeps no more. If content is exported as "
            "events, the log event of the same trace and span has all of it.",
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
            "Traces that wait for their decision, and traces decided before they were complete, for lack of room.",
            Line(summed(series(outside.SAMPLING_HELD), "instance"), "held by {{instance}}"),
            Line(summed(rate(series(outside.SAMPLING_EARLY)), "instance"), "decided early by {{instance}}, per second"),
            unit="short",
            empty=NO_COLLECTOR,
            width=6,
        ),
        graph(
            "Late and not kept",
            "Spans per second that came after the decision not to keep their trace, however they ended: of runs "
            "that last longer than SPANHOOK_SAMPLING_WAIT, or of what goes on 10 s after its root has ended. "
            "Usage, decisions and log events are not affected.",
            Line(summed(rate(series(outside.SAMPLING_LATE, is_("sampled", "false"))), "instance"), "{{instance}}"),
            unit="cps",
            empty="No such span came in this time",
            width=6,
        ),
    ]


def sent() -> frame.Row:
    """From what is kept to the backends."""

    def full() -> str:
        by = ("instance", "exporter", "data_type")
        return f"{summed(series(outside.EXPORT_QUEUE), *by)} / {summed(series(outside.EXPORT_CAPACITY), *by)}"

    panels: list[Panel] = [
        graph(
            "Sent",
            "Items per second that a backend accepted.",
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
