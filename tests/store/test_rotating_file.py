"""Log files that several processes write: which file is the current one, and what becomes of those before it."""

import gzip
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanhook.store import RotatingFile
from tests.forking import children

PATIENCE_S = 60.0


def lines(directory: Path, stem: str = "events") -> list[str]:
    """All lines of all files, in the order in which they were written."""
    found: list[tuple[str, int, str]] = []
    for path in directory.glob(f"{stem}-*.jsonl*"):
        day, _, number = path.name.removeprefix(f"{stem}-").partition(".jsonl")[0].partition(".")
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        found.append((day, int(number or 0), text.decode()))
    return [line for *_, text in sorted(found) for line in text.splitlines()]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if not path.name.startswith("."))


class Calendar:
    """A day that a test sets."""

    def __init__(self, day: str = "2026-01-30") -> None:
        self.day = day

    def __call__(self) -> str:
        return self.day


def test_each_day_has_a_file_and_earlier_ones_are_compressed(tmp_path: Path) -> None:
    today = Calendar()
    file = RotatingFile(tmp_path, today=today)
    for today.day in ("2026-01-30", "2026-01-30", "2026-01-31", "2026-02-01"):
        file.write(f"{today.day}\n".encode())
    file.wait(PATIENCE_S)
    assert names(tmp_path) == ["events-2026-01-30.jsonl.gz", "events-2026-01-31.jsonl.gz", "events-2026-02-01.jsonl"]
    assert lines(tmp_path) == ["2026-01-30", "2026-01-30", "2026-01-31", "2026-02-01"]


def test_a_file_that_is_full_is_followed_by_another(tmp_path: Path) -> None:
    today = Calendar()
    file = RotatingFile(tmp_path, daily=False, max_bytes=10, compressed=False, today=today)
    for line in ("four", "four", "x", "a line that is longer than a file", "x"):
        file.write(f"{line}\n".encode())
    today.day = "2026-01-31"
    file.write(b"y\n")
    file.write(b"12345678\n")
    assert names(tmp_path) == [
        "events-2026-01-30.1.jsonl",
        "events-2026-01-30.2.jsonl",
        "events-2026-01-30.3.jsonl",
        "events-2026-01-30.jsonl",
        "events-2026-01-31.jsonl",
    ]
    assert lines(tmp_path) == ["four", "four", "x", "a line that is longer than a file", "x", "y", "12345678"]


def test_a_clock_that_is_set_back_does_not_reopen_a_file(tmp_path: Path) -> None:
    today = Calendar("2026-01-31")
    file = RotatingFile(tmp_path, today=today)
    file.write(b"a\n")
    today.day = "2026-01-30"
    file.write(b"b\n")
    assert names(tmp_path) == ["events-2026-01-31.jsonl"]


def test_only_so_many_files_are_kept(tmp_path: Path) -> None:
    today = Calendar()
    other = RotatingFile(tmp_path, "events-of-others", keep=0, today=today)
    other.write(b"theirs\n")
    file = RotatingFile(tmp_path, keep=2, today=today)
    for day in range(1, 10):
        today.day = f"2026-02-0{day}"
        file.write(b"x\n")
        file.wait(PATIENCE_S)
    file.tidy()
    assert names(tmp_path) == [
        "events-2026-02-07.jsonl.gz",
        "events-2026-02-08.jsonl.gz",
        "events-2026-02-09.jsonl",
        "events-of-others-2026-01-30.jsonl",
    ]


def test_only_the_owner_may_read_a_file(tmp_path: Path) -> None:
    today = Calendar()
    file = RotatingFile(tmp_path / "logs", today=today)
    file.write(b"x\n")
    today.day = "2026-02-01"
    file.write(b"x\n")
    file.wait(PATIENCE_S)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "logs").iterdir()} == {0o600}
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700


def test_what_a_killed_process_left_is_finished(tmp_path: Path) -> None:
    (tmp_path / "events-2026-01-28.jsonl").write_text("a\n")
    (tmp_path / "events-2026-01-28.jsonl.gz.part").write_bytes(b"\x1f\x8b")
    (tmp_path / "events-2026-01-29.jsonl").write_text("b\n")
    (tmp_path / "events-2026-01-29.jsonl.gz").write_bytes(gzip.compress(b"b\n"))
    (tmp_path / "events-2026-01-30.jsonl").write_text("c\nhalf a li")
    file = RotatingFile(tmp_path, today=Calendar())
    file.write(b"d\n")
    file.wait(PATIENCE_S)
    assert names(tmp_path) == ["events-2026-01-28.jsonl.gz", "events-2026-01-29.jsonl.gz", "events-2026-01-30.jsonl"]
    assert lines(tmp_path) == ["a", "b", "c", "half a li", "d"]


@pytest.mark.parametrize("gone", ["events-2026-01-30.jsonl", ".events.lock"])
def test_a_file_that_somebody_removes_is_made_again(tmp_path: Path, gone: str) -> None:
    file = RotatingFile(tmp_path, today=Calendar())
    file.write(b"a\n")
    (tmp_path / gone).unlink()
    file.write(b"b\n")
    other = RotatingFile(tmp_path, today=Calendar())
    other.write(b"c\n")
    assert lines(tmp_path)[-2:] == ["b", "c"]


@pytest.mark.parametrize("state", [b"", b"nonsense\n", b"2026-01-31", b"\xff\xfe\n", b"2026-01-31 -1\n"])
def test_a_lock_file_that_says_nothing_is_written_anew(tmp_path: Path, state: bytes) -> None:
    (tmp_path / ".events.lock").write_bytes(state)
    (tmp_path / "events-2026-01-30.1.jsonl").write_text("a\n")
    RotatingFile(tmp_path, today=Calendar()).write(b"b\n")
    assert (tmp_path / "events-2026-01-30.1.jsonl").read_text() == "a\nb\n"
    assert (tmp_path / ".events.lock").read_text() == "2026-01-30 1\n"


def test_a_directory_that_cannot_be_made_is_an_error_until_it_can(tmp_path: Path) -> None:
    blocked = tmp_path / "logs"
    blocked.write_text("a file where the directory should be")
    file = RotatingFile(blocked, today=Calendar())
    with pytest.raises(OSError, match="logs"):
        file.write(b"a\n")
    blocked.unlink()
    file.write(b"b\n")
    assert lines(blocked) == ["b"]


def test_a_full_disk_leaves_no_half_a_line(tmp_path: Path) -> None:
    code = f"""if True:
        import resource
        from pathlib import Path
        from spanhook.store import RotatingFile
        file = RotatingFile(Path({str(tmp_path)!r}), today=lambda: "2026-01-30")
        file.write(b"first\\n")
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        try:
            file.write(b"x" * 200 + b"\\n")
        except OSError:
            pass
        else:
            raise AssertionError("nothing failed")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        file.write(b"last\\n")
    """
    children.run("-W", "error", "-c", code, check=True)
    assert lines(tmp_path) == ["first", "last"]


WRITER = """if True:
    import sys
    from pathlib import Path
    from spanhook.store import RotatingFile
    directory, me, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    file = RotatingFile(directory, daily=False, max_bytes=2000)
    for number in range(count):
        file.write(f"{me}:{number}\\n".encode())
    file.wait(60)
"""


@pytest.mark.slow
def test_processes_write_to_the_same_files_and_lose_nothing(tmp_path: Path) -> None:
    started = [children.Child("-W", "error", "-c", WRITER, tmp_path, str(me), "500") for me in range(4)]
    assert [one.wait(PATIENCE_S) for one in started] == [0, 0, 0, 0]
    RotatingFile(tmp_path, daily=False, max_bytes=2000).tidy()
    found = lines(tmp_path)
    assert Counter(found) == Counter(f"{me}:{number}" for me in range(4) for number in range(500))
    for me in range(4):
        mine = [line for line in found if line.startswith(f"{me}:")]
        assert mine == [f"{me}:{number}" for number in range(500)]
    assert len([one for one in names(tmp_path) if not one.endswith(".gz")]) == 1


def test_a_killed_process_loses_nothing_that_it_wrote_and_stops_nobody(tmp_path: Path) -> None:
    code = WRITER.replace("file.wait(60)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    done = children.run("-c", code, tmp_path, "a", "500")
    assert done.returncode == -signal.SIGKILL
    file = RotatingFile(tmp_path, daily=False, max_bytes=2000)
    file.write(b"b\n")
    file.wait(PATIENCE_S)
    file.tidy()
    assert lines(tmp_path) == [*(f"a:{number}" for number in range(500)), "b"]


def test_a_forked_child_and_its_parent_write_to_the_same_files(tmp_path: Path) -> None:
    code = f"""if True:
        import os
        from pathlib import Path
        from spanhook.store import RotatingFile
        file = RotatingFile(Path({str(tmp_path)!r}), daily=False, max_bytes=500)
        file.write(b"first\\n")
        me = "parent" if (child := os.fork()) else "child"
        for number in range(300):
            file.write(f"{{me}}:{{number}}\\n".encode())
        file.wait(60)
        if child:
            assert os.waitpid(child, 0)[1] == 0
        else:
            os._exit(0)
        file.tidy()
    """
    children.run("-W", "error", "-c", code, check=True)
    expected = ["first", *(f"{me}:{number}" for me in ("parent", "child") for number in range(300))]
    assert Counter(lines(tmp_path)) == Counter(expected)


def test_another_process_that_tidies_is_left_alone(tmp_path: Path) -> None:
    today = Calendar()
    file = RotatingFile(tmp_path, today=today)
    file.write(b"x\n")
    file.wait(PATIENCE_S)
    import fcntl

    held = os.open(tmp_path / ".events.tidy", os.O_RDWR)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        today.day = "2026-02-01"
        file.write(b"y\n")
        file.wait(PATIENCE_S)
        assert names(tmp_path) == ["events-2026-01-30.jsonl", "events-2026-02-01.jsonl"]
    finally:
        os.close(held)
    file.tidy()
    assert names(tmp_path) == ["events-2026-01-30.jsonl.gz", "events-2026-02-01.jsonl"]


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40), st.integers(0, 1)), min_size=1, max_size=20),
    daily=st.booleans(),
    compressed=st.booleans(),
)
def test_nothing_is_lost_or_reordered(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, int]], daily: bool, compressed: bool
) -> None:
    """Whatever the sizes of lines, the days and which of two writers writes."""
    directory, today = tmp_path_factory.mktemp("logs"), Calendar()
    writers = [RotatingFile(directory, daily=daily, max_bytes=50, compressed=compressed, today=today) for _ in range(2)]
    expected: list[str] = []
    day = 1
    for number, (later, size, writer) in enumerate(steps):
        day += later
        today.day = f"2026-03-{min(day, 31):02}"
        expected.append(f"{number}:{'x' * size}")
        writers[writer].write(f"{expected[-1]}\n".encode())
    for one in writers:
        one.wait(PATIENCE_S)
        one.tidy()
        one.close()
    assert lines(directory) == expected


def test_large_files_are_compressed_whole(tmp_path: Path) -> None:
    today = Calendar()
    file = RotatingFile(tmp_path, today=today)
    content = os.urandom(3_000_000).hex().encode() + b"\n"
    file.write(content)
    today.day = "2026-02-01"
    file.write(b"x\n")
    file.wait(PATIENCE_S)
    packed = tmp_path / "events-2026-01-30.jsonl.gz"
    assert gzip.decompress(packed.read_bytes()) == content
    assert packed.stat().st_size < len(content) * 0.6
