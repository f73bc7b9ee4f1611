"""The document as text, for people, and the progress of a replay."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from spanhook.cli.replay.document import Comparison, Document, Said, Whose

GAP = "  "


def as_text(document: Document) -> Iterator[str]:
    """What hooks would have decided, what would not have happened, and how often."""
    comparison = document["comparison"]
    yield f"{document['operations']:,} operations in {document['spans']:,} spans"
    if comparison is None:
        yield from _section(
            "decisions",
            ("time", "kind", "name", "whose", "hook", "decision", "reason"),
            [
                (*_about(one), one["hook"], _in_mode(one["decision"], one["mode"]), _line(one["reason"]))
                for one in document["decisions"]
            ],
        )
    else:
        yield from _compared(comparison)
    yield from _section(
        "would not have happened",
        ("time", "kind", "name", "whose", "because"),
        [(*_about(one), _line(one["reason"])) for one in document["unreached"]],
    )
    yield from _section(
        "by hook and decision",
        (),
        [(one["hook"], _in_mode(one["decision"], one["mode"]), f"{one['count']:,}") for one in document["summary"]],
    )
    yield from _section("beside these", (), list(_beside(document)))


def _compared(comparison: Comparison) -> Iterator[str]:
    yield from _section(
        "then and now",
        ("", "time", "kind", "name", "whose", "hook", "then", "now", "reason"),
        [
            (
                "" if one["verdict"] == "same" else one["verdict"],
                *_about(one),
                one["hook"],
                _decisions(one["then"]),
                _decisions(one["now"]),
                _line(next((said["reason"] for said in (*one["now"], *one["then"])), "")),
            )
            for one in comparison["decisions"]
        ],
    )
    yield ""
    yield f"{comparison['same']:,} same, {comparison['differs']:,} differ, {comparison['unknown']:,} unknown"


_BESIDE = {
    "not_recorded_further": "refused then, let pass now: what would have followed is not recorded",
    "without_parent": "inside of something that is not recorded: hooks of whole runs were not asked",
    "made_by_hooks": "made by hooks, which run without hooks: not replayed",
    "skipped_lines": "lines of logs or metrics: skipped",
}


def _beside(document: Document) -> Iterator[tuple[str, str]]:
    for name, text in _BESIDE.items():
        count = cast("Mapping[str, int]", document)[name]
        if count:
            yield f"{count:,}", text


def _about(one: Whose) -> tuple[str, str, str, str]:
    ids = (one["tenant_id"], one["user_id"], one["session_id"])
    return one["time"], one["kind"], one["name"], " ".join(filter(None, ids))


def _in_mode(decision: str, mode: str) -> str:
    return decision if mode == "enforce" else f"{decision} ({mode})"


def _decisions(said: Iterable[Said]) -> str:
    return ", ".join(one["decision"] for one in said) or "allow"


def _line(text: str) -> str:
    return " ".join(text.split())


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    lines = [head, *rows] if head else rows
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    yield ""
    yield title
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        yield (GAP + GAP.join(cells)).rstrip()


class Progress:
    """The progress of a replay, on a terminal, if it takes a while."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 2.0
        self._shown = False
        self._on = sys.stderr is not None and sys.stderr.isatty()

    def tell(self, text: str) -> None:
        """Show how far it is, not too often."""
        if self._on and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            self._shown = True
            sys.stderr.write(f"\r\x1b[2Kspanhook replay: {text}")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
