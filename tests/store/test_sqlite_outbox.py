from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanhook.store import Due, OutboxEntry, Outcome, SQLiteOutbox, State
from tests.forking import children

SECOND = 1_000_000_000


def entry(number: int) -> OutboxEntry:
    return OutboxEntry(f"evt_{number}", "agent.invoke.post", f'{{"n":{number}}}', number)


def outcome(state: State, due_ns: int = 0) -> Outcome:
    return Outcome(state, due_ns, 1, 1, 500, "it failed")


def claimed(outbox: SQLiteOutbox, now: int, most: int = 10) -> list[Due]:
    return outbox.claim(now, now + SECOND, most)


def test_what_is_due_is_leased_once(tmp_path: Path) -> None:
    one = SQLiteOutbox(str(tmp_path / "outbox.db"), "https://hooks.example/", ["whsec_a"])
    other = SQLiteOutbox(str(tmp_path / "outbox.db"), "https://hooks.example/", ["whsec_a"])
    elsewhere = SQLiteOutbox(str(tmp_path / "outbox.db"), "https://other.example/", [])
    one.add([entry(number) for number in range(3)])
    first = claimed(one, 10, 2)
    assert [(due.event_id, due.url, due.secrets, due.attempts) for due in first] == [
        (f"evt_{number}", "https://hooks.example/", ("whsec_a",), 0) for number in range(2)
    ]
    assert [due.event_id for due in claimed(other, 10)] == ["evt_2"]
    assert not claimed(one, 10)
    assert not claimed(elsewhere, 10)
    again = claimed(other, 10 + SECOND)
    assert [due.event_id for due in again] == ["evt_0", "evt_1", "evt_2"]
    one.settle(first[0], outcome("delivered"))  # too late: another has leased it since
    assert one.count("pending") == 3
    other.settle(again[0], outcome("delivered"))
    other.settle(again[1], outcome("pending", 99 * SECOND))
    other.settle(again[2], outcome("dead"))
    assert (one.count("pending"), one.count("dead")) == (1, 1)
    assert not claimed(one, 98 * SECOND)
    assert [due.attempts for due in claimed(one, 99 * SECOND)] == [1]
    for opened in (one, other, elsewhere):
        opened.close()


def test_what_is_put_in_outlives_a_loss_of_power(tmp_path: Path) -> None:
    outbox = SQLiteOutbox(str(tmp_path / "outbox.db"), "https://hooks.example/", [])
    outbox.add([entry(1)])
    connection = outbox._file._connection
    assert connection is not None
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: the disk has it once it is committed
    outbox.close()


def test_one_after_the_other_if_ordered(tmp_path: Path) -> None:
    outbox = SQLiteOutbox(str(tmp_path / "outbox.db"), "https://hooks.example/", [], ordered=True)
    outbox.add([entry(1), entry(2)])
    (first,) = claimed(outbox, 10)
    assert not claimed(outbox, 10)
    outbox.settle(first, outcome("pending", 5 * SECOND))
    assert not claimed(outbox, 10)
    (first,) = claimed(outbox, 5 * SECOND)
    outbox.settle(first, outcome("dead"))
    assert [due.event_id for due in claimed(outbox, 5 * SECOND)] == ["evt_2"]
    outbox.close()


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["delivered", "pending", "dead", "lost"]), max_size=6), max_size=8), st.booleans()
)
def test_nothing_is_dropped_whatever_fails(
    tmp_path_factory: pytest.TempPathFactory, failures: list[list[str]], ordered: bool
) -> None:
    """Each event is delivered at least once, or dead, whatever comes of its attempts; ``lost`` ones are not settled."""
    path = tmp_path_factory.mktemp("outbox") / "outbox.db"
    outbox = SQLiteOutbox(str(path), "https://hooks.example/", [], ordered=ordered)
    outbox.add([entry(number) for number in range(len(failures))])
    left = {f"evt_{number}": list(some) for number, some in enumerate(failures)}
    delivered, now = list[str](), 10
    for _ in range(200):
        now += 2 * SECOND
        for due in claimed(outbox, now):
            what = left[due.event_id].pop(0) if left[due.event_id] else "delivered"
            if what == "delivered":
                delivered.append(due.event_id)
            if what != "lost":
                outbox.settle(due, outcome(what, now))  # pyright: ignore[reportArgumentType]
        if not outbox.count("pending"):
            break
    assert len(set(delivered)) + outbox.count("dead") == len(failures)
    if ordered:
        assert delivered == sorted(delivered, key=lambda one: int(one.removeprefix("evt_")))
    outbox.close()


_FORKING = """
import os, sys, threading, warnings
from spanhook.store import OutboxEntry, SQLiteOutbox

warnings.simplefilter("ignore")  # CPython warns of forks of processes with threads, which is what this is about
box, stop = SQLiteOutbox(sys.argv[1], "https://hooks.example/", ["s"]), threading.Event()
added = 0

def keep_adding():
    global added
    while not stop.is_set():
        box.add([OutboxEntry(f"parent {added}", "t", "{}", 1)])
        added += 1
        if added % 5 == 0:
            box.close()
            stop.wait(0.02)  # as between batches: SQLite lets waiting processes in only by chance

thread = threading.Thread(target=keep_adding, daemon=True)
thread.start()
children = 25
for number in range(children):
    child = os.fork()
    if not child:
        box.add([OutboxEntry(f"child {number}", "t", "{}", 1)])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, number
stop.set()
thread.join()
assert box.count("pending") == added + children
"""


@pytest.mark.slow
def test_forks_while_others_write_lose_nothing_and_damage_nothing(tmp_path: Path) -> None:
    done = children.run("-c", _FORKING, tmp_path / "outbox.db")
    assert (done.returncode, done.stderr) == (0, "")


_INTERRUPTED = """
import os, signal, sys, threading
from spanhook.store import OutboxEntry, SQLiteOutbox, _sqlite_file

signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started in the background may ignore it
boxes = [SQLiteOutbox(f"{sys.argv[1]}/{number}.db", "https://hooks.example/", []) for number in range(3)]
for box in boxes:
    box.add([OutboxEntry("parent", "t", "{}", 1)])
_sqlite_file._files = [box._file for box in boxes]


class Interrupted:
    \"\"\"A lock for which somebody waits when Ctrl-C is pressed.\"\"\"

    def acquire(self, timeout):
        signal.raise_signal(signal.SIGINT)


lock, boxes[1]._file._lock = boxes[1]._file._lock, Interrupted()
child = os.fork()
if not child:
    os._exit(sum(box._file._connection is not None for box in boxes))
assert os.waitpid(child, 0)[1] == 0
boxes[1]._file._lock = lock
found = []
other = threading.Thread(target=lambda: found.extend(box.count("pending") for box in boxes), daemon=True)
other.start()
other.join(60)
assert found == [1, 1, 1], found
"""


def test_an_interrupt_while_a_fork_waits_for_a_file_leaves_none_locked(tmp_path: Path) -> None:
    done = children.run("-c", _INTERRUPTED, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not all is held for the fork" in done.stderr
