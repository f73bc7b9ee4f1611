"""Threads of our own: whatever is done on them, they go on."""

import threading

import pytest

from spanhook.concurrency import reaper
from spanhook.diagnostics import internal


def test_the_reaper_outlives_what_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    ended: list[str] = []

    def leave() -> None:
        raise SystemExit

    reaper.start()
    reaper.put((leave,))
    reaper.put((ended.append, "next"))
    assert reaper.drain()
    assert ended == ["next"]
    assert internal.counts.pop("reaper") == 1
    internal.lost.pop("reaper")


def test_callers_who_drain_at_the_same_time_all_come_to_an_end() -> None:
    go, ended, drained = threading.Event(), list[int](), list[bool]()

    def more(number: int) -> None:
        go.wait(60.0)
        ended.append(number)
        if number < 5:
            reaper.put((more, number + 10))

    reaper.start()
    for number in range(5):
        reaper.put((more, number))
    callers = [threading.Thread(target=lambda: drained.append(reaper.drain(30.0))) for _ in range(4)]
    for caller in callers:
        caller.start()
    go.set()
    for caller in callers:
        caller.join()
    assert drained == [True] * 4
    assert sorted(ended) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
    assert reaper.drain(30.0)
