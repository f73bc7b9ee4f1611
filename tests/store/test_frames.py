"""Every frame memory keeps frames alike: order, bounds, sessions, tenants, statistics, threads."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spanhook.store import Frame, FrameMemory, MemoryFrames, SessionStatistics, SQLiteFrames


@pytest.fixture(params=["memory", "sqlite"])
def frames(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FrameMemory]:
    if request.param == "memory":
        yield MemoryFrames()
    else:
        with SQLiteFrames(tmp_path / "frames.db") as store:
            yield store


def frame(number: int, session_id: str = "s", **given: Any) -> Frame:
    settings: dict[str, Any] = {"type": "iteration", "iteration": number, "time_ns": number, **given}
    return Frame(id=f"{session_id}-{number}", session_id=session_id, content=f"frame {number}", **settings)


def ids(found: list[Frame]) -> list[str]:
    return [one.id for one in found]


def test_a_frame_is_kept_whole(frames: FrameMemory) -> None:
    given = Frame(
        id="1",
        session_id="s",
        type="error",
        content="Zoë \0 \N{SNOWMAN}",
        tenant_id="acme",
        iteration=3,
        importance=10,
        tags=("error", "iter-4"),
        success=False,
        time_ns=1_700_000_000_123_456_789,
        details={"recent": ["a", "b"], "length": 3, "none": None},
    )
    frames.add(given)
    assert frames.recent(5, tenant_id="acme") == [given]


def test_the_newest_come_oldest_first(frames: FrameMemory) -> None:
    for number in range(5):
        frames.add(frame(number))
    assert ids(frames.recent(2)) == ["s-3", "s-4"]
    assert ids(frames.recent(10)) == [f"s-{number}" for number in range(5)]
    assert frames.recent(0) == frames.recent(-1) == []


def test_sessions_and_types_are_asked_for(frames: FrameMemory) -> None:
    for number, (session, sort) in enumerate((("a", "iteration"), ("a", "error"), ("b", "error"), ("b", "note"))):
        frames.add(frame(number, session, type=sort))
    assert ids(frames.recent(9, session_id="a")) == ["a-0", "a-1"]
    assert ids(frames.recent(9, type="error")) == ["a-1", "b-2"]
    assert ids(frames.recent(9, session_id="b", type="error")) == ["b-2"]
    assert frames.recent(9, session_id="") == []


def test_tenants_never_see_each_others_frames(frames: FrameMemory) -> None:
    frames.add(frame(1, tenant_id="acme"))
    frames.add(frame(2, tenant_id="ajax"))
    frames.add(frame(3))
    assert [ids(frames.recent(9, tenant_id=one)) for one in ("acme", "ajax", "", "other")] == [
        ["s-1"],
        ["s-2"],
        ["s-3"],
        [],
    ]
    assert frames.statistics("s", tenant_id="acme").frames == 1


def test_a_frame_is_kept_once(frames: FrameMemory) -> None:
    frames.add(frame(1))
    frames.add(frame(1, type="error"))
    assert [one.type for one in frames.recent(9)] == ["iteration"]


def test_one_query_is_bounded(frames: FrameMemory) -> None:
    for number in range(1_005):
        frames.add(frame(number))
    assert len(frames.recent(10**9)) == 1_000
    assert frames.statistics("s").frames == 1_005


def test_statistics_of_a_session(frames: FrameMemory) -> None:
    assert frames.statistics("s") == SessionStatistics()
    made: list[dict[str, Any]] = [
        {"success": True},
        {"success": False},
        {"type": "error"},
        {"type": "decision"},
        {"success": True, "iteration": 8},
        {"type": "completion", "success": True},
    ]
    for number, given in enumerate(made):
        frames.add(frame(number, **given))
    frames.add(frame(99, "other"))
    assert frames.statistics("s") == SessionStatistics(
        frames=6,
        iterations=3,
        succeeded=2,
        failed=1,
        errors=1,
        decisions=1,
        completed=True,
        last_iteration=8,
        first_ns=0,
        last_ns=5,
    )


def test_threads_write_and_read_at_the_same_time(frames: FrameMemory) -> None:
    failed: list[BaseException] = []

    def write(session: str) -> None:
        try:
            for number in range(25):
                frames.add(frame(number, session))
                assert ids(frames.recent(1, session_id=session)) == [f"{session}-{number}"]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(f"s{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(frames.recent(1_000)) == 200


@pytest.mark.parametrize("make", [MemoryFrames, lambda: SQLiteFrames("unused.db")])
def test_each_says_whether_it_blocks(
    make: Callable[[], FrameMemory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = make()
    assert store.blocking is isinstance(store, SQLiteFrames)
    if isinstance(store, SQLiteFrames):
        store.close()
