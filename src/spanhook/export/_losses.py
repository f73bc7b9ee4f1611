"""Counts the spans and log records that an exporter gave up, whatever the SDK reports.

The SDK's own metrics are off by default, and its HTTP exporters count a batch that the server refused with a status as
exported, because they only report exceptions (opentelemetry-exporter-otlp-proto-http 1.45). Metrics are not counted
here: they are sums, so the next export makes up for a lost one.
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
        exporter: The exporter to watch.

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
        if getattr(result, "name", "SUCCESS") != "SUCCESS":  # one that returns nothing, and raises nothing, is believed
            internal.lose(f"exporter.{signal}", len(batch))
        return result

    with suppress(AttributeError):  # an exporter with slots cannot be watched, but still exports
        exporter.export = watched
    return exporter
