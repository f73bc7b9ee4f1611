"""Any change to the lines of an audit log is reported."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanhook.store import AuditFile, FileReport, verify

KEY = b"a key of sixteen bytes or more"


def written(directory: Path, records: int, key: bytes | None = None, **given_to: Any) -> tuple[list[Path], str]:
    """The files of a log that has been closed, and its head."""
    log = AuditFile(directory, key=key, **given_to)
    for number in range(records):
        log.write({"kind": "operation", "name": f"tool {number}"})
    log.close()
    head = log.head
    assert head is not None
    return sorted(directory.iterdir()), head.hash


def problems(reports: list[FileReport]) -> list[str]:
    return [one.problem for one in reports if one.problem]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[bytes], str]:
    files, head = written(tmp_path_factory.mktemp("log"), 8, KEY)
    return files[0].read_bytes().splitlines(keepends=True), head


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_any_single_change_is_reported(data: st.DataObject, lines: tuple[list[bytes], str], tmp_path: Path) -> None:
    original, head = lines
    changed = list(original)
    at = data.draw(st.integers(0, len(original) - 1))
    how = data.draw(st.sampled_from(["byte", "remove", "repeat", "swap", "truncate", "cut"]))
    if how == "byte":
        place = data.draw(st.integers(0, len(changed[at]) - 1))
        byte = data.draw(st.integers(0, 255).filter(lambda one: one != changed[at][place]))
        changed[at] = changed[at][:place] + bytes([byte]) + changed[at][place + 1 :]
    elif how == "remove":
        del changed[at]
    elif how == "repeat":
        changed.insert(data.draw(st.integers(0, len(original))), changed[at])
    elif how == "swap":
        other = data.draw(st.integers(0, len(original) - 1).filter(lambda one: one != at))
        changed[at], changed[other] = changed[other], changed[at]
    elif how == "truncate":
        changed = changed[:at]
    else:
        changed = [*changed[:at], changed[at][: data.draw(st.integers(1, len(changed[at]) - 1))]]
    file = tmp_path / "audit.jsonl"
    file.write_bytes(b"".join(changed))

    assert problems(verify([file], KEY, [head]))


def test_a_whole_log_has_no_problem(tmp_path: Path) -> None:
    files, head = written(tmp_path, 3)
    (report,) = verify(files, None, [head])
    assert (report.problem, report.first, report.last, report.closed, report.notes) == ("", 0, 4, True, ())


def test_a_line_written_anew_with_its_own_hash_is_reported_by_the_next(tmp_path: Path) -> None:
    from spanhook.store.audit_chain import sealed

    files, _ = written(tmp_path, 3)
    lines = files[0].read_bytes().splitlines(keepends=True)
    entry = json.loads(lines[1])
    del entry["hash"]
    lines[1], _ = sealed({**entry, "name": "another"}, None)
    files[0].write_bytes(b"".join(lines))
    (report,) = verify(files)
    assert (report.line, report.problem) == (3, "changed: it does not follow from the record before it")


def test_a_key_is_needed_and_must_be_right(tmp_path: Path) -> None:
    files, _ = written(tmp_path, 1, KEY)
    assert problems(verify(files)) == ["the log has a key; give it with --key-env"]
    assert problems(verify(files, b"another key, as long as that")) == ["wrong key, or changed"]
    assert problems(verify(files, KEY)) == []


def test_a_log_without_a_key_is_none_with_one(tmp_path: Path) -> None:
    files, _ = written(tmp_path, 1)
    assert problems(verify(files, KEY)) == ["the log has no key, or it was changed"]


def test_files_that_follow_each_other(tmp_path: Path) -> None:
    files, head = written(tmp_path, 30, max_bytes=1000)
    assert len(files) > 3
    assert problems(verify(files[::-1], None, [head])) == []
    assert "are missing" in problems(verify(files[1:]))[0]
    assert problems(verify(files[1:], partial=True)) == []
    assert "are missing before it" in problems(verify([files[0], *files[2:]]))[0]
    assert problems(verify(files[:-1])) == [f"removed: {files[-1].name}, which follows it, is missing"]


def test_an_end_that_was_cut_off_is_told_by_the_head(tmp_path: Path) -> None:
    files, head = written(tmp_path, 5)
    lines = files[0].read_bytes().splitlines(keepends=True)
    files[0].write_bytes(b"".join(lines[:-2]))
    (report,) = verify(files)
    assert report.problem == ""
    assert report.notes == ("not closed: the process is running, was killed, or the end was cut off",)
    assert "truncated or replaced" in problems(verify(files, None, [head]))[0]
