"""Measurements that wait until the SDK collects, as adding each to its aggregations costs far more than the call.

They wait in one list: extending it, and taking its first elements away, are atomic. Once it is long, or a reader
collects, they are added to the SDK's aggregations, many at once. Where that cannot be, each is recorded as usual.
The list is flat, as the garbage collector would look at rows of their own again and again.
"""

import threading
from collections.abc import Callable, Sequence
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry.trace import Span, get_current_span, set_span_in_context

from spanhook.diagnostics import internal

if TYPE_CHECKING:  # it imports the SDK's metrics, which not every process has; see ``_sdk``
    from spanhook.telemetry._aggregations import Pending, Place, Sample, Samples, Value
else:
    Value = int | float

Key = tuple[Any, ...]
Where = tuple[Span, "Sample | None"]
"""A span and, if measurements wait for the readers, the sample of them."""
Described = list[tuple[Any, dict[str, Any]]]
"""Instruments, and with which attributes each is to record."""

_NO_EXEMPLAR: "Sample" = (0, None, 0)
FOLD_AT = 4096
"""How long the list gets, while no reader collects."""
MAX_KEYS = 1000


class Series(NamedTuple):
    """One instrument with one set of attributes, and its aggregations."""

    instrument: Any
    attributes: dict[str, Any]
    places: "tuple[Place, ...]"


class Columns:
    """What is measured together.

    Attributes:
        width: The length of a row: these columns, the time, trace and span, and the values.
        readers: The readers when the aggregations were found.
    """

    __slots__ = ("key", "readers", "series", "width")

    def __init__(self, key: Key, series: tuple[Series, ...], readers: Any) -> None:
        self.key, self.series, self.readers = key, series, readers
        self.width = _VALUES + len(series)

    def are_current(self, readers: Any) -> bool:
        """Whether the SDK still uses all their aggregations."""
        return self.readers is readers and all(place.is_current() for one in self.series for place in one.places)


_VALUES = 4
"""Where the values of a row begin."""


class Measurements:
    """The measurements of one provider that its readers have not seen.

    Args:
        instruments: All instruments that record here.
    """

    def __init__(self, instruments: Sequence[Any]) -> None:
        self._sdk = _sdk(instruments[0])
        self._consumer = self._sdk.consumer_of(instruments) if self._sdk else None
        self._chosen = self._sdk.chosen_by(self._consumer) if self._sdk else None
        self._config = self._sdk.config_of(instruments[0]) if self._sdk else None
        self._rows: list[Any] = []
        self._columns: dict[Key, Columns | None] = {}
        self._pending: list[Pending | _Replayed] = []
        self._lock = threading.RLock()
        self._folding = False

    def sample(self, span: Span) -> Where:
        """Where and when everything is measured that is put with it."""
        config = self._config
        if self._consumer is None or (config is not None and not config.is_enabled):
            return span, None
        if self._chosen == "none":
            return span, _NO_EXEMPLAR
        span_context = span.get_span_context()
        if self._chosen == "sampled" and not span_context.trace_flags & 1:
            return span, _NO_EXEMPLAR
        return span, (time_ns(), span_context.trace_id, span_context.span_id)

    def put(self, key: Key, where: Where, values: tuple[Value, ...], describe: Callable[[], Described]) -> None:
        """Record values together.

        Args:
            key: Identifies instruments and attributes.
            where: What ``sample`` gave.
            values: One for each instrument.
            describe: Gives instruments and attributes; called only if they are not known.
        """
        span, sample = where
        columns = self._columns.get(key)
        if columns is None or sample is None:
            self._record(key, span, values, describe())
            return
        self._rows.extend((columns, *sample, *values))
        if len(self._rows) >= FOLD_AT:
            self.fold(wait=False)

    def _record(self, key: Key, span: Span, values: tuple[Value, ...], described: Described) -> None:
        """Record in the SDK's own way: always the first time, which makes the aggregations and starts their time."""
        context = set_span_in_context(span)
        for (instrument, attributes), value in zip(described, values, strict=True):
            tell(instrument, value, attributes, context)
        if self._consumer is not None and key not in self._columns and len(self._columns) < MAX_KEYS:
            self._columns[key] = self._find(key, described)

    def _find(self, key: Key, described: Described) -> Columns | None:
        """The columns with their aggregations; ``None`` if the SDK must be asked each time."""
        readers, series = self._sdk.readers_of(self._consumer), list[Series]()
        try:
            for instrument, attributes in described:
                places = self._sdk.find(self._consumer, instrument, attributes)
                if places is None:
                    return None
                series.append(Series(instrument, attributes, places))
        except (AttributeError, KeyError, TypeError):  # an SDK that is not as it was
            return None
        return Columns(key, tuple(series), readers)

    def fold(self, *, wait: bool = True) -> None:
        """Add what waits to the SDK's aggregations; without ``wait``, not if another thread does so."""
        if not self._rows and not self._pending:
            return
        if not self._lock.acquire(blocking=wait):
            return
        try:
            if not self._folding:  # by what this has interrupted, such as a signal's handler
                self._fold()
        finally:
            self._lock.release()

    def _fold(self) -> None:
        self._folding = True
        try:
            self._finish()  # what an interrupt has left
            rows = self._rows
            taken = rows[:]
            pending, length = self._sorted(taken), len(taken)
            # No call between these two, so that an interrupt comes either before or after.
            self._pending = pending
            del rows[:length]
            self._finish()
        finally:
            self._folding = False

    def _finish(self) -> None:
        for pending in self._pending:
            try:
                pending.add()
            except Exception as error:
                internal.report("report.metrics", error, lost=len(pending.values))
        self._pending = []

    def _sorted(self, rows: list[Any]) -> "list[Pending | _Replayed]":
        grouped: dict[Columns, list[int]] = {}
        at, end = 0, len(rows)
        while at < end:
            columns = rows[at]
            grouped.setdefault(columns, []).append(at)
            at += columns.width
        readers = self._sdk.readers_of(self._consumer)
        found: list[Pending | _Replayed] = []
        for columns, starts in grouped.items():
            candidates = [position for position, at in enumerate(starts) if rows[at + 2] is not None]
            samples = self._sdk.Samples(rows, starts, 1, candidates)
            is_current = columns.are_current(readers)
            if not is_current:
                self._columns.pop(columns.key, None)  # found again when they are next recorded
            for index, series in enumerate(columns.series, _VALUES):
                values = [rows[at + index] for at in starts]
                if is_current and self._sdk.are_ordinary(values):
                    found += [self._sdk.Pending(place, series.attributes, values, samples) for place in series.places]
                else:
                    found.append(_Replayed(self._sdk, series, values, samples))
        return found


class _Replayed:
    """Values that are recorded one by one after all."""

    def __init__(self, sdk: Any, series: Series, values: list[Value], samples: "Samples") -> None:
        self.sdk, self.series, self.samples = sdk, series, samples
        self.values = list(enumerate(values))[::-1]

    def add(self) -> None:
        while self.values:
            position, value = self.values.pop()
            context = self.sdk.context_of(self.samples.at(position))
            tell(self.series.instrument, value, self.series.attributes, context)


class Waiting:
    """A histogram whose measurements wait; it is used as the SDK's own is.

    Args:
        histogram: One of the instruments of ``measurements``.
    """

    def __init__(self, histogram: Any, measurements: Measurements) -> None:
        self._histogram, self._measurements = histogram, measurements

    def record(self, amount: Value, attributes: dict[str, Any]) -> None:
        """Record a value in the current span."""
        where = self._measurements.sample(get_current_span())
        key = (self._histogram, *attributes.items())
        self._measurements.put(key, where, (amount,), lambda: [(self._histogram, attributes)])


def tell(instrument: Any, value: Value, attributes: dict[str, Any], context: Any) -> None:
    """Record a value on a histogram, or add it to a counter."""
    record = getattr(instrument, "record", None) or instrument.add
    record(value, attributes, context)


def _sdk(instrument: Any) -> Any:
    """The module that knows the SDK's aggregations, if the instrument is the SDK's and they are as it knows them."""
    if not type(instrument).__module__.startswith("opentelemetry.sdk.metrics"):
        return None
    try:
        from spanhook.telemetry import _aggregations
    except (AttributeError, ImportError):
        return None
    return _aggregations
