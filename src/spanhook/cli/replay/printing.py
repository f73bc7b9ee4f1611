"""The document as text, for people."""

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from spanhook.cli.replay.document import Comparison, Document, Said, Whose
from spanhook.cli.texts import section


def as_text(document: Document) -> Iterator[str]:
    """What hooks would have decided, what would not have happened, and how often."""
    comparison = document["comparison"]
    yield f"{document['operations']:,} operations in {document['spans']:,} spans"
    if comparison is None:
        yield from section(
            "decisions",
            ("time", "kind", "name", "whose", "hook", "decision", "reason"),
            [
                (*_about(one), one["hook"], _in_mode(one["decision"], one["mode"]), _line(one["reason"]))
                for one in document["decisions"]
            ],
        )
    else:
        yield from _compared(comparison)
    yield from section(
        "would not have happened",
        ("time", "kind", "name", "whose", "because"),
        [(*_about(one), _line(one["reason"])) for one in document["unreached"]],
    )
    yield from section(
        "by hook and decision",
        (),
        [(one["hook"], _in_mode(one["decision"], one["mode"]), f"{one['count']:,}") for one in document["summary"]],
    )
    yield from section("beside these", (), list(_beside(document)))


def _compared(comparison: Comparison) -> Iterator[str]:
    yield from section(
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
