"""How panels look: one function for each sort, so that a dashboard says what it asks and not how it is drawn.

Every panel has a description, a unit and a text for when there is nothing to show.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    logs,
    loki,
    prometheus,
    stat,
    timeseries,
)
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import common as drawing
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

PROMETHEUS = drawing.DataSourceRef(type_val="prometheus", uid="prometheus")
LOKI = drawing.DataSourceRef(type_val="loki", uid="loki")
TEMPO = drawing.DataSourceRef(type_val="tempo", uid="tempo")

HEIGHT = 8
WIDE = 12
COUNT = "locale"
"""Unit of what is counted in whole numbers: all digits, where ``short`` would tell 1,712 as 2 K."""
GREEN, YELLOW, RED = "green", "#EAB839", "red"
BAD = ((None, GREEN), (1, RED))
"""One is one too many."""
STATUS_COLOURS = {
    "success": GREEN,
    "error": RED,
    "rejected": "orange",
    "interrupted": "blue",
    "cancelled": "purple",
    "abandoned": "#808080",
}

Panel = Builder[model.Panel]
Links = Mapping[str, str]
"""Addresses by their names."""
Steps = Sequence[tuple[float | None, str]]
"""From which value on which colour; the first has no value."""


@dataclass(frozen=True, slots=True)
class Line:
    """One query of a graph: its expression and the name of its series."""

    expr: str
    legend: str


# --------------------------------------------------------------------------- queries


def prometheus_query(ref: str, expr: str, *, instant: bool, legend: str = "", rows: bool = False) -> Builder[Dataquery]:
    query = prometheus.Dataquery().datasource(PROMETHEUS).ref_id(ref).expr(expr).legend_format(legend or "__auto")
    query = query.instant() if instant else query.range().exemplar("_bucket" in expr)
    return query.format(PromQueryFormat.TABLE if rows else PromQueryFormat.TIME_SERIES)


def loki_query(expr: str, *, instant: bool) -> Builder[Dataquery]:
    query = loki.Dataquery().datasource(LOKI).ref_id("A").expr(expr).query_type("instant" if instant else "range")
    return query if instant else query.max_lines(200)


def refs(count: int) -> str:
    return "ABCDEFGHIJ"[:count]


# --------------------------------------------------------------------------- links and thresholds


def _links(links: Links) -> list[Builder[model.DashboardLink]]:
    return [dashboard.DashboardLink(title).type(model.DashboardLinkType.LINK).url(url) for title, url in links.items()]


def thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    return (
        dashboard.ThresholdsConfig()
        .mode(model.ThresholdsMode.ABSOLUTE)
        .steps([model.Threshold(value, colour) for value, colour in steps])
    )


# --------------------------------------------------------------------------- panels


def figure(
    title: str,
    about: str,
    expr: str,
    *,
    unit: str,
    empty: str,
    width: int = 4,
    steps: Steps = ((None, "blue"),),
    links: Links | None = None,
    decimals: int | None = None,
) -> Panel:
    """One number for the time shown, without decimals if it is a count.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        expr: PromQL that gives one value.
        unit: Grafana's id of the unit.
        empty: The text shown when there is none.
        width: Of 24.
        steps: From which value on which colour; the first has no value.
        links: Where a click leads.
        decimals: How many are shown.
    """
    panel = (
        stat.Panel()
        .title(title)
        .description(about)
        .datasource(PROMETHEUS)
        .span(width)
        .height(4)
        .with_target(prometheus_query("A", expr, instant=True))
        .unit(unit)
        .no_value(empty)
        .thresholds(thresholds(steps))
        .color_mode(drawing.BigValueColorMode.VALUE)
        .graph_mode(drawing.BigValueGraphMode.NONE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .data_links(_links(links or {}))
    )
    if unit == COUNT:
        decimals = 0
    return panel if decimals is None else panel.decimals(decimals)


def graph(
    title: str,
    about: str,
    *lines: Line,
    unit: str,
    empty: str,
    width: int = 12,
    stacked: bool = False,
    most: float | None = None,
    colours: Mapping[str, str] | None = None,
    links: Links | None = None,
) -> Panel:
    """Series over time; where they are quantiles of a histogram, exemplars lead to traces.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        lines: What is asked.
        unit: Grafana's id of the unit.
        empty: What is said when there is nothing.
        width: Of 24.
        stacked: Whether the series are parts of a whole.
        most: Where the axis ends, if not at the largest value.
        colours: Of series, by name.
        links: Where a click leads.
    """
    panel = (
        timeseries.Panel()
        .title(title)
        .description(about)
        .datasource(PROMETHEUS)
        .span(width)
        .height(HEIGHT)
        .targets(
            [
                prometheus_query(ref, line.expr, instant=False, legend=line.legend)
                for ref, line in zip(refs(len(lines)), lines, strict=True)
            ]
        )
        .unit(unit)
        .min(0)
        .no_value(empty)
        .span_nulls(300_000)  # a missed export is no gap; silence of five minutes is
        .line_width(1)
        .fill_opacity(40 if stacked else 8)
        .show_points(drawing.VisibilityMode.AUTO)
        .legend(
            common.VizLegendOptions()
            .display_mode(drawing.LegendDisplayMode.TABLE)
            # beside a narrow graph, a legend would leave too little room for lines and names
            .placement(drawing.LegendPlacement.RIGHT if width >= WIDE else drawing.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs(["mean", "max"])
            .sort_by("Max")
            .sort_desc(True)
        )
        .tooltip(common.VizTooltipOptions().mode(drawing.TooltipDisplayMode.MULTI).sort(drawing.SortOrder.DESCENDING))
        .data_links(_links(links or {}))
    )
    if most is not None:
        panel = panel.max(most)
    if stacked:
        panel = panel.stacking(common.StackingConfig().group("A").mode(drawing.StackingMode.NORMAL))
    for name, colour in (colours or {}).items():
        fixed = model.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour})
        panel = panel.override_by_name(name, [fixed])
    return panel


def log_bars(title: str, about: str, expr: str, *, legend: str, unit: str, empty: str, width: int = 8) -> Panel:
    """Bars of what Loki counts of log events.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        expr: LogQL.
        legend: Label that names a bar.
        unit: Grafana's id of the unit.
        empty: What is said when there is nothing.
        width: Of 24.
    """
    query = loki.Dataquery().datasource(LOKI).ref_id("A").expr(expr).query_type("instant")
    return (
        bargauge.Panel()
        .title(title)
        .description(about)
        .datasource(LOKI)
        .span(width)
        .height(HEIGHT)
        .with_target(query.legend_format(f"{{{{{legend}}}}}"))
        .unit(unit)
        .min(0)
        .no_value(empty)
        .thresholds(thresholds([(None, "blue")]))
        .orientation(drawing.VizOrientation.HORIZONTAL)
        .display_mode(drawing.BarGaugeDisplayMode.BASIC)
        .reduce_options(common.ReduceDataOptions().values(True).calcs(["lastNotNull"]))
    )


def log_lines(title: str, about: str, expr: str, *, empty: str, width: int = 24) -> Panel:
    """The latest log events; each opens to its attributes and the way to its trace.

    Args:
        title: What it is.
        about: What it tells and how to read it.
        expr: LogQL.
        empty: What is said when there is nothing.
        width: Of 24.
    """
    return (
        logs.Panel()
        .title(title)
        .description(about)
        .datasource(LOKI)
        .span(width)
        .height(HEIGHT)
        .with_target(loki_query(expr, instant=False))
        .no_value(empty)
        .show_time(True)
        .wrap_log_message(True)
        .enable_log_details(True)
        .sort_order(drawing.LogsSortOrder.DESCENDING)
    )
