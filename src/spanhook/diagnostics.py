"""Errors in spanhook's own code, and log messages that would otherwise repeat endlessly.

An extractor or a metric that breaks must never reach the application: ``internal`` logs it once per place and
counts it. A decision to reject is not such an error and never passes through here.
"""

import logging
import threading
import time
from collections import Counter
from types import TracebackType

from spanhook.fork import after_fork

log = logging.getLogger("spanhook")


class InternalErrors:
    """Counts errors of our own code by component, and logs each place once.

    ``fatal`` makes them propagate instead; spanhook's own tests and ``spanhook.testing`` switch it on.

    Attributes:
        counts: How many errors there were, by component.
        lost: How many items of telemetry were lost, by component.
    """

    def __init__(self) -> None:
        self.fatal = False
        self.counts: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def report(self, component: str, error: BaseException, *, lost: int = 0) -> None:
        """Count ``error`` under ``component`` and log it if this place has not failed before.

        Args:
            component: What failed.
            error: The exception.
            lost: How many items of telemetry were lost because of it.

        Raises:
            BaseException: ``error`` itself, when ``fatal`` is set.
        """
        if self.fatal:
            raise error
        with self._lock:
            self.counts[component] += 1
            self._lose(component, lost)
            place = f"{component}:{type(error).__name__}:{_where(error.__traceback__)}"
            if place in self._seen:
                return
            self._seen.add(place)
        log.warning(
            "spanhook: internal error in %s (the application is not affected; logged once)", component, exc_info=error
        )

    def lose(self, component: str, items: int) -> None:
        """Count telemetry that is dropped although nothing failed."""
        with self._lock:
            self._lose(component, items)

    def _lose(self, component: str, items: int) -> None:
        if items:
            self.lost[component] += items

    def renew(self) -> None:
        """Reset the counts in a forked child; the parent keeps its own."""
        self.counts, self.lost = Counter(), Counter()
        self._lock = threading.Lock()


def _where(trace: TracebackType | None) -> str:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "?"


class Repeats:
    """Decides when a repeated message is logged: the first time, then at most once a minute."""

    EVERY_S = 60.0

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, int]] = {}

    def due(self, what: str) -> int | None:
        """How many times ``what`` was suppressed since it was last logged; ``None`` if it should not be logged now."""
        now = time.monotonic()
        again, unsaid = self._known.get(what, (0.0, 0))
        if now < again:
            self._known[what] = (again, unsaid + 1)
            return None
        self._known[what] = (now + self.EVERY_S, 0)
        return unsaid


internal = InternalErrors()
after_fork("diagnostics", internal.renew)
