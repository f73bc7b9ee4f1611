"""``spanhook replay``: what hooks would have decided about operations that were recorded.

Spans are read from OTLP JSON lines; each operation among them is rebuilt and given to the chain that enforces hooks.
Nothing is called and nothing is exported; only the hooks' own code runs.
"""

import json
import logging
import sys
from collections.abc import Sequence
from typing import Any

from spanhook.cli.replay.document import Document, Totals, document
from spanhook.cli.replay.loading import loaded, silence
from spanhook.cli.replay.otlp import read_files
from spanhook.cli.replay.printing import as_text
from spanhook.cli.replay.replaying import Replay
from spanhook.cli.texts import Progress
from spanhook.diagnostics import log
from spanhook.errors import ConfigurationError

__all__ = ["run_replay"]


def run_replay(files: Sequence[str], compare: bool, as_json: bool, **given: Any) -> int:
    """Run hooks on recorded operations, and print what they would have decided.

    Args:
        files: Files of OTLP JSON lines, compressed or not; ``-`` is standard input.
        compare: Also compare with what was decided when they were recorded.
        as_json: Print one JSON document instead of text; ``spanhook.cli.replay.document`` describes it.
        given: ``hooks`` and ``config`` as given to ``spanhook run``.

    Returns:
        The exit code: 1 if a line cannot be read or, with ``compare``, a decision differs.

    Raises:
        ConfigurationError: A hook cannot be loaded, a file cannot be read, or none is named.
    """
    if not files:
        raise ConfigurationError("name the files with the recorded spans, or - for standard input")
    found = replayed(files, compare, **given)
    print(json.dumps(found, indent=2) if as_json else "\n".join(as_text(found)), flush=True)  # noqa: T201
    for broken in found["broken_lines"]:
        print(f"spanhook replay: {broken}", file=sys.stderr)  # noqa: T201
    comparison = found["comparison"]
    return int(bool(found["broken_lines"]) or (comparison is not None and comparison["differs"] > 0))


def replayed(files: Sequence[str], compare: bool, **given: Any) -> Document:
    """What hooks would have decided.

    Raises:
        ConfigurationError: A hook cannot be loaded, or a file cannot be read.
    """
    progress, level = Progress("replay"), log.level
    with silence():
        registry = loaded(**given)
        try:
            log.setLevel(logging.ERROR)  # failures of hooks are among the decisions
            read = read_files(files, lambda so_far: progress.tell(f"{so_far.lines:,} lines read"))
            replay = Replay(registry)
            outcomes = replay.run(read.spans, lambda count, total: progress.tell(f"{count / total:.0%} replayed"))
        except OSError as error:
            raise ConfigurationError(f"{error.filename}: {error.strerror}") from error
        finally:
            progress.end()
            log.setLevel(level)
            registry.clear()
    return document(Totals(read, replay.in_hook, replay.orphans), outcomes, compare=compare)
