"""Event descriptors: closed in time, and used where threads can wait for them alone."""

import os
import select
import subprocess
import sys

import pytest

from spanhook.concurrency.descriptors import Descriptor, has_descriptors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="event descriptors are Linux's")


def test_a_descriptor_is_closed_with_its_last_reference() -> None:
    made = Descriptor()
    number, also = made.fileno(), made
    del made
    os.fstat(number)
    del also
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_one_that_could_not_be_opened_closes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: int) -> int:
        raise OSError("Too many open files")

    monkeypatch.setattr(os, "eventfd", full)
    with pytest.raises(OSError, match="Too many"):
        Descriptor()


def test_they_are_used_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_descriptors()
    monkeypatch.delattr(select, "epoll")
    assert not has_descriptors()


GEVENT = """if True:
    from gevent import monkey
    monkey.patch_all()
    import asyncio, gevent, spanhook
    from spanhook import Hooks, Reject
    from spanhook.concurrency import descriptors, event_loops, private_loops, waiting

    hooks, seen = Hooks(), []

    @hooks.before("tool.execute", timeout=60.0)
    async def gate(op):
        seen.append(asyncio.get_running_loop())
        if op.request.arguments["wait"]:
            await asyncio.sleep(0.01)
        if op.request.arguments["refuse"]:
            raise Reject("no")

    @spanhook.tool
    def work(wait, refuse):
        return "done"

    def call(index):
        try:
            return work(index % 2, index % 3 == 0)
        except Reject:
            return "refused"

    assert not descriptors.has_descriptors()
    spanhook.instrument(hooks)
    asked = [gevent.spawn(call, index) for index in range(30)]
    gevent.joinall(asked, timeout=60.0, raise_error=True)
    assert [one.value for one in asked] == ["done" if index % 3 else "refused" for index in range(30)]
    [loop] = set(seen)
    assert not isinstance(loop, event_loops.EventLoop) and not waiting._idle
"""


def test_under_gevent_threads_are_greenlets_which_wait_as_before() -> None:
    # A process of its own: gevent must come before all else.
    done = subprocess.run([sys.executable, "-c", GEVENT], capture_output=True, text=True, timeout=120.0, check=False)
    assert done.returncode == 0, done.stderr
