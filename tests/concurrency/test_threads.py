"""Threads of our own: whatever is done on them, they go on."""

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
