"""A load that was sent to the stack through its published ports, and whether its backends have all of it."""

import time
import uuid
from dataclasses import dataclass
from typing import Any

from tests.e2e.backends import Found, Loki, Prometheus, Tempo
from tests.e2e.loads import complete, figures, foretold_events, load
from tests.e2e.programs import until

RUNS = 300
PROMETHEUS, LOKI, TEMPO = (
    Prometheus("http://127.0.0.1:9090"),
    Loki("http://127.0.0.1:3100"),
    Tempo("http://127.0.0.1:3200"),
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load has printed, and whose telemetry it is."""

    document: Any
    service: str
    instance: str

    def await_arrival(self, *, sampled: bool = False) -> None:
        """Wait until all figures of the load are those of the backends: metrics, log events and spans.

        Args:
            sampled: Of traces, only those of runs that failed or were refused have to be there.
        """
        until(lambda: _asked(self._metrics), "metrics of the load", 120)
        until(lambda: _asked(self._told), "log events of the load", 120)
        until(lambda: _asked(self._broken if sampled else self._spans), "spans of the load", 120)

    def _metrics(self) -> bool:
        return complete(PROMETHEUS, self.document, self.instance)

    def _told(self) -> bool:
        return figures(self._events()) == foretold_events(self.document)

    def _events(self) -> list[dict[str, str]]:
        now = time.time()
        lines = LOKI.query(f'{{service_instance_id="{self.instance}"}}', now - 3600, now + 60)
        return [line["labels"] for line in lines]

    def _spans(self) -> bool:
        return len(self._found()) == sum(self.document["totals"]["spans"].values()) + sum(
            self.document["totals"]["guardrail_spans"].values()
        )

    def _broken(self) -> bool:
        broken = [one for one in self._events() if one.get("spanhook_status") in ("error", "rejected")]
        return {one["trace_id"] for one in broken} <= {one.trace_id for one in self._found()}

    def _found(self) -> list[Found]:
        return TEMPO.query(f'{{ resource.service.name = "{self.service}" }}')


def _asked(answers: Any) -> bool:
    """What a backend says; one that has just been started may answer with an error."""
    try:
        return answers()
    except OSError:
        return False


def send(endpoint: str, headers: str = "") -> Loaded:
    """Run a load that sends its telemetry there."""
    service, instance = f"shop-{uuid.uuid4()}", str(uuid.uuid4())
    environ = {
        "OTEL_SERVICE_NAME": service,
        "OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={instance}",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_METRIC_EXPORT_INTERVAL": "2000",
        "OTEL_BSP_MAX_QUEUE_SIZE": "20000",
    }
    return Loaded(
        load({**environ, **({"OTEL_EXPORTER_OTLP_HEADERS": headers} if headers else {})}, RUNS), service, instance
    )
