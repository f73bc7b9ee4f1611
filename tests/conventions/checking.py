"""What is emitted against the facts of the conventions and the registry of names of our own.

``violations`` says what is wrong of spans, metrics and log events as OpenTelemetry's own exporters get them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from spanhook import semconv

HERE = Path(__file__).parent
REGISTRY = HERE.parent.parent / "docs" / "semconv"
FACTS: Any = yaml.safe_load((HERE / "facts.yaml").read_text())


def _registered(file: str, of: str, key: str) -> dict[str, Any]:
    return {one[key]: one for one in yaml.safe_load((REGISTRY / file).read_text())[of]}


ATTRIBUTES = _registered("attributes.yaml", "attributes", "key")
METRICS = _registered("metrics.yaml", "metrics", "name")
EVENTS = _registered("events.yaml", "events", "name")
GROUPS = _registered("metrics.yaml", "attribute_groups", "id") | _registered("events.yaml", "attribute_groups", "id")

#: What OpenTelemetry's SDK and its general conventions name, and OpenInference's two.
GENERAL = {
    semconv.METRIC_OVERFLOW: "boolean",
    semconv.RUNTIME_VERSION: "string",
    semconv.FORKED_PID: "int",
    semconv.INPUT_VALUE: "string",
    semconv.OUTPUT_VALUE: "string",
}
_SORTS = {name: sort for sort, span in FACTS["spans"].items() for name in span["operations"]}
_INSTRUMENTS = {"Histogram": "histogram", "Sum": "counter", "Gauge": "gauge"}
_CHECKS = {
    "string": lambda value: type(value) is str,
    "int": lambda value: type(value) is int,
    "double": lambda value: type(value) is float,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: type(value) is bool,
    "string[]": lambda value: type(value) is tuple and all(type(one) is str for one in value),
}


class Checker:
    """Finds what is wrong.

    Args:
        sets: The conventions' sets of names that may be written.
        own: Names that the application has given itself.
        closed: Whether values of our enumerations must be among those of the registry: kinds of an application's own
            are not.
    """

    def __init__(self, *sets: str, own: Iterable[str] = (), closed: bool = True) -> None:
        self._sets, self._own, self._closed = set(sets), set(own), closed

    # ------------------------------------------------------------------------------------------- names and values

    def _attributes(self, attributes: Mapping[str, Any], where: str) -> Iterator[str]:
        for name, value in attributes.items():
            problem = self._attribute(name, value)
            if problem:
                yield f"{where}: {name} {problem}"

    def _attribute(self, name: str, value: Any) -> str:
        if name in self._own:
            return ""
        if name in ATTRIBUTES:
            told = ATTRIBUTES[name]["type"]
            if isinstance(told, dict):
                known = {one["value"] for one in told["members"]}
                return "" if value in known or not self._closed else f"is {value!r}, which the registry has not"
            return "" if _CHECKS[told](value) else f"is {value!r}, no {told}"
        told = FACTS["attributes"].get(name, GENERAL.get(name))
        if told is None:
            return "is in no convention and not in the registry"
        if not self._may_write(name):
            return f"is of {semconv.SETS[name]} alone"
        if told == "any":
            return ""
        kind = "string" if isinstance(told, list) else told
        return "" if _CHECKS[kind](value) else f"is {value!r}, no {kind}"

    def _may_write(self, name: str) -> bool:
        return name not in semconv.SETS or semconv.SETS[name] in self._sets

    # ------------------------------------------------------------------------------------------- signals

    def span(self, span: Any, at_start: Mapping[str, Any] | None = None) -> Iterator[str]:
        """What is wrong with one that has ended.

        Args:
            span: As an exporter gets it.
            at_start: What a sampler was told of it.
        """
        attributes = dict(span.attributes or {})
        where = f"span {span.name!r}"
        yield from self._attributes(attributes, where)
        operation = attributes.get(semconv.GEN_AI_OPERATION_NAME)
        if operation is None and attributes.get(semconv.KIND) in ("llm.call", "tool.execute", "agent.invoke"):
            yield f"{where}: has no {semconv.GEN_AI_OPERATION_NAME}"
        told = FACTS["spans"].get(_SORTS.get(str(operation)))
        if told is not None and _is(told, attributes):
            yield from self._conventional(span, attributes, told, where, at_start)
        for event in span.events:
            yield from self._span_event(event, where)
        if (span.instrumentation_scope.schema_url or None) != self._schema:
            yield f"{where}: schema {span.instrumentation_scope.schema_url!r}"

    @property
    def _schema(self) -> str | None:
        return None if "newest" in self._sets else semconv.SCHEMA_URL

    def _conventional(
        self, span: Any, attributes: dict[str, Any], told: Any, where: str, at_start: Mapping[str, Any] | None
    ) -> Iterator[str]:
        for name in told["required"]:
            if name not in attributes:
                yield f"{where}: has no {name}"
        if span.kind.name.lower() != told["kind"]:
            yield f"{where}: is {span.kind.name}, not {told['kind']}"
        if span.name not in _names(told["name"], attributes):
            yield f"{where}: is not named {told['name']}"
        if at_start is not None:
            for name in told["at_start"]:
                if name in attributes and name not in at_start and name not in _known_late(attributes):
                    yield f"{where}: a sampler was not told of {name}"
        if span.status.status_code.name == "ERROR" and semconv.ERROR_TYPE not in attributes:
            yield f"{where}: failed without {semconv.ERROR_TYPE}"

    def _span_event(self, event: Any, where: str) -> Iterator[str]:
        if event.name not in EVENTS and event.name not in (semconv.EVENT_EXCEPTION, semconv.EVENT_GUARDRAIL_RESULT):
            yield f"{where}: event {event.name!r} is not in the registry"
        if not self._may_write(event.name):
            yield f"{where}: event {event.name!r} is of {semconv.SETS[event.name]} alone"
        yield from self._attributes(dict(event.attributes or {}), f"{where}: event {event.name!r}")

    def event(self, event: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with a log event, as ``Recorder.events`` gives it."""
        name, attributes = event["name"], event["attributes"]
        where = f"event {name!r}"
        if name not in EVENTS and name not in FACTS["events"]:
            yield f"{where}: is in no convention and not in the registry"
        elif not self._may_write(name):
            yield f"{where}: is of {semconv.SETS[name]} alone"
        yield from self._attributes(attributes, where)
        for one in _required(EVENTS.get(name)):
            if one not in attributes:
                yield f"{where}: has no {one}"

    def metric(self, metric: Any) -> Iterator[str]:
        """What is wrong with a metric, as a reader gets it."""
        ours, theirs = METRICS.get(metric.name), FACTS["metrics"].get(metric.name)
        where = f"metric {metric.name!r}"
        told = ours or theirs
        if told is None:
            yield f"{where}: is in no convention and not in the registry"
            return
        if not self._may_write(metric.name):
            yield f"{where}: is of {semconv.SETS[metric.name]} alone"
        if metric.unit != told["unit"]:
            yield f"{where}: unit {metric.unit!r}"
        if _INSTRUMENTS[type(metric.data).__name__] != told["instrument"]:
            yield f"{where}: is no {told['instrument']}"
        group = FACTS["metric_groups"].get((theirs or {}).get("group"), {})
        required = [*_required(ours), *group.get("required", ())]
        for point in metric.data.data_points:
            attributes = dict(point.attributes or {})
            yield from self._attributes(attributes, where)
            if semconv.METRIC_OVERFLOW not in attributes:
                yield from (f"{where}: a series has no {one}" for one in required if one not in attributes)
            value = getattr(point, "value", getattr(point, "sum", None))
            if theirs is not None and theirs["type"] == "int" and type(value) is not int:
                yield f"{where}: {value!r} is no int"


def _known_late(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """What only a framework's transport knows, after its span has started; a rewritten model is known late too."""
    late = (semconv.SERVER_ADDRESS, semconv.SERVER_PORT)
    return (*late, semconv.GEN_AI_REQUEST_MODEL) if semconv.MODIFIED in attributes else late


def _is(told: Any, attributes: Mapping[str, Any]) -> bool:
    """Whether a span is of that sort: services that run agents are called as models are."""
    return told["kind"] != "internal" or attributes.get(semconv.KIND) != "llm.call"


def _names(pattern: str, attributes: Mapping[str, Any]) -> set[str]:
    """What a span may be called: without the target where there is none, or a hook has rewritten it."""
    operation = str(attributes[semconv.GEN_AI_OPERATION_NAME])
    whole = re.sub(r"\{([^}]+)\}", lambda found: str(attributes.get(found[1], "")), pattern).strip()
    target = re.findall(r"\{([^}]+)\}", pattern)[-1]
    return {whole} if attributes.get(target) else {operation}


def _required(entry: Any) -> list[str]:
    found: list[str] = []
    for one in (entry or {}).get("attributes", ()):
        if "ref_group" in one:
            found += _required(GROUPS[one["ref_group"]])
        elif one["requirement_level"] == "required":
            found.append(one["ref"])
    return found
