"""An alert that fires reaches the webhook."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.loads import load
from tests.e2e.programs import until
from tests.e2e.stack import stack

pytestmark = pytest.mark.e2e


@contextmanager
def webhook() -> Generator[tuple[str, list[Any]], None, None]:
    """A server that keeps the alerts it is told of."""
    told: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_gate_that_fails_open_is_told_to_the_webhook(tmp_path: Path) -> None:
    with webhook() as (url, told), stack(tmp_path, webhook=url) as one:
        document = load(one.environ(), runs=60)
        wanted = {
            row["attributes"]["spanhook.hook"]
            for row in document["metrics"]["spanhook.hook.decisions"]
            if row["attributes"]["spanhook.decision"] in ("error", "timeout")
            and row["attributes"]["spanhook.fail_mode"] == "open"
            and row["attributes"]["spanhook.event"].endswith(".pre")
        }
        assert wanted

        def hooks() -> set[str]:
            labels = [one["labels"] for one in told]
            return {of["spanhook_hook"] for of in labels if of["alertname"] == "SpanhookGateFailedOpen"}

        until(lambda: hooks() == wanted, f"alert about {wanted}", 90)
        annotations = next(one["annotations"] for one in told if one["labels"]["alertname"] == "SpanhookGateFailedOpen")
        assert annotations["runbook_url"].endswith("docs/runbook.md#gate-failed-open")
