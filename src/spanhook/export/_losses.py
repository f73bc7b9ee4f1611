"""Counts the spans and log records that an exporter gave up, whatever the SDK says of them.

The SDK's own metrics are off unless asked for, and its HTTP exporters count a batch that the server refused with a
status as exported: what they report is the exception, and there was none (opentelemetry-exporter-otlp-proto-http 1.45).
Metrics are not counted here: they are sums, and the next export tells what this one would have.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from spanhook.diagnostics import internal

COUNTED = ("traces", "logs")


def watch(signal: str, exporter: Any) -> Any:
    """Count what an exporter gives up as dropped by ``exporter.<signal>``.

    Args:
        signal: ``traces``, ``metrics`` or ``logs``.
        exporter: Whose ``export`` is to be watched.

    Returns:
        The same exporter.
    """
    export = getattr(exporter, "export", None)
    if signal not in COUNTED or export is None:
        return exporter

    def watched(batch: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        try:
            result = export(batch, *args, **kwargs)
        except BaseException:
            internal.lose(f"exporter.{signal}", len(batch))
            raise
        if getattr(result, "name", "SUCCESS") != "SUCCESS":  # one that says nothing, and raises nothing, is believed
            internal.lose(f"exporter.{signal}", len(batch))
        return result

    with suppress(AttributeError):  # one with slots cannot be watched, and exports all the same
        exporter.export = watched
    return exporter
