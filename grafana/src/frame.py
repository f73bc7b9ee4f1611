"""What all dashboards share: variables, the links between them, ids, and how they become JSON."""

import json
from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as model

from grafana.src.names import label, metric
from grafana.src.panels import PROMETHEUS, Panel
from grafana.src.queries import CLICKED, SERVICE
from spanhook import semconv

TAG = "spanhook"
AGENTS, USAGE, TOOLS, HOOKS, PIPELINE = (
    f"spanhook-{name}" for name in ("agents", "usage", "tools", "hooks", "pipeline")
)

Row = tuple[str, Sequence[Panel]]
"""A heading and what stands under it."""


def _chosen(name: str, title: str, about: str, source: str, attribute: str, everything: str) -> dashboard.QueryVariable:
    """A variable with the values that an attribute has, several at a time, or any that is typed in."""
    return (
        dashboard.QueryVariable(name)
        .label(title)
        .description(about)
        .datasource(PROMETHEUS)
        .query(f"label_values({source}, {label(attribute)})")
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(everything)
        .allow_custom_value(True)
        .current(model.VariableOption(selected=True, text=["All"], value=["$__all"]))
    )


def _variables() -> list[dashboard.QueryVariable]:
    usage = f"{metric(semconv.METRIC_TOKENS)}{{{SERVICE}}}"
    runs = f"{metric(semconv.METRIC_RUN_LLM_CALLS, '_count')}{{{SERVICE}}}"
    return [
        # `.+`, because Loki refuses a selector that an empty value would match
        _chosen("service", "Service", "service.name", metric(semconv.METRIC_INFO), "service.name", ".+"),
        _chosen("agent", "Agent", "gen_ai.agent.name of the run", runs, semconv.GEN_AI_AGENT_NAME, ".*"),
        _chosen("model", "Model", "gen_ai.response.model", usage, semconv.GEN_AI_RESPONSE_MODEL, ".*"),
        _chosen(
            "tenant",
            "Tenant",
            "spanhook.tenant.id. Metrics have it with Settings(tenant_metrics=True) alone, log events always; "
            "type one in where none is offered",
            usage,
            semconv.TENANT_ID,
            ".*",
        ),
    ]


def service_url() -> str:
    """The agents of the service clicked."""
    return f"/d/{AGENTS}?${{__url_time_range}}&var-service={CLICKED}"


def floor(name: str, title: str, about: str) -> dashboard.TextBoxVariable:
    """A number typed in, from which on rows are shown."""
    return dashboard.TextBoxVariable(name).label(title).description(about).default_value("0")


def build(
    uid: str, title: str, about: str, rows: Sequence[Row], extra: Sequence[dashboard.TextBoxVariable] = ()
) -> model.Dashboard:
    """A dashboard of these rows, with what all of them share.

    Args:
        uid: Its id, also its file's name.
        title: What it is called.
        about: Which questions it answers.
        rows: What is on it.
        extra: Variables that it has besides the common ones.
    """
    builder = (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(about)
        .tags([TAG])
        .time("now-1h", "now")
        .refresh("1m")
        .timezone("browser")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .variables([*_variables(), *extra])
        .link(
            dashboard.DashboardLink("spanhook")
            .type(model.DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .include_vars(True)
            .keep_time(True)
        )
    )
    for heading, panels in rows:
        builder = builder.with_row(dashboard.Row(heading))
        for panel in panels:
            builder = builder.with_panel(panel)
    built = builder.build()
    for number, panel in enumerate(built.panels or [], start=1):
        panel.id_val = number
    return built


def as_json(built: model.Dashboard) -> str:
    """The text of its file."""
    held: dict[str, Any] = json.loads(json.dumps(built, cls=JSONEncoder))
    # what the builders give to all, and Grafana 13 has no more, or not there
    for variable in held["templating"]["list"]:
        for option in ("auto", "auto_count", "auto_min"):
            variable.pop(option, None)
    for panel in held["panels"]:
        if panel["type"] == "table":
            panel["options"].pop("footer", None)
    return json.dumps(held, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
