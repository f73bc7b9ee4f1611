"""Tables: of what Prometheus and Loki count, a row for each set of labels, and of spans that Tempo found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, table, tempo
from grafana_foundation_sdk.models import common as drawing
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.tempo import SearchTableType

from grafana.src.panels import (
    COUNT,
    HEIGHT,
    LOKI,
    PROMETHEUS,
    TEMPO,
    WIDE,
    Panel,
    Steps,
    loki_query,
    prometheus_query,
    refs,
    thresholds,
)
from grafana.src.queries import spans
from spanhook import semconv

NO_CELL = "\N{EN DASH}"
"""What an empty cell shows. Without it Grafana writes the text for an empty panel into each."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its heading, its unit, and where a click on it leads."""

    title: str
    unit: str = ""
    url: str = ""
    link: str = ""
    width: int = 0
    colours: Mapping[str, str] | None = None
    steps: Steps = ()
    """From which value on which colour; the first has no value."""


def _mapping(colours: Mapping[str, str]) -> model.ValueMap:
    return model.ValueMap({value: model.ValueMappingResult(color=colour) for value, colour in colours.items()})


def _properties(column: Column) -> list[model.DynamicConfigValue]:
    found: list[model.DynamicConfigValue] = []
    if column.unit:
        found.append(model.DynamicConfigValue("unit", column.unit))
    if column.unit == COUNT:
        found.append(model.DynamicConfigValue("decimals", 0))
    if column.width:
        found.append(model.DynamicConfigValue("custom.width", column.width))
    if column.url:
        link = {"title": column.link, "url": column.url, "targetBlank": False}
        found.append(model.DynamicConfigValue("links", [link]))
    if column.colours:
        found.append(model.DynamicConfigValue("mappings", [_mapping(column.colours).to_json()]))
    if column.steps:
        found.append(model.DynamicConfigValue("thresholds", thresholds(column.steps).build().to_json()))
    if column.colours or column.steps:
        found.append(model.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}))
    return found


def _table(
    title: str, about: str, datasource: drawing.DataSourceRef, empty: str, width: int, *sort: str, height: int = HEIGHT
) -> table.Panel:
    panel = (
        table.Panel()
        .title(title)
        .description(about)
        .datasource(datasource)
        .span(width)
        .height(height)
        .unit("string")  # else Grafana reads names as numbers where it can: user 007 becomes 7
        .no_value(empty)
        .override_by_regexp(".*", [model.DynamicConfigValue("noValue", NO_CELL)])
        .show_header(True)
        .cell_height(drawing.TableCellHeight.SM)
        .min_width(70)  # half of Grafana's default, so that columns share the width and none is scrolled out of sight
        .filterable(width > WIDE)  # where the icons of filters leave room for headings
    )
    return panel.sort_by([common.TableSortByFieldState().display_name(one).desc(True) for one in sort if one])


def _columns(panel: table.Panel, columns: Mapping[str, Column], without: Iterable[str] = ("Time",)) -> Panel:
    panel = panel.with_transformation(
        model.DataTransformerConfig(
            "organize",
            options={
                "excludeByName": dict.fromkeys(without, True),
                "indexByName": {name: place for place, name in enumerate(columns)},
                "renameByName": {name: column.title for name, column in columns.items()},
            },
        )
    )
    for column in columns.values():
        if properties := _properties(column):
            panel = panel.override_by_name(column.title, properties)
    return panel


def rows(
    title: str,
    about: str,
    *exprs: str,
    columns: Mapping[str, Column],
    empty: str,
    width: int = 12,
    height: int = HEIGHT,
    sort: str = "",
    then: str = "",
) -> Panel:
    """A table of what Prometheus answers, a row for each set of labels.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        exprs: PromQL; several are joined by their labels, their values are ``Value #A``, ``Value #B``...
        columns: By label, and ``Value`` (of one expression) or ``Value #A``; in this order.
        empty: What is said when there is nothing.
        width: Of 24.
        height: In units of the grid; a figure has 4.
        sort: Heading of the column that sorts, largest first.
        then: The one that sorts where that has the same, or nothing.
    """
    panel = _table(title, about, PROMETHEUS, empty, width, sort, then, height=height).targets(
        [
            prometheus_query(ref, expr, instant=True, rows=True)
            for ref, expr in zip(refs(len(exprs)), exprs, strict=True)
        ]
    )
    if len(exprs) > 1:
        panel = panel.with_transformation(model.DataTransformerConfig("merge", options={}))
    return _columns(panel, columns)


def matrix(
    title: str,
    about: str,
    expr: str,
    *,
    down: str,
    across: str,
    heading: Column,
    order: Sequence[str],
    unit: str,
    empty: str,
    width: int = 12,
) -> Panel:
    """A table of two labels: one down, one across.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        expr: PromQL, summed by these two labels.
        down: The label of the rows.
        across: The label of the columns.
        heading: The first column.
        order: Values of the label of the columns, in their order; those not named come last.
        unit: Grafana's id of the unit of all values.
        empty: What is said when there is nothing.
        width: Of 24.
    """
    corner = f"{down}\\{across}"
    panel = (
        _table(title, about, PROMETHEUS, empty, width)
        .with_target(prometheus_query("A", expr, instant=True, rows=True))
        .unit(unit)
        .with_transformation(
            model.DataTransformerConfig(
                "groupingToMatrix",
                options={"rowField": down, "columnField": across, "valueField": "Value", "emptyValue": "zero"},
            )
        )
        .with_transformation(
            model.DataTransformerConfig(
                "organize",
                options={
                    "excludeByName": {},
                    "indexByName": {name: place for place, name in enumerate((corner, *order))},
                    "renameByName": {corner: heading.title},
                },
            )
        )
        .override_by_name(heading.title, _properties(heading))
    )
    return panel.decimals(0) if unit == COUNT else panel


def log_rows(
    title: str,
    about: str,
    expr: str,
    *,
    columns: Mapping[str, Column],
    empty: str,
    width: int = 12,
    sort: str = "",
) -> Panel:
    """A table of what Loki counts of log events, a row for each set of labels; arguments as of ``rows``."""
    panel = _table(title, about, LOKI, empty, width, sort).with_target(loki_query(expr, instant=True))
    return _columns(panel, columns)


def traces(
    title: str, about: str, *conditions: str, columns: Mapping[str, Column], empty: str, width: int = 24
) -> Panel:
    """Spans that were kept, newest first; each leads to its trace.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        conditions: TraceQL that must hold of a span.
        columns: Columns by span attribute, in this order, besides those that every such table has.
        empty: What is said when there is nothing.
        width: Of 24.
    """
    query = spans(*conditions, show=tuple(columns))
    found = tempo.TempoQuery().datasource(TEMPO).ref_id("A").query_type("traceql").query(query)
    panel = _table(title, about, TEMPO, empty, width).with_target(
        found.limit(50).spss(3).table_type(SearchTableType.SPANS)
    )
    # hidden and not left out: the link of the span's id asks for it
    panel = panel.override_by_name(
        "traceIdHidden",
        [model.DynamicConfigValue("custom.hideFrom", {"viz": True, "legend": False, "tooltip": False})],
    )
    all_columns = {
        "Span ID": Column("Span", width=150),
        "Start time": Column("Start", unit="dateTimeAsIsoNoDateIfToday", width=90),
        "Name": Column("Name", width=190),
        **columns,
        "service.name": Column("Service"),
        "Trace Name": Column("Run", width=160),
        "Duration": Column("Duration", unit="ns", width=90),
    }
    asked = {semconv.KIND, semconv.STATUS, semconv.DECISION}  # TraceQL gives what conditions name, asked for or not
    return _columns(panel, all_columns, without=["Trace Service", *sorted(asked - columns.keys())])
