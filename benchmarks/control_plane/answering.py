"""What answers of the control plane over HTTP cost, as JSON and as web pages.

The figures are milliseconds of CPU, the client's included. They repeat on a machine that has other work too; on
one that has none, the clock says about the same.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event, Thread
from typing import Any

import httpx

from benchmarks.control_plane.telemetry import APART_NS, START_NS
from benchmarks.terminal import tell
from spanhook.server import ServerSettings
from spanhook.server.running import address, listen, serve_on

ROUNDS = 10
_DEEP_PAGES, _LARGEST = 50, 200
_HTML = {"Accept": "text/html"}


def _at(run: int) -> str:
    return datetime.fromtimestamp((START_NS + run * APART_NS) / 1e9, UTC).isoformat()


FILTERS: dict[str, dict[str, str]] = {
    "all": {},
    "status": {"status": "error"},
    "running": {"status": "running"},
    "agent": {"agent": "agent-4"},
    "tenant": {"tenant": "tenant-3"},
    "user": {"user": "user-77"},
    "session": {"session": "session-77"},
    "model": {"model": "model-1"},
    "hook": {"hook": "hook-3"},
    "time": {"since": _at(1_000), "until": _at(2_000)},
    "search": {"search": "agent-4"},
    "search, beginning of an id": {"search": "session-77"},
    "search, nothing found": {"search": "no such thing"},
    "agent and status": {"agent": "agent-4", "status": "error"},
    "tenant and agent": {"tenant": "tenant-14", "agent": "agent-4"},
    "tenant and agent, nothing found": {"tenant": "tenant-3", "agent": "agent-4"},
    "user and status": {"user": "user-77", "status": "error"},
    "status and agent, nothing found": {"status": "success", "agent": "no such agent"},
    "model and status": {"model": "model-1", "status": "error"},
    "hook and model": {"hook": "hook-3", "model": "model-1"},
    "hook, status and time": {"hook": "hook-3", "status": "error", "since": _at(1_000)},
    "model and time": {"model": "model-1", "until": _at(2_000)},
    "search and status": {"search": "agent-4", "status": "error"},
    "search and running": {"search": "agent-4", "status": "running"},
    "search, tenant and time": {"search": "benchmark", "tenant": "tenant-3", "until": _at(2_000)},
}


@contextmanager
def served(database_url: str) -> Generator[httpx.Client]:
    """A client of the server, which runs in a thread of this process."""
    settings = ServerSettings(database=database_url, port=0, rate="1000000/minute")
    listening, up, servers = listen(settings.host, 0), Event(), list[Any]()

    def started(server: Any, _database: Any) -> None:
        servers.append(server)
        up.set()

    thread = Thread(target=lambda: asyncio.run(serve_on(settings, listening, started)))
    thread.start()
    try:
        if not up.wait(60):
            raise RuntimeError("the server did not start")
        with httpx.Client(base_url=address(settings.host, listening), timeout=60) as client:
            yield client
    finally:
        for server in servers:
            server.should_exit = True
        thread.join()
        listening.close()


def answers(client: httpx.Client, clock: Callable[[], float]) -> dict[str, dict[str, float | None]]:
    """Milliseconds of CPU for each question: as ``json``, ``deep`` (a later page), and as a web ``page``.

    Args:
        client: A client of the server.
        clock: Seconds of CPU so far.
    """
    found: dict[str, dict[str, float | None]] = {}
    for name, given in FILTERS.items():
        deep = _deep(client, given)
        found[f"runs: {name}"] = {
            "json": _ms(client, clock, "/v1/runs", given),
            "deep": _ms(client, clock, "/v1/runs", {**given, "cursor": deep}) if deep else None,
            "page": _ms(client, clock, "/runs", given, _HTML),
        }
    run = client.get("/v1/runs").json()["runs"][0]["id"]
    others: dict[str, tuple[str, str, dict[str, Any]]] = {
        "one run": (f"/v1/runs/{run}", f"/runs/{run}", {}),
        "decisions": ("/v1/decisions", "/decisions", {}),
        "decisions of a hook": ("/v1/decisions", "/decisions", {"hook": "hook-3"}),
        "usage by day and model": ("/v1/usage", "/usage", {"by": ["day", "model"]}),
        "usage by user": ("/v1/usage", "/usage", {"by": ["user"]}),
        "statistics of hooks": ("/v1/hooks/stats", "/hooks", {}),
        "execution log": ("/v1/hooks/logs", "", {}),
    }
    for name, (api, page, given) in others.items():
        json_ms, page_ms = _ms(client, clock, api, given), _ms(client, clock, page, {}, _HTML) if page else None
        found[name] = {"json": json_ms, "deep": None, "page": page_ms}
    return found


def _deep(client: httpx.Client, given: dict[str, str]) -> str:
    """The cursor of a page that is up to 10,000 rows away; empty if there is only one page."""
    place: dict[str, str] = {}
    for _ in range(_DEEP_PAGES):
        answer = client.get("/v1/runs", params={**given, **place, "limit": str(_LARGEST)})
        more: str = answer.raise_for_status().json()["next_cursor"]
        if not more:
            break
        place = {"cursor": more}
    return place.get("cursor", "")


def _ms(
    client: httpx.Client,
    clock: Callable[[], float],
    path: str,
    given: dict[str, Any],
    headers: dict[str, str] | None = None,
) -> float:
    client.get(path, params=given, headers=headers).raise_for_status()
    began = clock()
    for _ in range(ROUNDS):
        client.get(path, params=given, headers=headers).raise_for_status()
    took = (clock() - began) / ROUNDS * 1000
    tell(f"{path} {given}: {took:.1f} ms of CPU")
    return took
