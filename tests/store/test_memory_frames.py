"""Frames in memory: how many are kept."""

from typing import Any

import pytest

from spanhook import ConfigurationError
from spanhook.store import Frame, MemoryFrames


def test_the_oldest_make_room() -> None:
    store = MemoryFrames(limit=2)
    for number in range(4):
        store.add(Frame(id=str(number), session_id="s", type="note", content=""))
    assert [one.id for one in store.recent(9)] == ["2", "3"]
    store.add(Frame(id="0", session_id="s", type="note", content=""))
    assert [one.id for one in store.recent(9)] == ["3", "0"]


def test_nothing_is_left_of_what_made_room() -> None:
    store = MemoryFrames(limit=3)
    for number in range(50):
        store.add(Frame(id=str(number), session_id=f"s{number}", type="note", content="", tenant_id=f"t{number}"))
    assert len(store._found) == 9
    assert len(store._ids) == 3


def test_a_fork_in_the_middle_of_a_change_leaves_it_whole() -> None:
    store = MemoryFrames(limit=2)
    for number in range(2):
        store.add(Frame(id=str(number), session_id="s", type="note", content=""))
    store._lock.acquire()
    store._frames.append(Frame(id="2", session_id="s", type="note", content=""))  # as far as the other thread got
    store.renew()
    store.add(Frame(id="3", session_id="s", type="note", content=""))
    store.add(Frame(id="4", session_id="s", type="note", content=""))
    assert [one.id for one in store.recent(9)] == [one.id for one in store.recent(9, session_id="s")] == ["3", "4"]


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, None, "9"])
def test_a_limit_is_a_positive_number(limit: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"MemoryFrames\(limit=.*expected a positive number of frames"):
        MemoryFrames(limit)
