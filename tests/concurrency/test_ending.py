"""Processes that were told to end, and what keeps them."""

import signal
import tempfile
import textwrap
import threading

import pytest

from spanhook.concurrency import Ending
from tests.forking import children

PROGRAM = """
import asyncio, atexit, signal, threading, time
from spanhook.concurrency import Ending
from tests.forking import children

atexit.register(print, "exported", flush=True)

async def stubborn():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def in_a_thread():
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)
    blocking_until_told()

def blocking():
    print("ready", flush=True)
    time.sleep(3600)

def left_behind():
    threading.Thread(target=time.sleep, args=(3600,), name="hung").start()
    blocking_until_told()

def blocking_until_told():
    print("ready", flush=True)
    while not told:
        time.sleep(0.01)

told = []
with Ending({seconds}).watching() as ending:
    signal.signal(signal.SIGTERM, lambda *_: (told.append(1), ending.tell()))
    {work}
"""


def ended(work: str, *, seconds: float = 0.2, tell: bool = True) -> tuple[int, str, str]:
    """How a process ends that does some work, and what it prints."""
    program = textwrap.dedent(PROGRAM).replace("{seconds}", str(seconds)).replace("{work}", work)
    with (
        tempfile.TemporaryFile("w+") as errors,
        children.Piped("-W", "error", "-c", program, stderr=errors.fileno()) as process,
    ):
        if tell:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGTERM)
        printed = process.communicate()
        errors.seek(0)
        return process.wait(), printed, errors.read()


@pytest.mark.one_value
@pytest.mark.parametrize(
    ("work", "thread"),
    [
        ("blocking()", "MainThread"),
        ("left_behind()", "hung"),
        ("blocking_until_told(); asyncio.run(stubborn())", "MainThread"),
        ("asyncio.run(in_a_thread())", "asyncio_0"),
    ],
    ids=["a blocked main thread", "a thread", "a task", "an executor's thread"],
)
def test_a_process_that_does_not_end_is_ended(work: str, thread: str) -> None:
    code, printed, errors = ended(work)
    assert (code, printed) == (1, "exported\n")
    assert "internal error in process.end" in errors
    assert "the process goes on 0.2 s after it was told to end, and is ended:" in errors
    assert f"\n  {thread}: " in errors


def test_a_process_that_ends_in_time_is_left_alone() -> None:
    assert ended("blocking_until_told()", seconds=3600) == (0, "exported\n", "")


@pytest.mark.slow
def test_handlers_at_exit_are_not_hurried() -> None:
    work = "atexit.register(time.sleep, 1.2); signal.raise_signal(signal.SIGTERM)"
    assert ended(work, seconds=1.0, tell=False) == (0, "exported\n", "")


@pytest.mark.slow
def test_a_process_that_was_not_told_to_end_may_take_its_time() -> None:
    assert ended("time.sleep(0.3)", seconds=0.1, tell=False) == (0, "exported\n", "")


def test_a_block_that_ends_without_having_been_told_leaves_no_thread() -> None:
    with Ending(0).watching():
        threads = [one for one in threading.enumerate() if one.name == "spanhook-ending"]
    for one in threads:
        one.join(30)
    assert [one.is_alive() for one in threads] == [False, False]
