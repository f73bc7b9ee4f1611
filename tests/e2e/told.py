"""A load that the stack has taken, and what it has printed: what answers are held against."""

import uuid
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from tests.e2e.loads import complete, load
from tests.e2e.programs import until
from tests.e2e.stack import Stack

Answer = dict[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Told:
    """A load under a service name of its own, whose metrics are in Prometheus, and the document it has printed."""

    stack: Stack
    service: str
    document: Any

    def counted(self, metric: str, *by: str, field: str = "value", times: float = 1, **wanted: Any) -> Answer:
        """What the load has counted, by attributes; sets that stand at zero left out.

        Args:
            metric: The metric's OpenTelemetry name.
            by: Attributes to sum by.
            field: ``value`` of counters; ``count`` or ``sum`` of histograms.
            times: What every sum is multiplied by.
            wanted: Values to take, of the attribute that ends with this word.
        """
        found: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for row in self.document["metrics"][metric]:
            attributes = {name: str(value) for name, value in row["attributes"].items()}
            last = {name.rpartition(".")[2]: value for name, value in attributes.items()}
            if row[field] and all(last.get(word, "") in values for word, values in wanted.items()):
                found[tuple(attributes.get(one, "") for one in by)] += row[field] * times
        return dict(found)


def tell(stack: Stack) -> Told:
    """Run a load, and wait until its metrics are in Prometheus."""
    service, instance = f"shop-{uuid.uuid4()}", str(uuid.uuid4())
    resource = f"service.instance.id={instance}"
    document = load({**stack.environ(), "OTEL_SERVICE_NAME": service, "OTEL_RESOURCE_ATTRIBUTES": resource})
    until(lambda: complete(stack.prometheus, document, instance), "metrics of the load")
    return Told(stack, service, document)
