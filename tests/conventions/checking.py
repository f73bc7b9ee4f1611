"""What is emitted against the facts of the conventions and the registry of names of our own.

``Checker`` says what is wrong with spans, metrics and log events as OpenTelemetry's own exporters get them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from spanhook import semconv
from tests.yaml_files import load_file

HERE = Path(__file__).parent
REGISTRY = HERE.parent.parent / "docs" / "semconv"
FACTS: Any = load_file(HERE / "facts.yaml")


def _registered(file: str, of: str, key: str) -> dict[str, Any]:
    return {one[key]: one for one in load_file(REGISTRY / file)[of]}


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
    semconv.HTTP_REQUEST_METHOD: "string",
    semconv.HTTP_RESPONSE_STATUS_CODE: "int",
    semconv.HTTP_ROUTE: "string",
}
OTHER = "other"
"""The sort of calls that the conventions have no word for."""
LEVELS = ("required", "if_known", "recommended", "opt_in")
OPT_IN = {name for span in FACTS["spans"].values() for name in span["opt_in"]}
_INSTRUMENTS = {"Histogram": "histogram", "Sum": "counter", "Gauge": "gauge"}
_CHECKS = {
    "string": lambda value: type(value) is str,
    "int": lambda value: type(value) is int,
    "double": lambda value: type(value) is float,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: type(value) is bool,
    "string[]": lambda value: type(value) is tuple and all(type(one) is str for one in value),
}


def sort_of(attributes: Mapping[str, Any]) -> str:
    """The sort of span that something is about; services that run agents are called as models are."""
    if semconv.MCP_METHOD_NAME in attributes:
        return "mcp"
    operation, is_call = attributes.get(semconv.GEN_AI_OPERATION_NAME), attributes.get(semconv.KIND) == "llm.call"
    if operation == "invoke_agent":
        return "remote_agent" if is_call or semconv.GEN_AI_REQUEST_MODEL in attributes else "agent"
    return next((sort for sort, span in FACTS["spans"].items() if operation in span["operations"]), OTHER)


class Checker:
    """Finds what is wrong.

    Args:
        sets: The conventions' sets of names that may be written.
        own: Names that the application has given itself.
        closed: Whether values of our enumerations must be among those of the registry: kinds of an application's own
            are not.
        content: Whether content may be recorded.
    """

    def __init__(self, *sets: str, own: Iterable[str] = (), closed: bool = True, content: bool = True) -> None:
        self._sets, self._own, self._closed, self._content = set(sets), set(own), closed, content

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
        if FACTS["only"].get(name) not in {None, *self._sets}:
            return f"is of {FACTS['only'][name]} alone"
        if name in OPT_IN and not self._content:
            return "is content, for which nobody has asked"
        if told == "any":
            return ""
        sorts = (
            {told[one] for one in self._sets} if isinstance(told, dict) else {told if type(told) is str else "string"}
        )
        return "" if any(_CHECKS[one](value) for one in sorts) else f"is {value!r}, no {' or '.join(sorted(sorts))}"

    def schema(self, scope: Any, where: str) -> Iterator[str]:
        """What is wrong with the schema of an instrumentation scope: no published one has the newest names."""
        if (scope.schema_url or None) != (None if "newest" in self._sets else semconv.SCHEMA_URL):
            yield f"{where}: schema {scope.schema_url!r}"

    # ------------------------------------------------------------------------------------------- spans

    def span(self, span: Any, at_start: Mapping[str, Any] | None = None) -> Iterator[str]:
        """What is wrong with one that has ended.

        Args:
            span: As an exporter gets it.
            at_start: The attributes that it was started with, if they were seen.
        """
        attributes = dict(span.attributes or {})
        where = f"span {span.name!r}"
        yield from self._attributes(attributes, where)
        if semconv.GEN_AI_OPERATION_NAME not in attributes and semconv.MCP_METHOD_NAME not in attributes:
            if attributes.get(semconv.KIND) in ("llm.call", "tool.execute", "agent.invoke"):
                yield f"{where}: has no {semconv.GEN_AI_OPERATION_NAME}"
        elif (sort := sort_of(attributes)) != OTHER:
            told = FACTS["spans"][sort]
            yield from self._levels(attributes, told, where)
            yield from self._conventional(span, attributes, told, where, at_start)
        for event in span.events:
            yield from self._span_event(event, where)
        yield from self.schema(span.instrumentation_scope, where)

    def _levels(self, attributes: Mapping[str, Any], told: Any, where: str) -> Iterator[str]:
        """What is missing, and what this sort of span has no place for."""
        older = "v1.41" in self._sets
        for name in (*told["required"], *(told.get("required_in_v1.41", ()) if older else ())):
            if name not in attributes:
                yield f"{where}: has no {name}"
        known = {name for level in LEVELS for name in told[level]} | set(FACTS["anywhere"])
        for name in attributes:
            if name in FACTS["attributes"] and name not in known:
                yield f"{where}: {name} has no place on it"
            if not older and name in told.get("not_in_newest", ()):
                yield f"{where}: {name} has no place on it in the newest"
        yield from _conditions(attributes, FACTS["conditions"], where)

    def _conventional(
        self, span: Any, attributes: dict[str, Any], told: Any, where: str, at_start: Mapping[str, Any] | None
    ) -> Iterator[str]:
        if span.kind.name.lower() not in told["kind"].split(" or "):
            yield f"{where}: is {span.kind.name}, not {told['kind']}"
        if span.name not in _names(told["name"], attributes):
            yield f"{where}: is not named {told['name']}"
        rewritten = attributes.get(semconv.MODIFIED, ())
        for name in told["at_start"] if at_start is not None else ():
            if name not in attributes or ("model" in rewritten and name == semconv.GEN_AI_REQUEST_MODEL):
                continue
            if at_start is not None and at_start.get(name) != attributes[name]:
                yield f"{where}: a sampler was not told of {name}"
        if (span.status.status_code.name == "ERROR") != (semconv.ERROR_TYPE in attributes):
            yield f"{where}: failed without {semconv.ERROR_TYPE}, or has one without having failed"

    def _span_event(self, event: Any, where: str) -> Iterator[str]:
        if event.name not in EVENTS and event.name not in (semconv.EVENT_EXCEPTION, semconv.EVENT_GUARDRAIL_RESULT):
            yield f"{where}: event {event.name!r} is not in the registry"
        if event.name == semconv.EVENT_EXCEPTION and "v1.41" not in self._sets:
            yield f"{where}: event {event.name!r} is of v1.41 alone"
        yield from self._attributes(dict(event.attributes or {}), f"{where}: event {event.name!r}")

    # ------------------------------------------------------------------------------------------- log events

    def event(self, record: Any) -> Iterator[str]:
        """What is wrong with a log event, as an exporter gets it."""
        name, attributes = record.event_name, dict(record.attributes or {})
        where = f"event {name!r}"
        told = FACTS["events"].get(name, {})
        if name not in EVENTS and not told:
            yield f"{where}: is in no convention and not in the registry"
        elif told.get("set") not in {None, *self._sets}:
            yield f"{where}: is of {told['set']} alone"
        yield from self._attributes(attributes, where)
        for one in _required(EVENTS.get(name)):
            if one not in attributes:
                yield f"{where}: has no {one}"
        if told.get("any_of") and attributes.keys().isdisjoint(told["any_of"]):
            yield f"{where}: has none of {', '.join(told['any_of'])}"
        if "span" in told:
            yield from self._levels(attributes, FACTS["spans"][told["span"]], where)
            if sort_of(attributes) != told["span"]:
                yield f"{where}: is about {sort_of(attributes)}, not {told['span']}"
            for one in FACTS["spans"][told["span"]]["opt_in"]:
                if isinstance(attributes.get(one), str):
                    yield f"{where}: {one} is text, and must be structured"
        severities = told.get("severity", {})
        wanted = {severities.get(one, "INFO") for one in self._sets if told.get("set") in (None, one)}
        if record.severity_number.name not in wanted:
            yield f"{where}: has severity {record.severity_number.name}, not {' or '.join(sorted(wanted))}"
        if not (record.trace_id and record.span_id):
            yield f"{where}: belongs to no span"

    # ------------------------------------------------------------------------------------------- metrics

    def metric(self, metric: Any) -> Iterator[str]:
        """What is wrong with a metric, as a reader gets it."""
        ours, theirs = METRICS.get(metric.name), FACTS["metrics"].get(metric.name)
        where = f"metric {metric.name!r}"
        told = ours or theirs
        if told is None:
            yield f"{where}: is in no convention and not in the registry"
            return
        if told.get("set") not in {None, *self._sets}:
            yield f"{where}: is of {told['set']} alone"
        if metric.unit != told["unit"]:
            yield f"{where}: unit {metric.unit!r}"
        if _INSTRUMENTS[type(metric.data).__name__] != told["instrument"]:
            yield f"{where}: is no {told['instrument']}"
        for point in metric.data.data_points:
            attributes = dict(point.attributes or {})
            yield from self._attributes(attributes, where)
            if semconv.METRIC_OVERFLOW in attributes:
                continue
            yield from (f"{where}: a series has no {one}" for one in _required(ours) if one not in attributes)
            if theirs is not None:
                yield from self._point(point, attributes, theirs, where)

    def _point(self, point: Any, attributes: Mapping[str, Any], told: Any, where: str) -> Iterator[str]:
        group = FACTS["metric_groups"].get(told.get("group"), {})
        required = {*group.get("required", ()), *told.get("required", ())}
        known = {*required, *(one for level in LEVELS for one in group.get(level, ())), *told.get("and", ())}
        for name in required - attributes.keys():
            yield f"{where}: a series has no {name}"
        for name in attributes.keys() - known:
            if name not in ATTRIBUTES:
                yield f"{where}: {name} has no place on it"
        sorts = set(told.get("of", (OTHER,)))
        if "v1.41" not in self._sets and told.get("set") is None:
            sorts.discard("inference")  # the older name is for all calls but these
        if "of" in told and sort_of(attributes) not in sorts:
            yield f"{where}: counts {attributes.get(semconv.GEN_AI_OPERATION_NAME)!r}"
        value = getattr(point, "value", getattr(point, "sum", None))
        if not _CHECKS[told["type"]](value):
            yield f"{where}: {value!r} is no {told['type']}"
        if "buckets" in told and list(getattr(point, "explicit_bounds", ())) != FACTS["buckets"][told["buckets"]]:
            yield f"{where}: has not the buckets that are advised"


def _conditions(attributes: Mapping[str, Any], told: Mapping[str, Mapping[str, Any]], where: str) -> Iterator[str]:
    for name, other in told["if_and_only_if"].items():
        if (name in attributes) != (other in attributes):
            yield f"{where}: has only one of {name} and {other}"
    for name, other in told["only_with"].items():
        if name in attributes and other not in attributes:
            yield f"{where}: has {name} without {other}"
    for name, value in told["never"].items():
        if attributes.get(name) == value:
            yield f"{where}: {name} is {value!r}, which goes without saying"
    for name, whole in told["part_of"].items():
        if attributes.get(name, 0) > attributes.get(whole, 0):
            yield f"{where}: {name} is no part of {whole}"


def _names(pattern: str, attributes: Mapping[str, Any]) -> set[str]:
    """What a span may be called, without the target if it has none."""
    if semconv.MCP_METHOD_NAME in attributes:
        targets = (semconv.GEN_AI_TOOL_NAME, semconv.GEN_AI_PROMPT_NAME)
        found = next((f" {attributes[one]}" for one in targets if attributes.get(one)), "")
        return {f"{attributes[semconv.MCP_METHOD_NAME]}{found}"}
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
