"""Verifies the files of audit logs: each line's hash, its link to the one before, and how the chain ends.

Files are read line by line, so their size does not matter.
"""

import hmac
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from spanhook.store.audit_chain import ZERO, Entry, canonical, digest

LONGEST_LINE = 64 * 1024 * 1024


@dataclass(slots=True)
class FileReport:
    """What was found in one file.

    Attributes:
        file: Its path.
        chain: The id of its chain; empty if it could not be read.
        first, last: The numbers of its first and last good record; -1 if there is none.
        head: The hash of the last good record.
        closed: Whether the last good record is the closing one of a process that has ended.
        line: The first bad line, from 1; 0 if the file is whole.
        problem: What is wrong there; empty if it is whole.
        notes: What could not be verified.
    """

    file: str
    chain: str = ""
    first: int = -1
    last: int = -1
    head: str = ""
    closed: bool = False
    line: int = 0
    problem: str = ""
    notes: tuple[str, ...] = ()
    prev: str = ZERO
    lost: int = 0
    next_file: str = ""


def verify(
    files: Sequence[Path], key: bytes | None = None, heads: Iterable[str] = (), *, partial: bool = False
) -> list[FileReport]:
    """Verify files, in the order of their chains and records.

    Args:
        files: The files of one or several processes, in any order.
        key: The key that they were written with, if any.
        heads: Hashes that must be in the chains, from telemetry.
        partial: Accept that the first files of a chain are missing.

    Returns:
        A report for each file.

    Raises:
        OSError: A file cannot be read.
    """
    wanted = set(heads)
    reports = sorted((_read(path, key, wanted) for path in files), key=lambda one: (one.chain, one.first, one.file))
    last: FileReport | None = None
    for report in reports:
        same = last is not None and last.chain == report.chain
        if not report.problem and report.first >= 0:
            _link(report, last if same else None, partial=partial)
        last = report
    for index, report in enumerate(reports):
        ends = index + 1 == len(reports) or reports[index + 1].chain != report.chain
        if ends and report.next_file:
            _fail(report, 0, f"removed: {report.next_file}, which follows it, is missing")
        if ends and not report.problem and not report.closed:
            report.notes += ("not closed: the process is running, was killed, or the end was cut off",)
        if report.lost:
            report.notes += (f"{report.lost} records could not be written",)
    if wanted and reports:
        _fail(reports[-1], 0, f"truncated or replaced: no record has the hash {', '.join(sorted(wanted))}")
    return reports


def _link(report: FileReport, before: FileReport | None, *, partial: bool) -> None:
    if before is None:
        if report.first and not partial:
            _fail(report, 1, f"removed: records before number {report.first} are missing")
    elif report.first <= before.last:
        _fail(report, 1, f"inserted: number {report.first} is also in {before.file}")
    elif report.first != before.last + 1:
        _fail(report, 1, f"removed: records {before.last + 1} to {report.first - 1} are missing before it")
    elif report.prev != before.head:
        _fail(report, 1, f"changed: it does not continue {before.file}")


def _fail(report: FileReport, line: int, problem: str) -> None:
    if not report.problem:
        report.line, report.problem = line, problem


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            yield line


def _read(path: Path, key: bytes | None, wanted: set[str]) -> FileReport:
    report = FileReport(str(path))
    number = 0
    for number, line in enumerate(_lines(path), 1):
        problem = _next(report, line, key)
        if problem:
            _fail(report, number, problem)
            break
        wanted.discard(report.head)
    if not number:
        _fail(report, 0, "removed: the file is empty")
    return report


def _next(report: FileReport, line: bytes, key: bytes | None) -> str:
    """Check the next line; returns what is wrong with it."""
    if not line.endswith(b"\n"):
        return "incomplete: the last line was cut off"
    entry = _parsed(line)
    if entry is None:
        return "changed: it is not a record"
    mark, seq = entry.pop("hash", ""), entry.get("seq")
    if not isinstance(mark, str) or type(seq) is not int or canonical({**entry, "hash": mark}) + b"\n" != line:
        return "changed: it is not written as a record"
    if not hmac.compare_digest(mark.encode(), digest(canonical(entry), key).encode()):
        return _mismatch(entry, key)
    if report.first < 0:
        if entry.get("kind") != "open":
            return "removed: the first record of the file is missing"
        report.chain, report.first, report.prev = str(entry.get("chain")), seq, str(entry.get("prev"))
        if seq == 0 and report.prev != ZERO:
            return "changed: the first record of a chain cannot follow another"
    else:
        if entry.get("chain") != report.chain:
            return f"inserted: it belongs to another chain, {entry.get('chain')}"
        if seq != report.last + 1:
            what = "removed" if seq > report.last else "inserted or reordered"
            return f"{what}: number {seq} follows {report.last}"
        if entry.get("prev") != report.head:
            return "changed: it does not follow from the record before it"
    report.last, report.head, report.closed = seq, mark, entry.get("kind") == "close"
    report.next_file = str(entry.get("next_file", ""))
    if entry.get("kind") == "lost":
        report.lost += int(entry.get("records", 0))
    return ""


def _parsed(line: bytes) -> Entry | None:
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("Entry", entry) if isinstance(entry, dict) else None


def _mismatch(entry: Entry, key: bytes | None) -> str:
    if entry.get("kind") == "open":
        if entry.get("keyed") is True and key is None:
            return "the log has a key; give it with --key-env"
        if entry.get("keyed") is True:
            return "wrong key, or changed"
        if key is not None:
            return "the log has no key, or it was changed"
    return "changed: the hash is not that of the record"
