"""Gates hold in every child, however it was made."""

import multiprocessing
import os
from collections.abc import Callable
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries import langchain_core, langgraph
from spanhook.cli.conformance.subject import Body, settle
from tests.forking import children

SUBJECTS = (*langchain_core.SUBJECTS, *langgraph.SUBJECTS)

hooks = Hooks()


@hooks.before("*", timeout=10.0, priority=10)
async def arefuse(op: Operation) -> None:
    if op.kind == "tool.execute":
        raise Reject("no")


@hooks.before("*", timeout=10.0, priority=20, blocking=True)
def blocking(op: Operation) -> None:
    if op.kind == "retrieval.query":
        raise Reject("no")


@hooks.before("*", priority=30)
def refuse(op: Operation) -> None:
    raise Reject("no")


#: Ways of which LangChain itself writes something to standard error: that they are new, or that a task failed.
TALKING = {"v3", "av3", "abatch as completed"}


def refused(*names: str) -> bool:
    """Whether every way of calling every subject is refused here, by sync, async and blocking hooks."""
    for subject in SUBJECTS:
        wanted = names or subject.ways.keys() - TALKING
        for way in (subject.ways[name] for name in wanted if name in subject.ways):
            body = Body()
            try:
                settle(way(subject.make(body)))
            except Reject:
                pass
            else:
                return False
            if body.runs:
                return False
    return True


def in_fork(work: Callable[[], bool]) -> bool:
    """Run ``work`` in a forked child and tell what it returned."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if work() else 3
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def apart(code: str, *flags: str) -> None:
    """Run code in a process of its own; forking is safe in it, because it has no threads but ours."""
    done = children.run(*flags, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.slow
def test_in_a_forked_child_after_the_parents_threads_were_used() -> None:
    apart(
        """
import spanhook
from tests.conformance.test_processes import hooks, in_fork, refused
spanhook.instrument(hooks)
assert refused()  # the loop's thread, the workers and the reaper are running now
assert in_fork(refused)
assert in_fork(lambda: in_fork(refused))
assert refused()
"""
    )


@pytest.mark.slow
def test_in_a_child_forked_while_a_hook_runs() -> None:
    apart(
        """
import threading
import spanhook
from spanhook import Hooks
from spanhook.cli.conformance.subject import Body
from spanhook.cli.conformance.libraries.langchain_core import SUBJECTS
from tests.conformance.test_processes import hooks, in_fork, refused

slow, inside, go = Hooks(), threading.Event(), threading.Event()

def of_other(op):
    return threading.current_thread().name == "other"

@slow.before("llm.call", timeout=30.0, blocking=True, priority=0, when=of_other)
def wait(op):
    inside.set()
    go.wait(60)

spanhook.instrument([slow, hooks])

def other():
    try:
        SUBJECTS[0].make(Body()).invoke("hi")
    except spanhook.Reject:
        pass

thread = threading.Thread(target=other, name="other")
thread.start()
inside.wait(60)
assert in_fork(refused)
go.set()
thread.join()
"""
    )


@pytest.mark.slow
def test_an_http_client_of_its_own_in_a_forked_child() -> None:
    """A connection that parent and child both use would mix up their answers."""
    apart(
        """
import httpx, os
import spanhook
from spanhook.instrument.instrumentor import Bindings
from tests.conformance.test_processes import in_fork
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from tests.stub import TABLE, Library

clients = spanhook.per_loop(lambda: httpx.AsyncClient(verify=False))
hooks, answers, ports = spanhook.Hooks(), [], set()

@hooks.before("llm.call", timeout=30.0)
async def ask(op):
    response = await clients().get(server.url)
    answers.append(response.status_code)
    ports.add(response.extensions["network_stream"].get_extra_info("client_addr")[1])

def work():
    answers.clear()
    ports.clear()
    for _ in range(3):
        Library().work("x")
    return answers == [404] * 3 and len(ports) == 1

def elsewhere():
    mine = set(ports)
    return work() and not ports & mine

spanhook.instrument(hooks, only=())
Bindings(TABLE).bind()
with OpenAIServer() as server:
    assert work()
    assert in_fork(elsewhere)
    assert work()
"""
    )


def child(queue: Any) -> None:
    spanhook.instrument(hooks)
    queue.put(refused())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_in_spawned_children(method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert queue.get(timeout=120) is True
    process.join(120)
    assert process.exitcode == 0
    queue.close()


@pytest.mark.slow
def test_preloaded_then_forked_many_times() -> None:
    """What a server with a preloaded application does: instrument, import, fork workers."""
    apart(
        """
import spanhook
from tests.conformance.test_processes import hooks, in_fork, refused
spanhook.instrument(hooks)
assert all(in_fork(refused) for _ in range(4))
"""
    )


def test_at_exit_until_the_last_handler() -> None:
    apart(
        """
import atexit, os, sys

def last():
    from tests.conformance.test_processes import refused
    try:
        assert refused("invoke", "stream", "run", "query")  # LangChain's own pools have shut down by now
    except BaseException:
        import traceback
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(9)

atexit.register(last)  # registered first, so it runs last
import spanhook
from tests.conformance.test_processes import hooks
from spanhook.cli.conformance.subject import Body
from spanhook.cli.conformance.libraries.langchain_core import SUBJECTS
spanhook.instrument(hooks)
try:
    SUBJECTS[3].make(Body()).invoke({"query": "x"})
except spanhook.Reject:
    pass
"""
    )


def test_name_resolution_works_at_exit() -> None:
    """The pools of `concurrent.futures` refuse work once the interpreter is leaving; an event loop needs one."""
    apart(
        """
import atexit, asyncio, os, sys

def last():
    try:
        library.work("x")
    except spanhook.Reject as reject:
        if reject.reason == "resolved":
            return
        print(reject, file=sys.stderr)
    os._exit(9)

atexit.register(last)
import spanhook
from spanhook.instrument.instrumentor import Bindings
from tests.stub import TABLE, Library
library = Library()
hooks = spanhook.Hooks()

@hooks.before("llm.call", timeout=30.0)
async def gate(op):
    await asyncio.get_running_loop().getaddrinfo("localhost", 80)
    raise spanhook.Reject("resolved")

spanhook.instrument(hooks, only=())
Bindings(TABLE).bind()
"""
    )


def test_a_hung_hook_does_not_keep_the_process_from_ending() -> None:
    apart(
        """
import threading
import spanhook
from spanhook.instrument.instrumentor import Bindings
from tests.stub import TABLE, Library
hooks = spanhook.Hooks()

@hooks.before("llm.call", timeout=0.01, blocking=True)
def hang(op):
    threading.Event().wait()

import logging
logging.disable()
spanhook.instrument(hooks, only=())
Bindings(TABLE).bind()
try:
    Library().work("x")
except spanhook.Reject:
    pass
"""
    )


def test_ctrl_c_while_an_async_hook_runs() -> None:
    apart(
        """
import asyncio, os, signal, sys
import spanhook
from spanhook.instrument.instrumentor import Bindings
from tests.stub import TABLE, Library
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it
hooks = spanhook.Hooks()

@hooks.before("llm.call", timeout=60.0)
async def gate(op):
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.Event().wait()

spanhook.instrument(hooks, only=())
Bindings(TABLE).bind()
try:
    Library().work("x")
except KeyboardInterrupt:
    sys.exit(0)
sys.exit(9)
"""
    )
