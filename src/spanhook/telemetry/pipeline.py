"""Where spans, metrics and log events go: the providers in use, even if they are created late.

A global provider is never replaced. What the application has not configured costs nothing here.
"""

from collections.abc import Mapping
from typing import Any

from opentelemetry import _logs, metrics, trace
from opentelemetry._logs import Logger, LoggerProvider
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from spanhook.diagnostics import internal
from spanhook.fork import after_fork
from spanhook.identity import ByIdentity
from spanhook.settings import Settings
from spanhook.telemetry.metrics import SCOPE, Gauge, Instruments, Snapshot, counts
from spanhook.telemetry.naming import V1_41, chosen
from spanhook.telemetry.spans import Opener
from spanhook.version import __version__


class Telemetry:
    """The tracer, the instruments and the logger in use; the latter two are ``None`` without a provider."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.usage_is_limited = False
        self.span_content = False
        self.event_content = False
        self.error_messages = False
        self.values = False
        self.content = False
        self.gauges: Mapping[str, Gauge] = {}
        self.naming = V1_41
        self.opener = self._opener(None)
        self._tracer_provider: TracerProvider | None = None
        self.instruments: Instruments | None = None
        self.logger: Logger | None = None
        self._meter_provider: MeterProvider | None = None
        self._logger_provider: LoggerProvider | None = None
        self._known = ByIdentity[MeterProvider, Instruments]()
        self._since = Snapshot(taken=False)
        self._forked = False

    def configure(
        self,
        settings: Settings,
        tracer_provider: TracerProvider | None,
        meter_provider: MeterProvider | None,
        logger_provider: LoggerProvider | None,
        gauges: Mapping[str, Gauge],
    ) -> None:
        """Use these providers, or the global ones for ``None``."""
        captured = settings.captured()
        self.settings, self.gauges = settings, gauges
        self.span_content = captured in ("SPAN_ONLY", "SPAN_AND_EVENT")
        self.event_content = captured in ("EVENT_ONLY", "SPAN_AND_EVENT")
        self.values = settings.input_output_values
        self.error_messages = settings.error_messages or captured != "NO_CONTENT"
        self.naming = chosen()
        self._tracer_provider = tracer_provider
        self._meter_provider, self._logger_provider = meter_provider, logger_provider
        self._since = Snapshot(taken=True)
        self.refresh()

    def refresh(self) -> None:
        """Look up the providers again; called whenever a global one is set."""
        self.opener = self._opener(self._tracer_provider)
        self.logger = self._new_logger()
        self.content = self.span_content or self.values or (self.event_content and self.logger is not None)
        meters = self.meter_provider
        if not _is_real(meters):
            self._retire()
        elif self.instruments is None or self.instruments is not self._known.get(meters):
            # The first provider reports everything since instrument(), even if it was created late; a replacement
            # reports only what happened since.
            since = self._since if self.instruments is None else Snapshot(taken=True)
            self._retire()
            self.instruments = self._instruments(meters, since)

    @property
    def meter_provider(self) -> MeterProvider:
        """The meter provider in use: the one that was given, or else the global one."""
        return metrics.get_meter_provider() if self._meter_provider is None else self._meter_provider

    # A provider of the application's that fails to give something costs its telemetry, and nothing else.

    def _instruments(self, meters: MeterProvider, since: Snapshot) -> Instruments | None:
        known = self._known.get(meters)
        if known is not None:
            known.resume(self.gauges)
            return known
        try:
            made = Instruments(meters, since, self.gauges, schema_url=self.naming.schema_url, forked=self._forked)
        except Exception as error:
            internal.report("providers.metrics", error)
            return None
        self._known[meters] = made
        return made

    def _new_logger(self) -> Logger | None:
        loggers = _logs.get_logger_provider() if self._logger_provider is None else self._logger_provider
        try:
            return loggers.get_logger(SCOPE, __version__, self.naming.schema_url) if _is_real(loggers) else None
        except Exception as error:
            internal.report("providers.logs", error)
            return None

    def _opener(self, provider: TracerProvider | None) -> Opener:
        provider = trace.get_tracer_provider() if provider is None else provider
        try:
            return Opener(provider.get_tracer(SCOPE, __version__, self.naming.schema_url))
        except Exception as error:
            internal.report("providers.traces", error)
            return Opener(trace.NoOpTracer())

    def stop(self) -> None:
        """Stop reporting, and release the providers."""
        self._retire()
        self.logger = None
        self.settings = Settings()
        self.span_content = self.event_content = self.error_messages = self.values = self.content = False
        self._tracer_provider = self._meter_provider = self._logger_provider = None
        self.naming = V1_41
        self.opener = self._opener(None)

    def renew(self) -> None:
        """In a forked child, count from zero on new instruments, created when first needed.

        Another thread may have held the SDK's locks at the fork, so nothing is created here; and the SDK
        remembers what the parent's instruments last read, so they must not be continued.
        """
        counts.renew()
        self._since = Snapshot(taken=False)
        self._forked = True
        for instruments in self._known.values():
            instruments.stale = True
        self._known = ByIdentity[MeterProvider, Instruments]()

    def live(self) -> Instruments | None:
        """The instruments to record on now."""
        instruments = self.instruments
        if instruments is not None and instruments.stale:
            self.instruments = None
            self.refresh()
            instruments = self.instruments
        return instruments

    def _retire(self) -> None:
        if self.instruments is not None:
            self.instruments.retire()
            self.instruments = None


def _is_real(provider: Any) -> bool:
    """Whether ``provider`` is a real one, not the API's placeholder."""
    return not type(provider).__module__.startswith(("opentelemetry.metrics", "opentelemetry._logs"))


telemetry = Telemetry()
after_fork("metrics", telemetry.renew)
