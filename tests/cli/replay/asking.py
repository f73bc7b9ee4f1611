"""Replays lines with hooks, and says what these decide."""

from pathlib import Path

from spanhook import Hooks
from spanhook.cli.replay import Replay
from spanhook.cli.replay.otlp import read_files
from spanhook.cli.replay.outcomes import Outcome
from spanhook.gating import Registry


def outcomes(hooks: Hooks, path: Path, *lines: str) -> list[Outcome]:
    file = path / "spans.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    registry = Registry()
    registry.include(hooks)
    try:
        return Replay(registry).run(read_files([str(file)], lambda _read: None).spans, lambda _count, _total: None)
    finally:
        registry.clear()


def decided(hooks: Hooks, path: Path, *lines: str) -> list[tuple[str, str, str, str]]:
    found = outcomes(hooks, path, *lines)
    return [(one.hook, one.event, one.decision, one.reason) for outcome in found for one in outcome.now]
