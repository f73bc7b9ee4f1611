"""An audit log as it is written: forks, threads, disks that are full, processes that are killed."""

import json
import os
import signal
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from spanhook.store import AuditFile, verify
from tests.forking import children


def entries(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(directory.iterdir()) for line in file.read_text().splitlines()]


def test_threads_write_one_chain(tmp_path: Path) -> None:
    log = AuditFile(tmp_path)
    threads = [threading.Thread(target=lambda: [log.write({"kind": "x"}) for _ in range(100)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    (report,) = verify(sorted(tmp_path.iterdir()))
    assert (report.problem, report.last) == ("", 801)


def test_only_the_owner_may_read_a_file(tmp_path: Path) -> None:
    log = AuditFile(tmp_path)
    log.write({"kind": "x"})
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_logs_in_one_directory_have_files_of_their_own(tmp_path: Path) -> None:
    for log in (AuditFile(tmp_path), AuditFile(tmp_path)):
        log.write({"kind": "x"})
        log.close()
    reports = verify(sorted(tmp_path.iterdir()))
    assert [(one.problem, one.last) for one in reports] == [("", 2), ("", 2)]


def test_old_files_are_removed_if_asked_for(tmp_path: Path) -> None:
    log = AuditFile(tmp_path, max_bytes=1000, keep=2)
    for _ in range(30):
        log.write({"kind": "x"})
    log.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    assert [one.problem for one in verify(files, partial=True)] == ["", ""]


def test_a_record_written_after_the_end_continues_the_chain(tmp_path: Path) -> None:
    log = AuditFile(tmp_path)
    log.write({"kind": "x"})
    log.close()
    log.write({"kind": "y"})
    log.close()
    assert [one.problem for one in verify(sorted(tmp_path.iterdir()))] == ["", ""]


def test_a_forked_child_has_a_chain_of_its_own(tmp_path: Path) -> None:
    code = f"""if True:
        import os
        from pathlib import Path
        from spanhook.store import AuditFile
        log = AuditFile(Path({str(tmp_path)!r}))
        log.write({{"kind": "x"}})
        if (child := os.fork()) == 0:
            log.write({{"kind": "child"}})
            log.close()
            os._exit(0)
        os.waitpid(child, 0)
        log.write({{"kind": "x"}})
    """
    children.run("-W", "error", "-c", code, check=True)
    reports = verify(sorted(tmp_path.iterdir()))
    assert sorted((one.problem, one.last, one.closed) for one in reports) == [("", 2, True), ("", 3, True)]


def test_a_killed_process_loses_nothing_that_it_wrote(tmp_path: Path) -> None:
    code = f"""if True:
        import os, signal
        from pathlib import Path
        from spanhook.store import AuditFile
        log = AuditFile(Path({str(tmp_path)!r}))
        for _ in range(10):
            log.write({{"kind": "x"}})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = children.run("-c", code)
    assert done.returncode == -signal.SIGKILL
    (report,) = verify(sorted(tmp_path.iterdir()))
    assert (report.problem, report.last, report.closed) == ("", 10, False)


def test_a_full_disk_leaves_no_half_a_line_and_loses_no_record(tmp_path: Path) -> None:
    code = f"""if True:
        import resource
        from pathlib import Path
        from spanhook.store import AuditFile
        log = AuditFile(Path({str(tmp_path)!r}))
        log.write({{"kind": "x", "number": 0}})
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        failed = 0
        for number in range(1, 10):
            try:
                log.write({{"kind": "x", "number": number}})
            except OSError:
                failed += 1
        assert failed, "nothing failed"
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        log.check()
    """
    children.run("-W", "error", "-c", code, check=True)
    assert [one.problem for one in verify(sorted(tmp_path.iterdir()))] == [""]
    assert [one["number"] for one in entries(tmp_path) if one["kind"] == "x"] == list(range(10))


def test_records_that_had_to_be_dropped_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanhook.store.audit_file._MOST_WAITING", 2)
    blocked = tmp_path / "log"
    blocked.write_text("a file where the directory should be")
    log = AuditFile(blocked)
    for _ in range(5):
        with pytest.raises(OSError, match="exists"):
            log.write({"kind": "x"})
    blocked.unlink()
    log.check()
    assert [one["kind"] for one in entries(blocked)] == ["open", "lost", "x", "x"]
    assert entries(blocked)[1]["records"] == 3
    assert verify(sorted(blocked.iterdir()))[0].notes[-1] == "3 records could not be written"


def test_whoever_is_told_may_write_too(tmp_path: Path) -> None:
    told: list[int] = []

    def again(_line: bytes, head: Any) -> None:
        told.append(head.sequence)
        if head.sequence == 1:
            log.write({"kind": "y"})

    log = AuditFile(tmp_path, written=again)
    log.write({"kind": "x"})
    assert sorted(told) == [0, 1, 2]
    assert os.listdir(tmp_path)
