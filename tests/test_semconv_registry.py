"""The published registry against ``semconv.py`` and against what is written."""

from pathlib import Path
from typing import Any, get_args

import pytest
from docs.semconv import PAGE, page

from spanhook import semconv
from spanhook.instrument import INSTRUMENTORS
from spanhook.semconv import Coverage, Decision, Kind, LifecyclePhase, Status
from spanhook.telemetry import BUCKETS
from tests.inventory import each
from tests.yaml_files import load_file

REGISTRY = Path(__file__).parent.parent / "docs" / "semconv"
SCALARS = {"string", "int", "double", "boolean", "string[]"}
LEVELS = {"required", "recommended", "opt_in"}
OURS = "spanhook."


def read(name: str) -> Any:
    return load_file(REGISTRY / name)


ATTRIBUTES = {one["key"]: one for one in read("attributes.yaml")["attributes"]}
METRICS = {one["name"]: one for one in read("metrics.yaml")["metrics"]}
EVENTS = {one["name"]: one for one in read("events.yaml")["events"]}
GROUPS = {one["id"]: one for file in ("metrics.yaml", "events.yaml") for one in read(file)["attribute_groups"]}

FACTS = load_file(Path(__file__).parent / "conventions" / "facts.yaml")
"""What the conventions have names for."""

#: Names of the conventions for resources and the SDK, those of others, which are only read, and no names at all.
ELSEWHERE = (
    "cloudevents.",
    "http.",
    "https:",
    "input.",
    "output.",
    "process.",
    "otel.",
    "openinference.",
    "llm.",
    "embedding.",
    "tool.",
    "traceloop.",
)

#: In the body of an event, where there are no attributes.
IN_BODY = {semconv.USAGE_BY_MODEL}


def named(prefix: str = "") -> set[str]:
    """The names of ours that ``semconv`` has, of constants whose own name begins with ``prefix``."""
    return {
        value
        for name, value in vars(semconv).items()
        if name.isupper() and name.startswith(prefix) and isinstance(value, str) and value.startswith(OURS)
    }


def refs(entry: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a metric or an event, with their requirement levels."""
    found: dict[str, Any] = {}
    for one in entry["attributes"]:
        if "ref_group" in one:
            found |= refs(GROUPS[one["ref_group"]])
        else:
            found[one["ref"]] = one["requirement_level"]
    return found


def test_every_name_of_ours_stands_in_the_registry_and_no_other() -> None:
    metrics, events = named("METRIC_"), named("EVENT_")

    assert set(METRICS) == metrics
    assert set(EVENTS) == events
    assert set(ATTRIBUTES) == named() - metrics - (events - set(ATTRIBUTES)) - IN_BODY


@each([*ATTRIBUTES])
def test_an_attribute_says_what_it_is(key: str) -> None:
    told = ATTRIBUTES[key]

    assert told["brief"].strip().endswith(".")
    assert told["stability"] == "development"
    if isinstance(told["type"], dict):
        members = told["type"]["members"]
        assert all(one.keys() == {"id", "value", "brief", "stability"} for one in members)
        assert len({one["id"] for one in members}) == len(members)
    else:
        assert told["type"] in SCALARS
        assert told["type"] == "boolean" or told["examples"]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (semconv.KIND, (*get_args(Kind), *(kind for one in INSTRUMENTORS.values() for kind in one.kinds))),
        (semconv.STATUS, get_args(Status)),
        (semconv.COVERAGE, get_args(Coverage)),
        (semconv.DECISION, get_args(Decision)),
        (semconv.LIFECYCLE_PHASE, get_args(LifecyclePhase)),
        (semconv.TOKEN_BUCKET, BUCKETS),
    ],
)
def test_an_enumeration_has_the_values_that_are_written(key: str, values: tuple[str, ...]) -> None:
    assert tuple(one["value"] for one in ATTRIBUTES[key]["type"]["members"]) == tuple(values)


@each([*METRICS.values(), *EVENTS.values()], lambda entry: entry["name"])
def test_metrics_and_events_refer_to_what_there_is(entry: dict[str, Any]) -> None:
    for key, level in refs(entry).items():
        assert key in ATTRIBUTES or not key.startswith(OURS), key
        assert (level if isinstance(level, str) else next(iter(level))) in LEVELS | {"conditionally_required"}


def test_names_that_are_not_ours_are_those_of_the_conventions() -> None:
    known = {*FACTS["attributes"], *FACTS["metrics"], *FACTS["events"], semconv.EVENT_EXCEPTION}
    written = {value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str)}

    theirs = {one for one in written if "." in one and not one.startswith((OURS, *ELSEWHERE))}

    assert len(theirs) > 50
    assert theirs <= known


@each([*FACTS["spans"]])
def test_the_facts_know_the_attributes_that_they_speak_of(sort: str) -> None:
    span = FACTS["spans"][sort]
    spoken_of = [*span["required"], *span["if_known"], *span["recommended"], *span["opt_in"]]

    assert len(set(spoken_of)) == len(spoken_of)
    assert set(spoken_of) <= set(FACTS["attributes"])
    assert set(span["at_start"]) <= set(spoken_of)
    assert set(span["operations"]) <= set(FACTS["attributes"]["gen_ai.operation.name"])


def test_the_page_of_tables_is_made_of_the_registry() -> None:
    assert PAGE.read_text() == page(), "python -m docs.semconv writes it anew"
