"""How telemetry is reported: the settings and providers that the application gave."""

import operator
from typing import NamedTuple

from opentelemetry._logs import LoggerProvider
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from spanhook.settings import Settings


class Use(NamedTuple):
    """How telemetry is reported, as the application asked."""

    settings: Settings | None
    tracer_provider: TracerProvider | None
    meter_provider: MeterProvider | None
    logger_provider: LoggerProvider | None

    def over(self, before: "Use | None") -> "Use":
        """What is asked for now, and what that leaves open as it was before."""
        if before is None:
            return self
        return Use(
            self.settings or before.settings,
            before.tracer_provider if self.tracer_provider is None else self.tracer_provider,
            before.meter_provider if self.meter_provider is None else self.meter_provider,
            before.logger_provider if self.logger_provider is None else self.logger_provider,
        )

    def is_like(self, other: "Use | None") -> bool:
        """Whether it is the same; providers are never compared, as theirs may not be fit for it."""
        if other is None or self.settings != other.settings:
            return False
        return all(map(operator.is_, self[1:], other[1:]))
