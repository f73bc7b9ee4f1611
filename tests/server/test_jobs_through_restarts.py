"""A server with jobs is killed under load: no acknowledged job is lost, and readers go on with the next server."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.serving import events_of
from tests.server.test_running import command

APP = """
import asyncio
import pathlib

GO_ON = pathlib.Path(__file__).with_name("go_on")

async def talking(given):
    for number in range(30):
        yield f"{number} "
        await asyncio.sleep(0.02)
        while number == 20 and given % 4 == 0 and not GO_ON.exists():
            await asyncio.sleep(0.02)
"""
"""Every fourth job cannot end before it may go on."""
CONFIG = {"rate": "1000000/minute", "jobs": 8}
MADE = 24


def settings(folder: Path) -> str:
    (folder / "talkers.py").write_text(APP)
    target = f"{folder}/talkers.py:talking"
    agents = {"safe": {"target": target, "retry": "safe"}, "once": {"target": target}}
    path = folder / "serve.yaml"
    path.write_text(json.dumps({**CONFIG, "agents": agents}))
    return str(path)


class Reader(threading.Thread):
    """Follows a job over servers that go and come.

    Attributes:
        seen: Number, type and data of each event.
    """

    def __init__(self, job_id: str) -> None:
        super().__init__()
        self.job_id, self.seen = job_id, list[tuple[int, str, Any]]()

    def read(self, address: str) -> None:
        """Read until the end, or until the server goes away."""
        headers = {"Last-Event-ID": str(self.seen[-1][0])} if self.seen else {}
        try:
            with httpx.stream("GET", f"{address}/v1/jobs/{self.job_id}/stream", headers=headers, timeout=60) as answer:
                for event in events_of(answer.iter_lines()):
                    self.seen.append(event)
        except httpx.HTTPError:
            return

    @property
    def ended(self) -> bool:
        return bool(self.seen) and self.seen[-1][1] == "done"


def asked(address: str, made: list[str]) -> None:
    """Ask for jobs until the server goes away; those that were acknowledged are noted."""
    with httpx.Client(base_url=address, timeout=60) as client:
        for number in range(MADE):
            name = "safe" if number % 2 else "once"
            try:
                answer = client.post(f"/v1/agents/{name}?async=true", json={"input": number})
            except httpx.HTTPError:
                return
            if answer.status_code == 202:
                made.append(answer.json()["job_id"])


def in_threads(work: Iterator[threading.Thread]) -> list[threading.Thread]:
    started = list(work)
    for one in started:
        one.start()
    return started


@pytest.mark.parametrize("name", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_no_acknowledged_job_is_lost_and_streams_go_on(tmp_path: Path, name: signal.Signals) -> None:
    given, made = ("--config", settings(tmp_path)), list[str]()
    with command(tmp_path, *given) as (process, address):
        asked(address, made)
        readers = [Reader(job_id) for job_id in made]
        threads = in_threads(threading.Thread(target=one.read, args=(address,)) for one in readers)
        with httpx.stream("GET", f"{address}/v1/jobs/{made[0]}/stream", timeout=60) as answer:
            for _ in zip(range(8), events_of(answer.iter_lines()), strict=False):
                pass  # it is in the middle of its work
        process.send_signal(name)
        process.communicate(timeout=60)
    for one in threads:
        one.join()
    assert len(made) == MADE
    assert not all(one.ended for one in readers)
    (tmp_path / "go_on").touch()
    with ExitStack() as stack:
        _, address = stack.enter_context(command(tmp_path, *given))
        client = stack.enter_context(httpx.Client(base_url=address, timeout=60))
        for one in in_threads(threading.Thread(target=one.read, args=(address,)) for one in readers if not one.ended):
            one.join()
        for reader in readers:
            job = client.get(f"/v1/jobs/{reader.job_id}").json()
            assert [one[0] for one in reader.seen] == list(range(1, len(reader.seen) + 1))
            assert (reader.seen[-1][1], reader.seen[-1][2]["status"]) == ("done", job["status"])
            if job["agent"] == "safe":
                assert job["status"] == "completed"
            else:
                assert job["status"] == "completed" or job["error_type"] in ("ProcessEnded", "Drained")
                assert job["attempts"] <= 1
