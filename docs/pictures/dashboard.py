"""A dashboard as Grafana's own components draw it, over what a real Prometheus answers of ``spanhook load``.

Needs what the tests' stack is made of (``.ci/tools otelcol prometheus alertmanager``), npm and Chromium. See
``dashboard/page.jsx`` for what is Grafana's own and what is not.
"""

import functools
import hashlib
import http.server
import json
import math
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.loads import load
from tests.e2e.programs import CACHE
from tests.e2e.stack import Stack, stack
from tests.panels import dashboards, queries

PAGE = Path(__file__).with_name("dashboard")
TARGET = Path(__file__).with_name("dashboard.png")

DASHBOARD = "spanhook-agents"
TITLES = (
    "What broke",
    *("Runs", "Failed", "Rejected", "Spent", "Ungated", "Failed open", "Items lost", "Alerts firing"),
    *("Runs by status", "Duration"),
    *("Interrupted, abandoned, cancelled", "By agent"),
)
"""Panels and rows that are in the picture, where they stand in the dashboard; rows left out are closed up."""

SERVICE = "shop"
MINUTES = 15
STEP = 15
"""Seconds between two points of a graph."""
RATE = "1m"
"""What Grafana puts in for ``$__rate_interval``: four times the interval of the data source, if that is ``STEP``."""
BATCH = 20
"""Seconds from one load to the next."""

LAYOUT = {"columns": 24, "cell": 30, "gap": 8, "width": 1360, "margin": 16, "header": 40}
SCALE = 1.5


def draw() -> None:
    """Run the load for a while, ask every query, and write the picture."""
    with tempfile.TemporaryDirectory(prefix="spanhook-picture-") as scratch:
        with stack(Path(scratch) / "stack", loki=False) as running:
            start = time.time()
            runs = _worked(running, start + 60 * MINUTES)
            panels = [_answered(panel, running, start, time.time()) for panel in _chosen()]
            ended = time.time()
        about = f"{runs:,} runs of spanhook load in {MINUTES} minutes"
        data = {"title": dashboards()[DASHBOARD]["title"], "about": about, "layout": LAYOUT, "panels": panels}
        page = _built(Path(scratch) / "page")
        (page / "data.json").write_text(json.dumps({**data, "from": start, "to": ended}))
        _photographed(page, panels)


# ----------------------------------------------------------------------------------------------- what is shown


def _chosen() -> list[dict[str, Any]]:
    """The panels of the picture, each in its place there."""
    chosen = [panel for panel in dashboards()[DASHBOARD]["panels"] if panel["title"] in TITLES]
    missing = {*TITLES} - {panel["title"] for panel in chosen}
    if missing:
        raise ValueError(f"{DASHBOARD} has no panel {', '.join(sorted(missing))}")
    tops: dict[int, int] = {}
    bottom = 0
    for top in sorted({panel["gridPos"]["y"] for panel in chosen}):
        tops[top] = bottom
        bottom += max(panel["gridPos"]["h"] for panel in chosen if panel["gridPos"]["y"] == top)
    return [{**panel, "gridPos": {**panel["gridPos"], "y": tops[panel["gridPos"]["y"]]}} for panel in chosen]


def _worked(running: Stack, until: float) -> int:
    """Runs of several sorts until then, now more, now fewer; returns how many."""
    done, seed = 0, 0
    while time.time() < until:
        seed, began = seed + 1, time.time()
        runs = round(30 + 18 * math.sin(seed / 5) + 6 * math.sin(seed * 2.1))
        environ = {
            **running.environ(),
            "OTEL_SERVICE_NAME": SERVICE,
            "OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={uuid.uuid4()}",
        }
        load(environ, runs, seed)
        done += runs
        print(f"{until - time.time():.0f} s left, {done} runs", file=sys.stderr)
        time.sleep(max(0.0, min(began + BATCH, until) - time.time()))
    return done


def _answered(panel: dict[str, Any], running: Stack, start: float, end: float) -> dict[str, Any]:
    texts = {(query.dashboard, query.panel, query.ref): query for query in queries()}
    values = {"service": SERVICE, "__range": f"{round(end - start)}s", "__rate_interval": RATE}
    targets: list[dict[str, Any]] = []
    for target in panel.get("targets", ()):
        text = texts[DASHBOARD, panel["title"], target["refId"]].put_in(values)
        if target["range"]:
            first = math.ceil(start / STEP) * STEP
            asked = {"query": text, "start": str(first), "end": str(end), "step": str(STEP)}
            answer = _asked(f"{running.prometheus.url}/api/v1/query_range", asked)
        else:
            answer = _asked(f"{running.prometheus.url}/api/v1/query", {"query": text, "time": str(end)})
        targets.append({**target, "answer": answer})
    return {**panel, "targets": targets}


def _asked(url: str, parameters: dict[str, str]) -> list[Any]:
    body = urllib.parse.urlencode(parameters).encode()
    with urllib.request.urlopen(url, body, timeout=30) as answer:
        return json.load(answer)["data"]["result"]


# ----------------------------------------------------------------------------------------------- drawing


def _built(target: Path) -> Path:
    """The page and what it is made of, ready to be served."""
    packages = _packages()
    shutil.copytree(packages / "node_modules/@grafana/ui/dist/public", target / "public" / "build")  # its icons
    shutil.copy(PAGE / "page.jsx", packages)
    made = ["--bundle", "--jsx=automatic", f"--outfile={target / 'page.js'}", "--log-level=error"]
    fonts = [f"--loader:.{ending}=dataurl" for ending in ("woff", "woff2", "ttf")]
    production = '--define:process.env.NODE_ENV="production"'
    _run([packages / "node_modules/.bin/esbuild", "page.jsx", *made, *fonts, production], packages)
    (target / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="page.css">'
        '<body style="margin: 0"><div id="root"></div><script src="page.js"></script>\n'
    )
    return target


def _packages() -> Path:
    """Grafana's packages, installed once for each ``package.json``."""
    wanted = (PAGE / "package.json").read_bytes()
    folder = CACHE.parent / f"pictures-{hashlib.sha256(wanted).hexdigest()[:12]}"
    if not (folder / ".whole").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_bytes(wanted)
        quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        _run(["npm", "install", *quiet], folder)
        (folder / ".whole").touch()
    return folder


def _photographed(page: Path, panels: Sequence[dict[str, Any]]) -> None:
    rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    width = LAYOUT["width"] + 2 * LAYOUT["margin"]
    height = LAYOUT["header"] + rows * (LAYOUT["cell"] + LAYOUT["gap"]) - LAYOUT["gap"] + 2 * LAYOUT["margin"]
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        sys.exit(f"no browser on the path: one of {', '.join(names)}")
    with _served(page) as url:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        waiting = ["--virtual-time-budget=15000", f"--user-data-dir={page.parent / 'profile'}"]
        size = [f"--window-size={width},{height}", f"--force-device-scale-factor={SCALE}"]
        _run([browser, *options, *waiting, *size, f"--screenshot={TARGET}", url], page)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of each request."""


@contextmanager
def _served(folder: Path) -> Generator[str, None, None]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


def _run(command: Sequence[str | Path], folder: Path) -> None:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    if ran.returncode:
        sys.exit(f"{Path(command[0]).name} has failed:\n{ran.stdout}{ran.stderr}")
