"""Reports what becomes of changed configuration, to the log, as a log event and as a metric. It decides nothing."""

import os
from collections.abc import Sequence
from typing import Literal

from spanhook import semconv
from spanhook.diagnostics import internal, log
from spanhook.gating import Measures, emit_event
from spanhook.telemetry import SCOPE

Reason = Literal["incomplete", "invalid"]
Source = Literal["file", "control_plane", "definitions"]

_refusals = Measures("", scope=SCOPE).counter(
    semconv.METRIC_CONFIG_REFUSED, "{change}", "Changed configuration files that were not applied"
)


def report_refused(path: str, reason: Reason, message: str) -> None:
    """Report a changed file that was not applied.

    Args:
        path: The file.
        reason: Why it was not.
        message: The same for readers, in one line.
    """
    log.warning("spanhook: %s; the previous configuration stays active", message)
    about = {semconv.CONFIG_NAME: os.path.basename(path), semconv.CONFIG_REASON: reason}
    try:
        _refusals(1, about)
        emit_event(
            semconv.EVENT_CONFIGURATION,
            {
                semconv.CONFIG_OUTCOME: "refused",
                semconv.CONFIG_SOURCE: "file",
                **about,
                semconv.CONFIG_MESSAGE: message,
            },
            warning=True,
        )
    except Exception as error:
        internal.report("report.configuration", error, lost=1)


def report_loosened(source: Source, name: str, changes: Sequence[str]) -> None:
    """Report a change that was applied and takes enforcement away.

    Args:
        source: Where it comes from.
        name: The file, the address of the control plane, or the folder of the definitions.
        changes: What is enforced less; none if nothing is.
    """
    if not changes:
        return
    log.warning("spanhook: %s has changed, and less is enforced now: %s", name, "; ".join(changes))
    try:
        emit_event(
            semconv.EVENT_CONFIGURATION,
            {
                semconv.CONFIG_OUTCOME: "loosened",
                semconv.CONFIG_SOURCE: source,
                semconv.CONFIG_NAME: name if source == "control_plane" else os.path.basename(name),
                semconv.CONFIG_CHANGES: tuple(changes),
            },
            warning=True,
        )
    except Exception as error:
        internal.report("report.configuration", error, lost=1)
