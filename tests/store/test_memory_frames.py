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


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, None, "9"])
def test_a_limit_is_a_positive_number(limit: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"MemoryFrames\(limit=.*expected a positive number of frames"):
        MemoryFrames(limit)
