"""Tables: of what Prometheus and Loki count, a row for each set of labels, and of spans that Tempo found."""

from collections.abc import Mapping
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, table, tempo
from grafana_foundation_sdk.models import common as drawing
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.tempo import SearchTableType

from grafana.src.panels import HEIGHT, LOKI, PROMETHEUS, TEMPO, Panel, loki_query, prometheus_query, refs


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its heading, its unit, and where a click on it leads."""

    title: str
    unit: str = ""
    url: str = ""
    link: str = ""
    width: int = 0
    colours: Mapping[str, str] | None = None


def _mapping(colours: Mapping[str, str]) -> model.ValueMap:
    return model.ValueMap({value: model.ValueMappingResult(color=colour) for value, colour in colours.items()})


def _properties(column: Column) -> list[model.DynamicConfigValue]:
    found: list[model.DynamicConfigValue] = []
    if column.unit:
        found.append(model.DynamicConfigValue("unit", column.unit))
    if column.width:
        found.append(model.DynamicConfigValue("custom.width", column.width))
    if column.url:
        link = {"title": column.link, "url": column.url, "targetBlank": False}
        found.append(model.DynamicConfigValue("links", [link]))
    if column.colours:
        found.append(model.DynamicConfigValue("mappings", [_mapping(column.colours).to_json()]))
        found.append(model.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}))
    return found


def _table(title: str, about: str, datasource: drawing.DataSourceRef, empty: str, width: int, sort: str) -> table.Panel:
    panel = (
        table.Panel()
        .title(title)
        .description(about)
        .datasource(datasource)
        .span(width)
        .height(HEIGHT)
        .unit("none")
        .no_value(empty)
        .show_header(True)
        .cell_height(drawing.TableCellHeight.SM)
        .filterable(True)
    )
    return panel.sort_by([common.TableSortByFieldState().display_name(sort).desc(True)]) if sort else panel


def _columns(panel: table.Panel, columns: Mapping[str, Column]) -> Panel:
    panel = panel.with_transformation(
        model.DataTransformerConfig(
            "organize",
            options={
                "excludeByName": {"Time": True},
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
    sort: str = "",
) -> Panel:
    """A table of what Prometheus answers, a row for each set of labels.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        exprs: PromQL; several are joined by their labels, their values are ``Value #A``, ``Value #B``...
        columns: By label, and ``Value`` (of one expression) or ``Value #A``; in this order.
        empty: What is said when there is nothing.
        width: Of 24.
        sort: Heading of the column that sorts, largest first.
    """
    panel = _table(title, about, PROMETHEUS, empty, width, sort).targets(
        [
            prometheus_query(ref, expr, instant=True, rows=True)
            for ref, expr in zip(refs(len(exprs)), exprs, strict=True)
        ]
    )
    if len(exprs) > 1:
        panel = panel.with_transformation(model.DataTransformerConfig("merge", options={}))
    return _columns(panel, columns)


def matrix(
    title: str, about: str, expr: str, *, down: str, across: str, unit: str, empty: str, heading: str, width: int = 12
) -> Panel:
    """A table of two labels: one down, one across.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        expr: PromQL, summed by these two labels.
        down: The label of the rows.
        across: The label of the columns.
        unit: Grafana's id of the unit of all values.
        empty: What is said when there is nothing.
        heading: Of the first column.
        width: Of 24.
    """
    return (
        _table(title, about, PROMETHEUS, empty, width, "")
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
                options={"excludeByName": {}, "indexByName": {}, "renameByName": {f"{down}\\{across}": heading}},
            )
        )
    )


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


def traces(title: str, about: str, query: str, *, empty: str, width: int = 24) -> Panel:
    """Spans that were kept, newest first; the trace id leads to the trace.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        query: TraceQL.
        empty: What is said when there is nothing.
        width: Of 24.
    """
    found = tempo.TempoQuery().datasource(TEMPO).ref_id("A").query_type("traceql").query(query)
    return _table(title, about, TEMPO, empty, width, "").with_target(
        found.limit(50).spss(3).table_type(SearchTableType.SPANS)
    )
