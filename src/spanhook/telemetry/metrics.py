"""The instruments: observable counters that read spanhook's own counts, and histograms of durations and tokens.

An SDK ``add`` costs about 5 us, a third of a span. So during a call the SDK is not used: counters are read, and what
histograms measure is added, when a reader collects. Money is counted in nano-dollars.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.model import NANO, ungated_tools
from spanhook.telemetry._histograms import Histograms
from spanhook.telemetry.counters import OVERFLOW, Counters, Key, Vector
from spanhook.version import __version__

SCOPE = "spanhook"
BUCKETS = ("input", "cache_read", "cache_write", "output", "reasoning")
COST, UNPRICED, UNCOUNTED = 5, 6, 7

#: Attribute names of the keys of ``counts.usage`` and ``counts.decisions``, in order.
USAGE_KEY = (
    semconv.GEN_AI_OPERATION_NAME,
    semconv.GEN_AI_PROVIDER_NAME,
    semconv.GEN_AI_RESPONSE_MODEL,
    semconv.GEN_AI_AGENT_NAME,
    semconv.TENANT_ID,
    semconv.USAGE_ESTIMATED,
    semconv.COST_SOURCE,
)
DECISION_KEY = (
    semconv.HOOK,
    semconv.KIND,
    semconv.EVENT,
    semconv.DECISION,
    semconv.MODE,
    semconv.COVERAGE,
    semconv.FAIL_MODE,
    semconv.TENANT_ID,
)
"""An event's kind and phase, and whether the hook fails closed, are combined when they are read."""

Gauge = Callable[[], Iterable[Mapping[str, Any]]]


class Counts:
    """The counts, kept whether or not anything reads them.

    Attributes:
        usage: The five token buckets, nano-dollars, unpriced tokens and incompletely counted calls, by ``USAGE_KEY``.
        decisions: Number and nanoseconds, by ``DECISION_KEY``.
    """

    def __init__(self) -> None:
        self.usage = Counters(8)
        self.decisions = Counters(2)

    def renew(self) -> None:
        self.usage.renew()
        self.decisions.renew()


counts = Counts()


class Instruments:
    """Every instrument, created on one meter provider. Counts before ``since`` are not reported to this provider.

    Args:
        provider: A real provider, not the API's proxy.
        since: Sums to subtract, as ``snapshot`` gives them.
        gauges: Attribute sets of ``spanhook.info`` and ``spanhook.points``, read at each collection.
        schema_url: The schema of the names, if there is one.
        forked: Set in a forked child, whose instruments must not continue the parent's series in the SDK's memory.
    """

    def __init__(
        self,
        provider: MeterProvider,
        since: "Snapshot",
        gauges: Mapping[str, Gauge],
        *,
        schema_url: str | None = None,
        forked: bool = False,
    ) -> None:
        self.since, self.gauges = since, gauges
        self.stale = False
        self._until: Snapshot | None = None
        scope = {semconv.FORKED_PID: os.getpid()} if forked else None
        meter = provider.get_meter(SCOPE, __version__, schema_url, scope)

        self.histograms = Histograms(meter)

        def counter(name: str, unit: str, about: str, read: Callable[[], Iterator[Observation]]) -> None:
            meter.create_observable_counter(name, [self._callback(read)], unit, about)

        counter(semconv.METRIC_TOKENS, "{token}", "Tokens used, in disjoint buckets", self._tokens)
        counter(semconv.METRIC_COST, "USD", "Cost of model calls with a known price", self._cost)
        counter(semconv.METRIC_UNPRICED, "{token}", "Tokens of models without a known price", self._unpriced)
        counter(semconv.METRIC_UNCOUNTED, "{call}", "Calls with partly invalid usage reports", self._uncounted)
        counter(semconv.METRIC_DECISIONS, "{decision}", "Decisions made by hooks", self._decisions)
        counter(semconv.METRIC_HOOK_TIME, "s", "Time spent in hooks", self._hook_time)
        counter(semconv.METRIC_INTERNAL_ERRORS, "{error}", "Errors in spanhook's own code", self._errors)
        counter(semconv.METRIC_DROPPED, "{item}", "Telemetry that was lost", self._dropped)
        counter(semconv.METRIC_UNGATED_TOOLS, "{call}", "Tool calls of models that no hook saw", self._ungated)
        for name, unit, about in (
            (semconv.METRIC_INFO, "{process}", "Version, hooks and mode of this process"),
            (semconv.METRIC_POINTS, "{point}", "Functions wrapped, by library and state"),
        ):
            # not the unit "1": Prometheus treats it as a ratio and adds that to the name
            meter.create_observable_gauge(name, [self._callback(self._gauge(name))], unit, about)

    def retire(self) -> None:
        """Stop counting; readers can still collect what was counted."""
        self._until = Snapshot(taken=True)

    def resume(self, gauges: Mapping[str, Gauge]) -> None:
        """Continue counting: this provider is in use again, and its SDK remembers what these instruments last
        reported.
        """
        self._until, self.gauges = None, gauges

    def _callback(
        self, read: Callable[[], Iterator[Observation]]
    ) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            if self.stale:
                return []
            self.histograms.measurements.fold()  # the SDK calls this before it reads any aggregation
            return list(read())

        return observe

    def _tokens(self) -> Iterator[Observation]:
        for key, vector in self._usage().items():
            attributes = _named(USAGE_KEY[:-1], key)
            for bucket, amount in zip(BUCKETS, vector, strict=False):
                if amount:
                    yield Observation(amount, {**attributes, semconv.TOKEN_BUCKET: bucket})

    def _cost(self) -> Iterator[Observation]:
        for key, vector in self._usage().items():
            if vector[COST]:
                yield Observation(vector[COST] / NANO, _named(USAGE_KEY, key))

    def _unpriced(self) -> Iterator[Observation]:
        for key, vector in self._usage().items():
            if vector[UNPRICED]:
                yield Observation(vector[UNPRICED], _named(USAGE_KEY[:-1], key))

    def _uncounted(self) -> Iterator[Observation]:
        for key, vector in self._usage().items():
            if vector[UNCOUNTED]:
                yield Observation(vector[UNCOUNTED], _named(USAGE_KEY[:-1], key))

    def _decisions(self) -> Iterator[Observation]:
        for key, (count, _) in _since(self._now().decisions, self.since.decisions).items():
            if count:
                yield Observation(count, _decision(key))

    def _hook_time(self) -> Iterator[Observation]:
        for key, (_, nanoseconds) in _since(self._now().decisions, self.since.decisions).items():
            if nanoseconds:
                attributes = _decision(key)
                kept = (semconv.HOOK, semconv.EVENT, semconv.MODE, semconv.METRIC_OVERFLOW)
                yield Observation(nanoseconds / 1e9, {name: attributes[name] for name in kept if name in attributes})

    def _errors(self) -> Iterator[Observation]:
        yield from _by_component(self._now().errors, self.since.errors)

    def _dropped(self) -> Iterator[Observation]:
        yield from _by_component(self._now().lost, self.since.lost)

    def _ungated(self) -> Iterator[Observation]:
        for name, count in (self._now().ungated - self.since.ungated).items():
            yield Observation(count, {semconv.GEN_AI_TOOL_NAME: name})

    def _gauge(self, name: str) -> Callable[[], Iterator[Observation]]:
        def read() -> Iterator[Observation]:
            if self._until is None:
                for attributes in self.gauges[name]():
                    yield Observation(1, attributes)

        return read

    def _usage(self) -> dict[Key, Vector]:
        return _since(self._now().usage, self.since.usage)

    def _now(self) -> "Snapshot":
        return self._until or Snapshot(taken=True)


class Snapshot:
    """The sums at one moment; empty if ``taken`` is false."""

    def __init__(self, *, taken: bool) -> None:
        self.usage = counts.usage.sums() if taken else {}
        self.decisions = counts.decisions.sums() if taken else {}
        self.errors = Counter(internal.counts) if taken else Counter[str]()
        self.lost = Counter(internal.lost) if taken else Counter[str]()
        self.ungated = ungated_tools.ungated.copy() if taken else Counter[str]()


def _since(sums: Mapping[Key, Vector], before: Mapping[Key, Vector]) -> dict[Key, Vector]:
    changed = dict(sums)
    for key, vector in before.items():
        if key in changed:
            changed[key] = [now - then for now, then in zip(changed[key], vector, strict=True)]
    return changed


def _named(names: tuple[str, ...], key: Key) -> dict[str, Any]:
    if key[:1] == OVERFLOW:
        return {semconv.METRIC_OVERFLOW: True}
    return {name: value for name, value in zip(names, key, strict=False) if value not in ("", False)}


def _decision(key: Key) -> dict[str, Any]:
    attributes = _named(DECISION_KEY, key)
    if semconv.METRIC_OVERFLOW not in attributes:
        attributes[semconv.EVENT] = f"{attributes.pop(semconv.KIND)}.{attributes[semconv.EVENT]}"
        attributes[semconv.FAIL_MODE] = "closed" if attributes.get(semconv.FAIL_MODE) else "open"
    return attributes


def _by_component(now: Counter[str], before: Counter[str]) -> Iterator[Observation]:
    for component, count in now.copy().items():
        yield Observation(count - before[component], {semconv.COMPONENT: component})
