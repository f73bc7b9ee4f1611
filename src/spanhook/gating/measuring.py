"""Metrics that hooks record themselves, on the meter provider that spanhook reports to.

A meter provider that fails costs its telemetry: no hook fails because of it.

Each call costs what the SDK's own does (about 5 us), and nothing where no meter provider is configured.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

from spanhook.diagnostics import internal
from spanhook.identity import ByIdentity
from spanhook.telemetry import telemetry
from spanhook.version import __version__

Attributes = Mapping[str, str | bool | int | float]


class Measure:
    """One instrument, created on whatever provider is in use when something is recorded.

    Args:
        make: Creates the instrument on a meter, and returns the function that records on it.
        scope: The instrumentation scope.
        provider: A provider to use in any case.
    """

    __slots__ = ("__weakref__", "_known", "_make", "_provider", "_scope")

    def __init__(self, make: Callable[[Any], Callable[..., None]], scope: str, provider: MeterProvider | None) -> None:
        self._make, self._scope, self._provider = make, scope, provider
        self._known = ByIdentity[MeterProvider, Callable[..., None]]()

    def __call__(self, amount: float, attributes: Attributes | None = None) -> None:
        """Record an amount."""
        try:
            self.on(_in_use(self._provider))(amount, attributes)
        except Exception as error:
            internal.report("hooks.metrics", error, lost=1)

    def on(self, provider: MeterProvider) -> Callable[..., None]:
        """Create the instrument on a provider, unless it is there, and return the function that records on it."""
        record = self._known.get(provider)
        if record is None:
            meter = provider.get_meter(self._scope, __version__, telemetry.naming.schema_url)
            record = self._known.setdefault(provider, self._make(meter))
        return record


def _in_use(provider: MeterProvider | None) -> MeterProvider:
    return telemetry.meter_provider if provider is None else provider


Look = Callable[[], Iterable[tuple[float, Attributes]]]
"""What a gauge is to show now: values, each with its attributes."""


class _Watched:
    """What several hooks show with one gauge. Hooks that are gone show nothing more.

    There is no lock, which a fork could copy while it is held: all that is done at the same time is harmless.
    """

    def __init__(self) -> None:
        self.made = False
        self.looks: list[weakref.WeakMethod[Look]] = []

    def __call__(self, _options: CallbackOptions) -> Iterator[Observation]:
        for known in self.looks[:]:
            look = known()
            if look is None:
                self.looks.remove(known)
            else:
                yield from (Observation(value, attributes) for value, attributes in look())


_watched = ByIdentity[MeterProvider, dict[tuple[str, str], _Watched]]()


class Gauge:
    """A gauge whose values a hook is asked for whenever metrics are exported, also if it has nothing to do then.

    Args:
        make: Creates the instrument on a meter, with a callback.
        name: The instrument's name.
        scope: The instrumentation scope.
        provider: A provider to use in any case.
        look: A method of the hook that gives the values; it should not raise.
    """

    __slots__ = ("_known", "_look", "_make", "_name", "_provider", "_scope")

    def __init__(
        self,
        make: Callable[[Any, Callable[[CallbackOptions], Iterable[Observation]]], Any],
        name: str,
        scope: str,
        provider: MeterProvider | None,
        look: Look,
    ) -> None:
        self._make, self._name, self._scope, self._provider = make, name, scope, provider
        self._look: weakref.WeakMethod[Look] = weakref.WeakMethod(look)
        self._known = ByIdentity[MeterProvider, None]()

    def __call__(self) -> None:
        """Have the provider that is in use now ask for values. Costs next to nothing if it does already."""
        provider = _in_use(self._provider)
        if provider not in self._known:
            try:
                self.on(provider)
            except Exception as error:
                internal.report("hooks.metrics", error)

    def on(self, provider: MeterProvider) -> None:
        """Have a provider ask for values."""
        gauges = _watched.setdefault(provider, {})
        shared = gauges.setdefault((self._scope, self._name), _Watched())
        shared.looks.append(self._look)
        self._known[provider] = None
        if not shared.made:  # a second gauge of this name would not be asked
            shared.made = True
            self._make(provider.get_meter(self._scope, __version__, telemetry.naming.schema_url), shared)


class Measures:
    """Creates the instruments of one hook.

    Args:
        name: The hook's short name, such as ``budget``; the scope is ``spanhook.hooks.budget``.
        provider: A provider to use instead of the one that spanhook reports to.
        scope: Another scope, for what is no hook.
    """

    def __init__(self, name: str, provider: MeterProvider | None = None, scope: str = "") -> None:
        self._scope, self._provider = scope or f"spanhook.hooks.{name}", provider

    def counter(self, name: str, unit: str, about: str) -> Measure:
        """A sum that only grows."""
        return self._of(lambda meter: meter.create_counter(name, unit, about).add)

    def histogram(self, name: str, unit: str, about: str, buckets: Sequence[float] | None = None) -> Measure:
        """A distribution, with the upper bounds of its buckets; by default the SDK's, which suit milliseconds."""

        def make(meter: Any) -> Callable[..., None]:
            bounds = None if buckets is None else list(buckets)
            return meter.create_histogram(name, unit, about, explicit_bucket_boundaries_advisory=bounds).record

        return self._of(make)

    def gauge(self, name: str, unit: str, about: str) -> Measure:
        """A value of which only the last one matters. It is reported until the hook is gone.

        An observable gauge: before version 1.40, the SDK reports what is set on others once, and then forgets it.
        """
        last: dict[tuple[tuple[str, Any], ...], Observation] = {}

        def make(meter: Any) -> Callable[..., None]:
            def observe(_options: CallbackOptions) -> Iterable[Observation]:
                return list(last.values()) if reference() is not None else []

            meter.create_observable_gauge(name, [observe], unit, about)
            return record

        def record(amount: float, attributes: Attributes | None = None) -> None:
            told = dict(attributes or {})
            last[tuple(sorted(told.items()))] = Observation(amount, told)

        measure = self._of(make)
        reference = weakref.ref(measure)
        return measure

    def watched(self, name: str, unit: str, about: str, look: Look) -> Gauge:
        """A value that is asked for when metrics are exported, so that it cannot be out of date.

        Args:
            name: The instrument's name.
            unit: Its unit.
            about: What it tells.
            look: A method of the hook that gives the values, each with its attributes.
        """
        return Gauge(
            lambda meter, asked: meter.create_observable_gauge(name, [asked], unit, about),
            name,
            self._scope,
            self._provider,
            look,
        )

    def _of(self, make: Callable[[Any], Callable[..., None]]) -> Measure:
        return Measure(make, self._scope, self._provider)
