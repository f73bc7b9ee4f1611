"""Counters of many threads: nothing lost, nothing left behind, and never too many."""

import threading
from concurrent.futures import ThreadPoolExecutor

from spanhook.telemetry.counters import MAX_KEYS, OVERFLOW, Counters


def test_nothing_is_lost_over_threads() -> None:
    counters = Counters(1)

    def add(_index: int) -> None:
        for _ in range(2_000):
            counters.vector(("a",))[0] += 1

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(add, range(64)))
    assert counters.sums() == {("a",): [64 * 2_000]}


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
