"""The registry of spanhook's own names as a page of tables, ``names.md``; a test holds the page to the registry."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
PAGE = HERE / "names.md"

_HEAD = """# spanhook's own names

`python -m docs.semconv` generates this page from the [registry](README.md). [Telemetry](../telemetry.md) says where and
when each name is written. Attributes in italics are not on every record of the metric or event.
"""


def page() -> str:
    """The whole page, as Markdown."""
    return "\n".join([_HEAD, *_attributes(), *_metrics(), *_events()]).rstrip() + "\n"


def _read(name: str) -> Any:
    return yaml.safe_load((HERE / name).read_text())


def _table(*head: str, rows: Iterable[Iterable[str]]) -> Iterator[str]:
    for row in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(_cell(one) for one in row)} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _attributes() -> Iterator[str]:
    yield "## Attributes\n"
    found = sorted(_read("attributes.yaml")["attributes"], key=lambda one: one["key"])
    yield from _table(
        "attribute",
        "type",
        "",
        rows=((f"`{one['key']}`", _type(one), f"{one['brief']} {one.get('note', '')}") for one in found),
    )


def _type(attribute: Any) -> str:
    told = attribute["type"]
    if not isinstance(told, dict):
        return told
    return ", ".join(f"`{one['value']}`" for one in told["members"])


def _metrics() -> Iterator[str]:
    yield "## Metrics\n"
    document = _read("metrics.yaml")
    yield from _table(
        "metric",
        "instrument",
        "unit",
        "",
        "attributes",
        rows=(
            (f"`{one['name']}`", one["instrument"], one["unit"], one["brief"], _refs(one, document))
            for one in document["metrics"]
        ),
    )


def _events() -> Iterator[str]:
    yield "## Events\n"
    document = _read("events.yaml")
    yield from _table(
        "event",
        "",
        "attributes",
        rows=(
            (f"`{one['name']}`", f"{one['brief']} {one.get('note', '')}", _refs(one, document))
            for one in document["events"]
        ),
    )


def _refs(entry: Any, document: Any) -> str:
    """The attributes of a metric or an event; those that are not always there in italics."""
    groups = {one["id"]: one for one in document["attribute_groups"]}
    found: list[str] = []
    for one in entry.get("attributes", ()):
        if "ref_group" in one:
            found.append(_refs(groups[one["ref_group"]], document))
        else:
            name = f"`{one['ref']}`"
            found.append(name if one["requirement_level"] == "required" else f"*{name}*")
    return ", ".join(one for one in found if one)
