"""Chunks whose text is read later: what is added up is the same, whenever it is asked for."""

import json
from typing import Any

import pytest

from spanhook.diagnostics import internal
from spanhook.instrument.wire import HeldChunks
from spanhook.model import Attributes, Usage


class Numbers:
    """Adds numbers up."""

    def __init__(self) -> None:
        self.keep = False
        self.kept: list[int] = []

    def add(self, chunk: Any) -> bool:
        self.kept.append(chunk["number"])
        return True

    @property
    def complete(self) -> bool:
        return 99 in self.kept

    def response(self) -> tuple[Attributes, Usage | None]:
        return {"sum": sum(self.kept)}, None

    def result(self) -> Any:
        return self.kept if self.keep else None


class Chunk:
    def __init__(self, number: Any) -> None:
        self.body = json.dumps({"number": number})


def body(chunk: Chunk) -> str:
    return chunk.body


def read(chunks: HeldChunks, numbers: Any) -> None:
    """Pass chunks as a stream does."""
    for chunk in map(Chunk, numbers):
        assert chunks.brief(chunk) or chunks.add(chunk)
        chunk.body = "what a consumer writes"


@pytest.mark.parametrize("many", [0, 1, 63, 64, 65, 66, 200])
def test_all_are_added_up_in_order(many: int) -> None:
    numbers = Numbers()
    chunks = HeldChunks(numbers, body, json.loads)
    chunks.keep = True
    read(chunks, range(many))
    assert len(numbers.kept) == many // 65 * 65
    assert chunks.complete is (many > 99)
    assert chunks.response() == ({"sum": sum(range(many))}, None)
    assert chunks.result() == list(range(many))


def test_it_can_be_asked_in_between() -> None:
    chunks = HeldChunks(Numbers(), body, json.loads)
    read(chunks, [1, 2])
    assert chunks.response() == ({"sum": 3}, None)
    read(chunks, [3])
    assert chunks.response() == ({"sum": 6}, None)


def test_one_that_cannot_be_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    before = internal.lost["extract.chunk"]

    class Picky(Numbers):
        def add(self, chunk: Any) -> bool:
            if chunk["number"] == 2:
                raise ValueError("two")
            return super().add(chunk)

    chunks = HeldChunks(Picky(), body, json.loads)
    read(chunks, [1, 2, 3])
    assert chunks.response() == ({"sum": 4}, None)
    assert internal.lost["extract.chunk"] == before + 1
