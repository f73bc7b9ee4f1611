"""Reports changed configuration files that were not applied: to the log, as a log event and as a metric."""

import os
from typing import Literal

from spanhook import semconv
from spanhook.diagnostics import internal, log
from spanhook.gating import Measures, emit_event
from spanhook.telemetry import SCOPE

Reason = Literal["incomplete", "invalid"]


class Refusals:
    """Counts and reports them."""

    def __init__(self) -> None:
        self._refused = Measures("", scope=SCOPE).counter(
            semconv.METRIC_CONFIG_REFUSED, "{change}", "Changed configuration files that were not applied"
        )

    def report(self, path: str, reason: Reason, message: str) -> None:
        """Report a changed file that was not applied.

        Args:
            path: The file.
            reason: Why it was not.
            message: The same for readers, in one line.
        """
        log.warning("spanhook: %s; the previous configuration stays active", message)
        about = {semconv.CONFIG_NAME: os.path.basename(path), semconv.CONFIG_REASON: reason}
        outcome = {semconv.CONFIG_OUTCOME: "refused", semconv.CONFIG_SOURCE: "file"}
        if reason == "incomplete":  # mistakes quote values, such as an address with a password
            outcome[semconv.CONFIG_MESSAGE] = message
        try:
            self._refused(1, about)
            emit_event(semconv.EVENT_CONFIGURATION, {**about, **outcome}, warning=True)
        except Exception as error:
            internal.report("report.configuration", error, lost=1)


refusals = Refusals()
