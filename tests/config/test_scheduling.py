"""Schedules in a configuration file, run on the application's own loop."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import spanhook
from spanhook import ConfigurationError
from spanhook.config import read_file
from spanhook.schedules import CronState
from spanhook.store import SQLiteStates

pytestmark = pytest.mark.anyio

AGENTS = """
called = []

async def report(given):
    called.append(given)

def plain(given):
    return given
"""
FILE = """
stores: {schedules: "sqlite:///ticks.db"}
cron:
  - id: yearly
    schedule: "0 0 1 1 *"
    agent: ./scheduled_here.py:report
    input: {topic: sales}
    missed: latest
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scheduled_here.py").write_text(AGENTS)
    return tmp_path


async def test_what_was_missed_is_run_on_this_loop(here: Path) -> None:
    (here / "spanhook.yaml").write_text(FILE)
    states = SQLiteStates(str(here / "ticks.db"))
    before = CronState("0 0 1 1 * UTC", datetime.now(UTC) - timedelta(days=400)).as_text()
    states.change("cron:yearly", lambda _: (before, None))
    states.close()
    async with spanhook.scheduler() as scheduler, asyncio.timeout(30):
        while True:
            ((entry, state, _),) = await scheduler.known()
            if state is not None and state.recent:
                break
            await asyncio.sleep(0.005)
    assert (entry.agent, state.recent[0].fate) == ("report", "completed")


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 1", "has no schedules; add them under cron"),
        (FILE.replace("scheduled_here.py:report", "scheduled_here.py:nobody"), "spanhook.yaml:6: .*nobody"),
        (FILE.replace("scheduled_here.py:report", "scheduled_here.py:plain"), "define it with async def"),
        (FILE.replace("sqlite:///ticks.db", "redis://127.0.0.1:1/0"), "set stores.schedules"),
    ],
)
def test_what_cannot_be_run_is_refused(here: Path, text: str, said: str) -> None:
    (here / "spanhook.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match=said):
        spanhook.scheduler()


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ('"0 0 1 1 *"', '"0 0 1 1"', "has 4 fields, expected five"),
        ('"0 0 1 1 *"', '"0 0 31 2 *"', "cron.0..schedule: .*: bad day-of-month; expected minute"),
        ("missed: latest", "missed: newest", "expected 'skip', 'latest' or 'all'"),
        ("missed: latest", "time_zone: Berlin", "expected a name such as 'Europe/Berlin'"),
        ("missed: latest", "overlaps: skip", "did you mean 'overlap'"),
        ("./scheduled_here.py", "./nowhere.py", "spanhook.yaml:6: cron.0..agent: .*nowhere.py"),
        ("./scheduled_here.py:report", "report", "expected ./app.py:agent or package.module:agent"),
    ],
)
def test_mistakes_in_a_file_say_what_to_write(here: Path, was: str, now: str, said: str) -> None:
    (here / "spanhook.yaml").write_text(FILE.replace(was, now))
    with pytest.raises(ConfigurationError, match=said):
        read_file("spanhook.yaml")


def test_two_schedules_of_one_id_are_refused(here: Path) -> None:
    (here / "spanhook.yaml").write_text(FILE + FILE.partition("cron:\n")[2])
    with pytest.raises(ConfigurationError, match="'yearly' is there twice"):
        read_file("spanhook.yaml")


def test_without_a_file_there_are_none() -> None:
    with pytest.raises(ConfigurationError, match="no configuration file"):
        spanhook.scheduler()
