"""Frames in a file: restarts, several processes, forks, other tables, and files that are none."""

import gc
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from spanhook import ConfigurationError
from spanhook.store import Frame, SQLiteFrames
from tests.forking import children

NOTE: dict[str, Any] = {"session_id": "s", "type": "note", "content": "x"}


def test_frames_are_there_once_the_file_is_opened_again(tmp_path: Path) -> None:
    with SQLiteFrames(tmp_path / "a.db") as store:
        store.add(Frame(id="1", **NOTE))
    with SQLiteFrames(tmp_path / "a.db") as store:
        assert [one.id for one in store.recent(9)] == ["1"]


@pytest.mark.slow
def test_frames_survive_a_process_that_dies(tmp_path: Path) -> None:
    file = tmp_path / "frames.db"
    code = """if True:
        import os, sys
        from spanhook.store import Frame, SQLiteFrames
        store = SQLiteFrames(sys.argv[1])
        store.add(Frame(id='1', session_id='s', type='note', content='before'))
        os._exit(3)
    """
    died = children.run("-c", code, file)
    assert died.returncode == 3
    with SQLiteFrames(file) as store:
        assert [one.content for one in store.recent(9)] == ["before"]


def test_two_of_one_file_see_each_other(tmp_path: Path) -> None:
    with SQLiteFrames(tmp_path / "a.db") as one, SQLiteFrames(str(tmp_path / "a.db")) as other:
        one.add(Frame(id="1", **NOTE))
        other.add(Frame(id="2", **NOTE))
        assert [[found.id for found in store.recent(9)] for store in (one, other)] == [["1", "2"]] * 2


def test_a_store_that_nobody_closes_closes_its_connection(tmp_path: Path) -> None:
    store = SQLiteFrames(tmp_path / "a.db")
    with store._connected() as connection:
        pass
    del store
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_other_tables_in_the_file_are_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as mine:
        mine.execute("CREATE TABLE mine (x)")
        mine.execute("PRAGMA user_version = 42")
    mine.close()
    with SQLiteFrames(tmp_path / "a.db") as store:
        store.add(Frame(id="1", **NOTE))
    mine = sqlite3.connect(tmp_path / "a.db")
    assert mine.execute("PRAGMA user_version").fetchone() == (42,)
    assert mine.execute("SELECT COUNT(*) FROM mine").fetchone() == (0,)
    mine.close()


def test_a_file_of_a_newer_spanhook_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    SQLiteFrames(tmp_path / "a.db").close()
    with sqlite3.connect(tmp_path / "a.db") as file:
        file.execute("UPDATE spanhook_schema SET version = 2")
    file.close()
    with pytest.raises(
        ConfigurationError, match="has version 2 of what is kept as 'frames', and this spanhook knows version 1"
    ):
        SQLiteFrames(tmp_path / "a.db")


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database " * 100)
    for path, said in (
        (tmp_path / "text.db", "file is not a database"),
        (tmp_path / "nowhere" / "a.db", "unable to open database file"),
        (tmp_path, "unable to open database file"),
        (":memory:", r"for frames in memory, use MemoryFrames\(\)"),
        ("", "expected a file"),
        ("a\0.db", "cannot be opened"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            SQLiteFrames(path)


def test_a_closed_one_says_so(tmp_path: Path) -> None:
    store = SQLiteFrames(tmp_path / "a.db")
    store.close()
    store.close()
    with pytest.raises(ValueError, match="has been closed; make another"):
        store.recent(1)


def test_queries_do_not_read_the_whole_file(tmp_path: Path) -> None:
    with SQLiteFrames(tmp_path / "a.db") as store, store._connected() as connection:
        for where in ("session_id = 's'", "type = 'error'"):
            query = f"SELECT * FROM spanhook_frames WHERE tenant_id = '' AND {where} ORDER BY number DESC LIMIT 9"
            (plan,) = connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
            assert "USING INDEX spanhook_frames_by" in plan[3]


@pytest.mark.slow
def test_a_forked_child_opens_the_file_anew(tmp_path: Path) -> None:
    code = """if True:
        import os, sys, threading
        from spanhook.store import Frame, MemoryFrames, SQLiteFrames

        def note(number):
            return Frame(id=number, session_id="s", type="note", content="x")

        stores = SQLiteFrames(sys.argv[1]), MemoryFrames()
        locks = stores[0]._file._lock, stores[1]._lock
        for store, lock in zip(stores, locks):
            store.add(note("parent"))
            lock.acquire()
        if (child := os.fork()) == 0:
            for store in stores:
                store.add(note("child"))
            os._exit(0 if [len(store.recent(9)) for store in stores] == [2, 2] else 1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for lock in locks:
            lock.release()
        stores[0].add(note("after"))
        assert [one.id for one in stores[0].recent(9)] == ["parent", "child", "after"]
        raise SystemExit(status)
    """
    children.run("-W", "error", "-c", code, tmp_path / "a.db", check=True)


@pytest.mark.slow
def test_processes_that_make_the_file_at_the_same_time_all_can(tmp_path: Path) -> None:
    code = (
        "import sys; from spanhook.store import Frame, SQLiteFrames\n"
        "store = SQLiteFrames(sys.argv[1])\n"
        "for n in range(20): store.add(Frame(id=f'{sys.argv[2]}-{n}', session_id='s', type='note', content=''))"
    )
    running = [children.Child("-c", code, tmp_path / "a.db", str(one)) for one in range(4)]
    assert [one.wait(60) for one in running] == [0] * 4
    with SQLiteFrames(tmp_path / "a.db") as store:
        assert store.statistics("s").frames == 80
