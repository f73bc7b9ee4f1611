"""Jobs, ticks of schedules and deliveries to webhooks are shown as they ended."""

import json
import os
import subprocess
import sys
import threading
import urllib.request
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from spanhook import semconv
from tests.e2e.backends import Prometheus
from tests.e2e.backgrounds import COMPLETED, FAILED, TAKES_S, TICKS
from tests.e2e.programs import Server, until
from tests.e2e.stack import Stack, prometheus_at
from tests.panels import queries
from tests.ports import free_ports

pytestmark = pytest.mark.e2e

APPLICATION = Path(__file__).with_name("backgrounds.py")
CANCELLED = 2


def _stated(prometheus: Prometheus, panel: str, by: str = "", service: str = ".+") -> dict[str, float]:
    """What a panel says, by a label; series at zero left out, unless there is nothing to tell them by."""
    [query] = [one for one in queries() if str(one) == panel]
    found = prometheus.query(query.put_in({"service": service}))
    return {one.labels.get(by, ""): one.value for one in found if one.value or not by}


# --------------------------------------------------------------------------- jobs and ticks


@pytest.fixture(scope="module")
def service(running: Stack) -> str:
    name = f"background-{uuid.uuid4()}"
    ran = subprocess.run(
        [sys.executable, "-m", "spanhook", "run", str(APPLICATION)],
        env={**os.environ, **running.environ(), "OTEL_SERVICE_NAME": name},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return name


@pytest.mark.parametrize(
    ("panel", "by", "stated"),
    [
        ("Jobs/A", "", {"": COMPLETED + FAILED + CANCELLED}),
        ("Jobs that failed/A", "", {"": FAILED / (COMPLETED + FAILED + CANCELLED)}),
        ("Ticks not completed/A", "", {"": list(TICKS.values()).count("failed")}),
    ],
)
def test_figures_state_how_background_runs_ended(
    running: Stack, service: str, panel: str, by: str, stated: dict[str, float]
) -> None:
    until(lambda: _stated(running.prometheus, f"agents/{panel}", by, service) == pytest.approx(stated), panel)


@pytest.mark.parametrize(
    ("panel", "by", "values"),
    [
        ("Jobs by status/A", "spanhook_job_status", {"completed", "failed", "cancelled"}),
        ("Ticks of schedules/A", "spanhook_cron_outcome", set(TICKS.values())),
        ("Duration of jobs by agent, p95/A", "gen_ai_agent_name", {"teller", "caller"}),
    ],
)
def test_graphs_tell_them_apart(running: Stack, service: str, panel: str, by: str, values: set[str]) -> None:
    until(lambda: values == set(_stated(running.prometheus, f"agents/{panel}", by, service)), panel)


@pytest.mark.parametrize("panel", ["Time jobs wait, p95/A", "Time jobs wait/A", "Time jobs wait/B"])
def test_how_long_jobs_wait_is_shown(running: Stack, service: str, panel: str) -> None:
    """One runs at a time, so that half of them wait for the first. A quantile is as exact as the buckets."""
    bucket = max(bound for bound in semconv.AGENT_DURATION_BUCKETS if bound < TAKES_S)
    shown = until(lambda: _stated(running.prometheus, f"agents/{panel}", "", service), panel)
    assert shown[""] > bucket


def test_counts_are_exact(running: Stack, service: str) -> None:
    def ended() -> dict[tuple[str, ...], float]:
        selector = f'last_over_time(spanhook_job_duration_seconds_count{{service_name="{service}"}}[1h])'
        return {
            tuple(one.labels.get(name, "") for name in ("gen_ai_agent_name", "spanhook_job_status", "error_type")): (
                one.value
            )
            for one in running.prometheus.query(selector)
        }

    until(
        lambda: (
            ended()
            == {
                ("teller", "completed", ""): COMPLETED,
                ("caller", "failed", "ConnectionError"): FAILED,
                ("clerk", "cancelled", ""): CANCELLED,
            }
        ),
        "jobs by agent, status and error",
    )


# --------------------------------------------------------------------------- webhooks


@contextmanager
def _receiver() -> Generator[str]:
    """Takes what comes to ``/takes``, and is gone at ``/gone``."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(410 if self.path == "/gone" else 204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A control plane, and the Prometheus that scrapes it."""

    url: str
    prometheus: Prometheus

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """A request to its API."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Origin": self.url}
        asked = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return json.load(answer)

    def register(self, url: str) -> str:
        """An endpoint for jobs that were completed."""
        return self.ask("POST", "/v1/webhooks", {"url": url, "events": ["job.completed"]})["webhook_id"]

    def run_job(self) -> None:
        """A job, to its end."""
        job = self.ask("POST", "/v1/agents/echo?async=true", {"input": "hello"})
        until(lambda: self.ask("GET", f"/v1/jobs/{job['job_id']}")["status"] == "completed", "the end of a job")


@pytest.fixture
def control_plane(tmp_path: Path) -> Generator[ControlPlane]:
    at, scraped, nowhere = free_ports(3)
    folder, url = tmp_path / "server", f"http://127.0.0.1:{at}"
    folder.mkdir()
    (folder / "app.py").write_text("async def echo(given):\n    return given\n")
    (folder / "server.yaml").write_text(
        "agents:\n  echo: {target: './app.py:echo'}\n"
        "webhooks: {key_env: WEBHOOK_KEY, plain_http: true, allowed_networks: [127.0.0.0/8]}\n"
    )
    arguments = ["-m", "spanhook", "serve", "--config", "server.yaml", "--port", str(at)]
    server = Server(Path(sys.executable), arguments, folder, f"{url}/readyz", {"WEBHOOK_KEY": "k" * 32})
    prometheus = prometheus_at(tmp_path / "prometheus", scraped, nowhere)
    own = tmp_path / "prometheus" / "prometheus.yaml"
    own.write_text(
        own.read_text().replace("scrape_interval: 15s", "scrape_interval: 1s")
        + f"  - job_name: control-plane\n    static_configs: [{{targets: ['127.0.0.1:{at}']}}]\n"
    )
    server.start()
    try:
        prometheus.start()
        try:
            yield ControlPlane(url, Prometheus(f"http://127.0.0.1:{scraped}"))
        finally:
            prometheus.stop()
    finally:
        server.stop()


def test_panels_state_what_became_of_deliveries(control_plane: ControlPlane) -> None:
    """One endpoint takes everything, one is gone, one cannot be reached, and one was disabled when something waited."""

    def stated(panel: str, by: str = "") -> dict[str, float]:
        return _stated(control_plane.prometheus, f"pipeline/{panel}", by)

    [closed] = free_ports(1)
    until(lambda: control_plane.prometheus.value("count(spanhook_server_info)") == 1, "a first look")
    with _receiver() as receiver:
        control_plane.register(f"{receiver}/takes")
        control_plane.register(f"{receiver}/gone")
        control_plane.register(f"http://127.0.0.1:{closed}/")
        disabled = control_plane.register(f"http://127.0.0.1:{closed}/")
        control_plane.run_job()
        attempts = "sum by (result) (spanhook_server_webhook_attempts_total)"

        def tried() -> dict[str, float]:
            return {one.labels["result"]: one.value for one in control_plane.prometheus.query(attempts)}

        until(lambda: tried().get("delivered") == tried().get("dead") == 1 and tried()["failed"] >= 2, "attempts")
        control_plane.ask("PATCH", f"/v1/webhooks/{disabled}", {"enabled": False})
        for _ in range(2):
            control_plane.run_job()
        for panel, wanted in (
            ("Webhook deliveries waiting/A", 3),
            ("Webhook deliveries given up/A", 1),
            ("Held for disabled endpoints/A", 1),
        ):
            until(lambda panel=panel, wanted=wanted: stated(panel) == {"": wanted}, f"{panel}: {wanted}")
        until(lambda: stated("Oldest webhook delivery/A")[""] > 0, "the age of the oldest")
        until(lambda: tried()["delivered"] == 3, "what was delivered")
        results = {"delivered", "failed", "dead"}
        until(lambda: results == set(stated("Webhook attempts/A", "result")), "attempts by result")
        waiting = {"enabled": 3.0, "disabled": 1.0}
        until(lambda: stated("Webhook deliveries waiting, over time/A", "endpoint") == waiting, "what waits")
