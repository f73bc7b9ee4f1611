"""The committed dashboards as tests read them: every panel, every query, with variables put in."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "grafana" / "dashboards").glob("*.json"))
EVERYTHING = {
    "service": ".+",
    "agent": ".*",
    "model": ".*",
    "tenant": ".*",
    "cost_from": "0",
    "seconds_from": "0",
    "__rate_interval": "5m",
    "__range": "1h",
}
"""What Grafana puts in where nothing is chosen, an hour is shown and SDKs export each minute."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query of one panel."""

    dashboard: str
    panel: str
    ref: str
    source: str
    text: str

    def __str__(self) -> str:
        return f"{self.dashboard.removeprefix('spanhook-')}/{self.panel}/{self.ref}"

    def put_in(self, values: Mapping[str, str] | None = None) -> str:
        """The text with variables replaced, as Grafana sends it."""
        known = {**EVERYTHING, **(values or {})}
        return re.sub(r"\$(\w+)", lambda found: known[found[1]], self.text)


def dashboards() -> dict[str, dict[str, Any]]:
    """What each file holds, by its name without the ending."""
    return {path.stem: json.loads(path.read_text()) for path in FILES}


def panels(dashboard: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The panels of a dashboard, rows left out."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries() -> list[Query]:
    """Every query there is."""
    return [
        Query(
            name, panel["title"], target["refId"], target["datasource"]["uid"], target.get("expr", target.get("query"))
        )
        for name, dashboard in dashboards().items()
        for panel in panels(dashboard)
        for target in panel["targets"]
    ]
