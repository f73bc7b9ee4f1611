"""Counters of many threads: nothing lost, nothing left behind, and never too many."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from spanhook.telemetry.counters import MAX_KEYS, OVERFLOW, Counters
from tests.telemetry.test_aggregations import in_each_collection


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Threads take turns a hundred times as often: more can go wrong, and none waits for one that only reads."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.00005)
    yield
    sys.setswitchinterval(before)


def test_nothing_is_lost_over_threads() -> None:
    counters = Counters(1)

    def add(_index: int) -> None:
        for _ in range(2_000):
            counters.vector(("a",))[0] += 1

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(add, range(64)))
    assert counters.sums() == {("a",): [64 * 2_000]}


def test_other_keys_come_while_they_are_added_up() -> None:
    counters, numbers = Counters(1), count()

    def another() -> None:
        counters.vector((f"another {next(numbers)}",))[0] += 1

    for number in range(500):
        counters.vector((number,))[0] += 1
    with in_each_collection(another):
        counters.sums()
    made = next(numbers)
    assert made > 10
    assert sum(vector[0] for vector in counters.sums().values()) == 500 + made


def test_threads_that_ended_leave_no_trace() -> None:
    counters = Counters(1)

    def add() -> None:
        counters.vector(("a",))[0] += 1

    for _ in range(200):
        thread = threading.Thread(target=add)
        thread.start()
        thread.join()
    assert counters.sums() == {("a",): [200]}
    assert len(counters) == 0


@pytest.mark.parametrize("number", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_threads_leave_nothing_while_somebody_reads(number: int) -> None:
    """Most get the identifier of one that has just ended, and thereby its lists."""
    counters, done, kept = Counters(1), threading.Event(), list[int]()
    read: list[int] = []

    def add() -> None:
        counters.vector(("a",))[0] += 1
        counters.cells(0)
        counters.vector(("a",))[0] += 1

    def look() -> None:
        while not done.wait(0.0005):  # else it would have the interpreter nearly all of the time
            read.append(counters.sums().get(("a",), [0])[0])

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(number // 10):
        threads = [threading.Thread(target=add) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept.append(len(counters))
    done.set()
    reader.join()
    assert counters.sums() == {("a",): [2 * number]}
    assert read == sorted(read)
    assert max(kept) < 200


def test_lists_are_folded_while_nobody_reads() -> None:
    """Here all threads live at once, and end at once."""
    counters, most = Counters(1), 0
    for _ in range(10):
        together = threading.Barrier(100)

        def add(together: threading.Barrier = together) -> None:
            together.wait()
            counters.vector(("a",))[0] += 1
            together.wait()

        threads = [threading.Thread(target=add) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        most = max(most, len(counters))
    assert most <= 300
    assert counters.sums() == {("a",): [1_000]}


def test_attribute_sets_are_bounded() -> None:
    counters = Counters(1)
    for number in range(3 * MAX_KEYS):
        counters.vector((number,))[0] += 1
    sums = counters.sums()
    assert len(sums) == MAX_KEYS + 1
    assert sums[OVERFLOW] == [2 * MAX_KEYS]
    threads = [threading.Thread(target=lambda: counters.vector(("new",))) for _ in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    assert len(counters.sums()) == MAX_KEYS + 1


def test_slots_and_vectors_of_one_key_are_one_sum() -> None:
    counters = Counters(2)
    slots = [counters.slot((number,)) for number in range(3)]

    def add(_index: int) -> None:
        for _ in range(1_000):
            cells = counters.cells(slots[2] + 1)
            cells[slots[1]] += 1
            cells[slots[2] + 1] += 5
            counters.vector((1,))[0] += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(16)))
    assert counters.sums() == {(1,): [32_000, 0], (2,): [0, 80_000]}
    assert [counters.slot((number,)) for number in range(3)] == slots


def test_slots_outlive_a_fork_but_what_was_counted_in_them_does_not() -> None:
    counters = Counters(1)
    slot = counters.slot(("a",))
    counters.cells(slot)[slot] += 1
    counters.renew()
    counters.cells(slot)[slot] += 2
    assert counters.sums() == {("a",): [2]}


def test_slots_are_bounded() -> None:
    counters = Counters(1)
    slots = [counters.slot((number,)) for number in range(MAX_KEYS + 10)]
    assert len(set(slots)) == MAX_KEYS + 1
    for slot in slots:
        counters.cells(slot)[slot] += 1
    sums = counters.sums()
    assert len(sums) == MAX_KEYS + 1
    assert sums[OVERFLOW] == [10]


def test_slots_named_in_many_threads_at_once_are_distinct() -> None:
    counters = Counters(1)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda index: counters.slot((index % 200,)), range(1_600)))
    assert sorted(set(found)) == list(range(200))
    assert found[:200] == found[200:400]
