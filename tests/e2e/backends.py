"""Asking the backends: PromQL of Prometheus, LogQL of Loki, TraceQL of Tempo; what stands in for them, its files."""

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

Parsed = TypeVar("Parsed")


def _got(url: str, parameters: Mapping[str, str]) -> Any:
    with urllib.request.urlopen(f"{url}?{urllib.parse.urlencode(parameters)}", timeout=30) as answer:
        return json.load(answer)


def _json(url: str, parameters: Mapping[str, str]) -> Any:
    return _got(url, parameters)["data"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an answer, at one moment."""

    labels: dict[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Prometheus at an address."""

    url: str

    def query(self, promql: str) -> list[Sample]:
        """The answer to an instant query whose result is a vector."""
        data = _json(f"{self.url}/api/v1/query", {"query": promql})
        assert data["resultType"] == "vector", f"{promql!r} gives a {data['resultType']}"
        return [Sample(one["metric"], float(one["value"][1])) for one in data["result"]]

    def value(self, promql: str) -> float:
        """The one value of an instant query, 0 if there is none."""
        found = self.query(promql)
        assert len(found) <= 1, f"{promql!r} gives {len(found)} series"
        return found[0].value if found else 0.0

    def rules(self) -> list[dict[str, Any]]:
        """Groups of rules, with how their last evaluation went."""
        return _json(f"{self.url}/api/v1/rules", {})["groups"]

    def exemplars(self, promql: str, start: float, end: float) -> list[dict[str, Any]]:
        """Exemplars of the series in an expression."""
        data = _json(f"{self.url}/api/v1/query_exemplars", {"query": promql, "start": str(start), "end": str(end)})
        return [one for series in data for one in series["exemplars"]]


@dataclass(frozen=True, slots=True)
class Loki:
    """Loki at an address."""

    url: str

    def query(self, logql: str, start: float, end: float, limit: int = 5000) -> list[dict[str, Any]]:
        """Log lines with their labels and structured metadata together, as ``labels``, and ``line``."""
        parameters = {"query": logql, "start": f"{start:.0f}", "end": f"{end:.0f}", "limit": str(limit)}
        data = _json(f"{self.url}/loki/api/v1/query_range", parameters)
        return [
            {"labels": stream["stream"], "line": line} for stream in data["result"] for _, line, *_ in stream["values"]
        ]

    def vector(self, logql: str) -> list[Sample]:
        """The answer to an instant query that counts."""
        data = _json(f"{self.url}/loki/api/v1/query", {"query": logql})
        assert data["resultType"] == "vector", f"{logql!r} gives {data['resultType']}"
        return [Sample(one["metric"], float(one["value"][1])) for one in data["result"]]

    def labels(self) -> list[str]:
        """The names of all labels of streams."""
        return _json(f"{self.url}/loki/api/v1/labels", {}) or []


@dataclass(frozen=True, slots=True)
class Found:
    """A span that TraceQL has found."""

    trace_id: str
    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tempo:
    """Tempo at an address."""

    url: str

    def query(self, traceql: str, limit: int = 5000) -> list[Found]:
        """All spans that a query finds in the last hour, of one trace at most a hundred."""
        now = int(time.time())
        parameters = {"q": traceql, "limit": limit, "spss": 100, "start": now - 3600, "end": now + 60}
        found = _got(f"{self.url}/api/search", {key: str(value) for key, value in parameters.items()})
        return [
            Found(trace["traceID"].zfill(32), span.get("name", ""), _attributes(span))
            for trace in found["traces"]
            for spans in trace["spanSets"]
            for span in spans["spans"]
        ]

    def spans(self, trace_id: str) -> list[str]:
        """The names of all spans of a trace."""
        found = _got(f"{self.url}/api/v2/traces/{trace_id}", {})
        batches = found["trace"]["resourceSpans"]
        return [span["name"] for batch in batches for scope in batch["scopeSpans"] for span in scope["spans"]]


@dataclass(frozen=True, slots=True)
class Span:
    """What of a span tests look at."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    status: Mapping[str, Any]
    attributes: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any]], ...]
    resource: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """What of a log record tests look at."""

    trace_id: str
    attributes: Mapping[str, Any]
    body: Any
    resource: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sink:
    """The files of the collector that stands in for Tempo and Loki.

    It answers before it writes, so a test that wants it away asks it to stop: killed, it would lose what it had taken.
    Tests look over and over, so what was read once is kept: only what was added since is read again.
    """

    folder: Path
    _read: dict[str, "_Kept"] = field(default_factory=dict[str, "_Kept"], repr=False, compare=False)

    def spans(self) -> list[Span]:
        """All spans received so far."""
        return self._all("traces", _spans)

    def records(self) -> list[Record]:
        """All log records received so far."""
        return self._all("logs", _records)

    def total(self, metric: str, **attributes: str) -> float:
        """The newest values of a counter or a gauge, added up over the series with these attributes."""
        newest: dict[str, float] = {}
        for point in self._all("metrics", _points):
            if point.metric == metric and attributes.items() <= point.attributes.items():
                newest[point.series] = point.value
        return sum(newest.values())

    def text(self) -> str:
        """Everything received so far, as it is in the files."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.jsonl")))

    def _all(self, signal: str, parse: Callable[[Any], Iterable[Parsed]]) -> list[Parsed]:
        """All that was received of a signal: of each request, a line each, what ``parse`` gives."""
        kept = self._read.setdefault(signal, _Kept())
        path = self.folder / f"{signal}.jsonl"
        if path.exists():
            with path.open("rb") as file:
                file.seek(kept.length)
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # it is still being written, and reading on would give its other part
                    kept.length += len(line)
                    kept.parsed.extend(parse(json.loads(line)))
        return list(kept.parsed)


@dataclass(slots=True)
class _Kept:
    """What of a file was read: its bytes, and what they say."""

    length: int = 0
    parsed: list[Any] = field(default_factory=list[Any])


@dataclass(frozen=True, slots=True)
class _Point:
    """A value of a counter or a gauge at one moment, and what tells its series from others."""

    metric: str
    series: str
    attributes: Mapping[str, Any]
    value: float


def _spans(request: Any) -> Iterator[Span]:
    for resource in request["resourceSpans"]:
        of = _attributes(resource["resource"])
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            yield Span(
                trace_id=span["traceId"],
                span_id=span["spanId"],
                parent_id=span.get("parentSpanId", ""),
                name=span["name"],
                status=span.get("status", {}),
                attributes=_attributes(span),
                events=tuple((one["name"], _attributes(one)) for one in span.get("events", ())),
                resource=of,
            )


def _records(request: Any) -> Iterator[Record]:
    for resource in request["resourceLogs"]:
        of = _attributes(resource["resource"])
        for record in (record for scope in resource["scopeLogs"] for record in scope["logRecords"]):
            yield Record(
                trace_id=record.get("traceId", ""),
                attributes=_attributes(record),
                body=_value(record.get("body", {})),
                resource=of,
            )


def _points(request: Any) -> Iterator[_Point]:
    for resource in request["resourceMetrics"]:
        for metric in (metric for scope in resource["scopeMetrics"] for metric in scope["metrics"]):
            for point in metric.get("sum", metric.get("gauge", {})).get("dataPoints", ()):
                series = json.dumps([resource["resource"], point.get("attributes")])
                value = float(point.get("asDouble", point.get("asInt", 0)))
                yield _Point(metric["name"], series, _attributes(point), value)


def _attributes(thing: Mapping[str, Any]) -> dict[str, Any]:
    return {one["key"]: _value(one["value"]) for one in thing.get("attributes", ())}


def _value(value: Mapping[str, Any]) -> Any:
    for kind, held in value.items():
        match kind:
            case "intValue":
                return int(held)
            case "arrayValue":
                return [_value(one) for one in held.get("values", ())]
            case "kvlistValue":
                return {one["key"]: _value(one["value"]) for one in held.get("values", ())}
            case _:
                return held
    return None
