"""Files that processes keep locked: real processes that are killed, stopped, forked and replaced."""

import errno
import fcntl
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spanhook import ConfigurationError
from spanhook.store._process_lock import ProcessLock
from tests.forking import children

HOLDING = """
import os, sys, time
from spanhook.store._process_lock import ProcessLock
lock = ProcessLock(sys.argv[1])
print(lock.hold(), flush=True)
{then}
time.sleep(120)
"""
FORKED = """
if os.fork():
    print("parent", flush=True)
    time.sleep(120)
print("child", os.getpid(), lock.hold(), flush=True)
"""
EXECUTED = """
if not os.fork():
    os.execv("/bin/sh", ["sh", "-c", "echo child $$; exec sleep 120"])
"""
STARTED = """
import subprocess
print("child", subprocess.Popen(["sleep", "120"], close_fds=False).pid, flush=True)
"""


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "budget.db")


@pytest.fixture
def lock(database: str) -> Iterator[ProcessLock]:
    made = ProcessLock(database)
    yield made
    made.renew()


def files(database: str) -> set[str]:
    return {one.name.removeprefix("spanhook-process-") for one in Path(database).parent.glob("spanhook-process-*")}


def holding(database: str, then: str = "") -> children.Piped:
    return children.Piped("-c", HOLDING.format(then=then), database)


def words(child: children.Piped, lines: int) -> list[str]:
    return sorted(child.stdout.readline().strip() for _ in range(lines))


def test_a_process_has_ended_once_it_is_killed_and_not_while_it_is_stopped(lock: ProcessLock, database: str) -> None:
    with holding(database) as child:
        (name,) = words(child, 1)
        assert not lock.has_ended(name)
        child.send_signal(signal.SIGSTOP)
        assert not lock.has_ended(name)
        child.kill()
        child.wait()
        assert lock.has_ended(name)


def test_a_process_that_holds_no_file_sees_the_others(lock: ProcessLock, database: str) -> None:
    other = ProcessLock(database)
    assert not lock.has_ended(other.hold())
    assert lock.has_ended("unknown")
    assert not other.has_ended(other.hold())


def test_a_forked_child_that_outlives_its_parent_does_not_keep_its_lock(lock: ProcessLock, database: str) -> None:
    with holding(database, FORKED) as child:
        (name,) = words(child, 1)
        told = words(child, 2)
        (_, pid, of_child), parent = told[0].split(), told[1]
        assert (parent, of_child == name) == ("parent", False)
        assert not lock.has_ended(name)
        child.kill()
        child.wait()
        assert lock.has_ended(name)
        assert not lock.has_ended(of_child)
        os.kill(int(pid), signal.SIGKILL)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_child_that_ends_leaves_its_parents_lock(lock: ProcessLock, database: str) -> None:
    other = ProcessLock(database)
    name = other.hold()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            code = 0 if other.hold() != name and not other.has_ended(name) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert not lock.has_ended(name)
    assert other.hold() == name


@pytest.mark.parametrize("then", [EXECUTED, STARTED], ids=["exec", "subprocess"])
def test_what_a_process_executes_does_not_keep_its_lock(lock: ProcessLock, database: str, then: str) -> None:
    with holding(database, then) as child:
        (name,) = words(child, 1)
        _, pid = child.stdout.readline().split()
        child.kill()
        child.wait()
        ended = lock.has_ended(name)
        os.kill(int(pid), signal.SIGKILL)  # it lives
        assert ended


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_fork_during_the_work_of_other_threads_shares_no_lock(tmp_path: Path) -> None:
    """A ledger that a thread opens while another forks: no child keeps what it does not know of."""
    from spanhook.store import Amounts, Caps
    from spanhook.store.sqlite_ledger import SQLiteLedger

    ledgers = [SQLiteLedger(str(tmp_path / f"{number}.db")) for number in range(8)]

    def open_all() -> None:
        for ledger in ledgers:
            ledger.reserve("a", ledger.shown, Amounts(1), Caps(), 60, None)

    thread = threading.Thread(target=open_all)
    readers = list[int]()
    thread.start()
    while thread.is_alive() and len(readers) < 20:
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            links = [os.path.realpath(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd")]
            os.write(writer, str(sum("spanhook-process-" in one for one in links)).encode())
            os._exit(0)
        os.close(writer)
        os.waitpid(pid, 0)
        readers.append(reader)
    thread.join()
    inherited = [os.read(reader, 9) for reader in readers]
    for reader in readers:
        os.close(reader)
    assert set(inherited) == {b"0"}


def test_a_file_that_was_deleted_is_made_again_under_its_name(lock: ProcessLock, database: str) -> None:
    other = ProcessLock(database)
    name = other.hold()
    os.unlink(f"{os.path.dirname(database)}/spanhook-process-{name}")
    assert not other.is_held()
    assert lock.has_ended(name)
    assert other.hold() == name
    assert not lock.has_ended(name)


def test_a_descriptor_that_was_closed_is_opened_again(lock: ProcessLock, database: str) -> None:
    other = ProcessLock(database)
    name = other.hold()
    assert other._file is not None
    descriptor = other._file.descriptor
    os.close(descriptor)
    with open(database, "w") as stranger:  # has the number of the descriptor now
        assert stranger.fileno() == descriptor
        assert not other.is_held()
        assert other.hold() == name
        assert not lock.has_ended(name)
        stranger.write("not closed by others")


def test_files_of_processes_that_have_ended_are_removed_and_no_others(lock: ProcessLock, database: str) -> None:
    other, ended = ProcessLock(database), ProcessLock(database)
    gone = ended.hold()
    ended.renew()
    live = {other.hold(), lock.hold()}
    assert files(database) == {gone, *live}
    lock.clean()
    assert files(database) == live
    assert not lock.has_ended(other.hold())


def test_a_pipe_a_link_and_a_folder_of_such_a_name_keep_nobody_waiting(lock: ProcessLock, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("of somebody else")
    os.mkfifo(tmp_path / "spanhook-process-pipe")
    (tmp_path / "spanhook-process-link").symlink_to(tmp_path / "other")
    (tmp_path / "spanhook-process-folder").mkdir()
    lock.clean()
    assert (tmp_path / "other").read_text() == "of somebody else"


def test_a_file_that_is_removed_before_it_is_locked_is_not_used(
    lock: ProcessLock, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process cleans up at that moment."""
    genuine, cleaned = fcntl.flock, list[int]()

    def flock(descriptor: int, operation: int) -> None:
        if not cleaned:
            cleaned.append(descriptor)
            ProcessLock(database).clean()
        genuine(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    name = lock.hold()
    assert files(database) == {name}
    assert not ProcessLock(database).has_ended(name)


def test_a_lock_that_is_dropped_is_given_up(lock: ProcessLock, database: str) -> None:
    other: Any = ProcessLock(database)
    name = other.hold()
    del other
    assert lock.has_ended(name)


@pytest.mark.parametrize("missing", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_refused_by_name(
    lock: ProcessLock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: int
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(missing, os.strerror(missing))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(ConfigurationError, match=rf"{tmp_path}' \(\w+\) has no locks: .*; put the SQLite file on"):
        lock.hold()
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_whose_locks_exclude_nobody_is_refused(
    lock: ProcessLock, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(ConfigurationError, match="gives one lock to several processes"):
        lock.check()
    assert files(database) == set()


def test_a_check_leaves_no_file(lock: ProcessLock, database: str) -> None:
    lock.check()
    assert files(database) == set()


def test_a_linked_database_has_its_files_beside_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "budget.db")
    linked, real = ProcessLock(str(tmp_path / "link.db")), ProcessLock(str(tmp_path / "real" / "budget.db"))
    assert not real.has_ended(linked.hold())


def test_who_may_open_the_database_may_look_at_the_files(lock: ProcessLock, database: str) -> None:
    Path(database).touch()
    os.chmod(database, 0o664)
    name = lock.hold()
    assert (Path(database).parent / f"spanhook-process-{name}").stat().st_mode & 0o777 == 0o664
