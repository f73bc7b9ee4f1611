"""Webhooks of control planes: what was delivered, what waits, and for how long."""

from grafana.src import frame, outside
from grafana.src.panels import BAD, COUNT, GREEN, RED, YELLOW, Line, figure, graph
from grafana.src.queries import is_, or_zero, per_minute, series, total

ATTEMPTS = series(outside.WEBHOOK_ATTEMPTS)
DEAD = series(outside.WEBHOOK_ATTEMPTS, is_("result", "dead"))
NO_SERVER = "No control plane with webhooks is scraped: add it to Prometheus (docs/control-plane.md)"


def _waiting(endpoint: str) -> str:
    """How many deliveries wait: servers that share a database tell the same."""
    return f"max({series(outside.WEBHOOK_PENDING, is_('endpoint', endpoint))})"


def row() -> frame.Row:
    """The row of them on the dashboard Pipeline."""
    return "Webhooks of the control plane", [
        figure(
            "Webhook deliveries waiting",
            "Events that are to be delivered to enabled endpoints, those between two attempts included. The alert "
            "SpanhookWebhooksWaiting fires if they grow.",
            or_zero(_waiting("enabled")),
            unit=COUNT,
            empty="0",
            steps=((None, GREEN), (100, YELLOW)),
            width=6,
        ),
        figure(
            "Oldest webhook delivery",
            "How long the oldest of them has waited. By default, one that fails is tried for up to three hours.",
            or_zero(f"max({series(outside.WEBHOOK_OLDEST)})"),
            unit="s",
            empty="0",
            steps=((None, GREEN), (3600, YELLOW)),
            width=6,
        ),
        figure(
            "Webhook deliveries given up",
            "In the time shown: all attempts have failed, or the endpoint answered 410. They can be sent again. The "
            "alert SpanhookWebhooksGivenUp fires.",
            or_zero(total(DEAD)),
            unit=COUNT,
            empty="0",
            steps=BAD,
            width=6,
        ),
        figure(
            "Held for disabled endpoints",
            "Events that wait until their endpoint is enabled: it was disabled by a person, or failed too often.",
            or_zero(_waiting("disabled")),
            unit=COUNT,
            empty="0",
            steps=((None, GREEN), (1, YELLOW)),
            width=6,
        ),
        graph(
            "Webhook attempts",
            "Per minute. failed: it is tried again; dead: it is not.",
            Line(per_minute(ATTEMPTS, "result"), "{{result}}"),
            unit="cpm",
            empty=NO_SERVER,
            stacked=True,
            colours={"delivered": GREEN, "failed": YELLOW, "dead": RED},
        ),
        graph(
            "Webhook deliveries waiting, over time",
            "By whether their endpoint is enabled.",
            Line(f"max by (endpoint) ({series(outside.WEBHOOK_PENDING)})", "{{endpoint}}"),
            unit="short",
            empty=NO_SERVER,
        ),
    ]
