"""Texts are found wherever they are in a result."""

from dataclasses import dataclass

from pydantic import BaseModel

from spanhook.hooks.injection_scan._scanned import texts


class Page(BaseModel):
    title: str


@dataclass
class Row:
    cell: object


def test_texts_are_found_at_any_place() -> None:
    value = [{"key": ("a", {"b"})}, Page(title="c"), Row(b"d"), 1, None, True]
    assert set(texts(value)) == {"key", "a", "b", "title", "c", "cell", "d"}


def test_what_contains_itself_ends() -> None:
    loop: list[object] = ["a"]
    loop.append(loop)
    assert set(texts(loop)) == {"a"}
