"""OpenAI's client where Trio runs it: gated, counted and cancelled as under asyncio, and Trio's loop waits for no hook.

LangChain and LangGraph are asyncio's, and so are async hooks: here they run on a loop of spanhook's.
"""

import asyncio
import functools
import gc
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import trio
import trio.lowlevel

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_ways import CHAT, WAYS, Way, async_client, collected, named
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.concurrency import is_cancellation, reaper, running, running_loop
from spanhook.testing import Recorder, recorder

Next = Callable[[], Awaitable[Any]]
LONG = 30.0
SHORT = 0.02
APIS, HOWS = ("chat", "responses"), ("create", "stream", "raw stream", "streaming lines", "manager")
ASKED = [way for way in WAYS if way.name in {f"async {api} {how}" for api in APIS for how in HOWS}]
MOST = ("async chat create", "async chat stream")
FORMS = ("def", "async", "blocking", "generator", "blocking generator", "wrapping")


CASES = [(way, form) for way in ASKED for form in FORMS if form in ("async", "wrapping") or way.name in MOST]


def case(value: Any) -> str:
    return named(value) if isinstance(value, Way) else value


expected = functools.cache(lambda way, url: way(url))
"""What a way of asking gives under asyncio."""


@pytest.fixture(scope="module")
def shared() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def server(shared: OpenAIServer) -> OpenAIServer:
    shared.requests = []
    return shared


def run(server: OpenAIServer, main: Callable[[Any], Awaitable[Any]]) -> Any:
    """Run a test's body under Trio, with a client of its own."""

    async def whole() -> Any:
        async with async_client(server.url) as client:
            return await main(client)

    return trio.run(whole)


def hook_of(form: str, ran: list[str], do: Callable[[], None] = lambda: None) -> Hooks:
    """A hook of some form that notes where it ran, and then does something."""
    hooks = Hooks()

    def before(op: Operation) -> None:
        ran.append(running())
        do()

    async def abefore(op: Operation) -> None:
        await asyncio.sleep(0)
        before(op)

    def around(op: Operation) -> Iterator[None]:
        before(op)
        yield
        ran.append(running())

    async def wrapping(op: Operation, call_next: Next) -> Any:
        await abefore(op)
        result = await call_next()
        await asyncio.sleep(0)
        ran.append(running())
        return result

    if form in ("generator", "blocking generator"):
        hooks.around("llm.call", timeout=LONG, blocking=form.startswith("blocking"))(around)
    elif form == "wrapping":
        hooks.around("llm.call", timeout=LONG)(wrapping)
    else:
        hook: Any = abefore if form == "async" else before
        hooks.before("llm.call", timeout=LONG, blocking=form == "blocking")(hook)
        hooks.after("llm.call", timeout=LONG, blocking=form == "blocking")(hook)
    return hooks


WHERE = {"def": "trio", "generator": "trio", "async": "asyncio", "wrapping": "asyncio"}


@pytest.mark.parametrize(("way", "form"), CASES, ids=case)
def test_let_pass(way: Way, form: str, server: OpenAIServer) -> None:
    wanted = expected(way, server.url)
    server.requests = []
    ran: list[str] = []
    with recorder(hook_of(form, ran)) as seen:
        assert run(server, way.ask) == wanted
    assert ran == [WHERE.get(form, "")] * 2
    assert len(server.requests) == 1
    [op] = seen.operations
    assert (op.status, op.decisions) == ("success", ())
    assert op.usage.total_tokens > 0


@pytest.mark.parametrize(("way", "form"), CASES, ids=case)
def test_denied(way: Way, form: str, server: OpenAIServer) -> None:
    def refuse() -> None:
        raise Reject("no", status_code=402)

    with recorder(hook_of(form, [], refuse)) as seen, pytest.raises(Reject, match="no") as caught:
        run(server, way.ask)
    assert caught.value.status_code == 402
    assert server.requests == []
    assert [op.status for op in seen.operations] == ["rejected"]


@pytest.mark.parametrize("form", ["async", "blocking", "wrapping"])
def test_other_tasks_go_on_while_a_hook_is_waited_for(form: str, server: OpenAIServer) -> None:
    go = threading.Event()

    def wait() -> None:
        assert go.wait(LONG)

    async def main(client: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: client.chat.completions.create(**CHAT))
            while not reached:
                await trio.lowlevel.checkpoint()
            go.set()

    reached: list[str] = []
    hooks = hook_of(form, reached, wait)
    with recorder(hooks) as seen:
        run(server, main)
    assert [(op.status, op.decisions) for op in seen.operations] == [("success", ())]


def test_rewritten_and_answered(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=LONG)
    async def rewrite(op: Operation) -> None:
        await asyncio.sleep(0)
        messages = op.request.messages
        messages[-1]["parts"][0]["content"] = "Say goodbye."
        op.replace(messages=messages)

    @hooks.around("llm.call", timeout=LONG, stream="buffer")
    async def shout(op: Operation, call_next: Next) -> str:
        await call_next()
        return op.response.text.upper()

    async def main(client: Any) -> tuple[str, str]:
        answer = await client.chat.completions.create(**CHAT)
        chunks = await collected(await client.chat.completions.create(**CHAT, stream=True))
        streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        return answer.choices[0].message.content, streamed

    with recorder(hooks):
        assert run(server, main) == ("HELLO THERE FRIEND",) * 2
    assert {request.body["messages"][-1]["content"] for request in server.requests} == {"Say goodbye."}


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("form", ["async", "blocking", "wrapping", "wrapping after"])
def test_a_hook_that_takes_too_long(form: str, closed: bool, server: OpenAIServer) -> None:
    hooks = Hooks()
    settings: Any = {"timeout": SHORT, "fail_mode": "closed" if closed else "open", "name": "slow"}
    release = threading.Event()

    async def slow(op: Operation) -> None:
        await asyncio.Event().wait()

    async def wrapping(op: Operation, call_next: Next) -> Any:
        if form == "wrapping after":
            await call_next()
        await slow(op)

    def blocking(op: Operation) -> None:
        release.wait(LONG)

    if form.startswith("wrapping"):
        hooks.around("llm.call", **settings)(wrapping)
    else:
        hook: Any = slow if form == "async" else blocking
        hooks.before("llm.call", blocking=form == "blocking", **settings)(hook)

    async def main(client: Any) -> Any:
        try:
            return await client.chat.completions.create(**CHAT)
        finally:
            release.set()

    with recorder(hooks) as seen:
        if closed:
            with pytest.raises(Reject) as caught:
                run(server, main)
            assert caught.value.status_code == 504
        else:
            run(server, main)
    [op] = seen.operations
    assert [one.decision for one in op.decisions] == ["timeout"]
    assert len(server.requests) == (0 if closed and form != "wrapping after" else 1)


# ------------------------------------------------------------------------------------------- cancelled


class Watched:
    """Hooks of every form, and what they were told of a call that is cancelled.

    Attributes:
        told: What each saw of the end.
        reached: Set where the hook to be cancelled in waits.
    """

    def __init__(self, where: str) -> None:
        self.hooks, self.told, self.reached = Hooks(), set[str](), threading.Event()
        hooks = self.hooks

        @hooks.around("llm.call", timeout=LONG, priority=1)
        async def wrapping(op: Operation, call_next: Next) -> Any:
            try:
                return await call_next()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
                self.told.add("wrapping")
                raise

        @hooks.around("llm.call", timeout=LONG, priority=2, blocking=True)
        def around(op: Operation) -> Iterator[None]:
            try:
                yield
            except BaseException as error:
                self.told.add("around" if is_cancellation(error) else repr(error))
                raise

        @hooks.before("llm.call", timeout=LONG, priority=3)
        async def before(op: Operation) -> None:
            if where == "async":
                await self.hang("async")

        @hooks.before("llm.call", timeout=LONG, priority=4, blocking=True)
        def blocking(op: Operation) -> None:
            if where == "blocking":
                self.reached.set()
                self.release.wait(LONG)

        @hooks.around("llm.call", timeout=LONG, priority=5)
        async def inner(op: Operation, call_next: Next) -> Any:
            if where == "wrapping":
                await self.hang("inner")
            return await call_next()

        @hooks.on_error("llm.call", timeout=LONG)
        async def on_error(op: Operation) -> None:
            await asyncio.sleep(0)
            self.told.add(f"on_error {op.status}")

        hooks.on_error("llm.call", timeout=LONG, blocking=True)(lambda op: self.told.add("blocking on_error"))
        self.release, self.cancelled = threading.Event(), threading.Event()

    async def hang(self, name: str) -> None:
        self.reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


EVERYBODY = {"wrapping", "around", "on_error cancelled", "blocking on_error"}


def expect_cancelled(seen: Recorder) -> None:
    [op] = seen.operations
    assert (op.status, [one.decision for one in op.decisions]) == ("cancelled", [])
    [span] = seen.spans
    assert span.status.status_code.name == "UNSET"


@pytest.mark.parametrize("where", ["async", "blocking", "wrapping", "call"])
@pytest.mark.parametrize("how", ["create", "stream", "manager"])
def test_cancelled_before_there_is_an_answer(how: str, where: str) -> None:
    watched, hold = Watched(where), threading.Event()
    [way] = [way for way in ASKED if way.name == f"async chat {how}"]

    async def reached() -> None:
        event = watched.reached
        if where == "call":
            while not server.requests:  # noqa: ASYNC110 - it is another thread that gets there
                await trio.sleep(0.001)
        else:
            await trio.to_thread.run_sync(event.wait)

    async def main(client: Any) -> None:
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:

                async def cancel() -> None:
                    await reached()
                    scope.cancel()

                nursery.start_soon(cancel)
                await way.ask(client)
            assert scope.cancelled_caught
        hold.set()
        watched.release.set()

    with OpenAIServer(Reply(hold=hold)) as server, recorder(watched.hooks) as seen:
        run(server, main)
        expect_cancelled(seen)
    assert watched.told == EVERYBODY
    assert len(server.requests) == (1 if where == "call" else 0)
    assert where not in ("async", "wrapping") or watched.cancelled.wait(LONG)


@pytest.mark.parametrize("how", ["stream", "manager"])
def test_cancelled_in_the_middle_of_a_stream(how: str) -> None:
    watched, gate = Watched("nowhere"), threading.Event()

    async def main(client: Any) -> None:
        with trio.CancelScope() as scope:
            if how == "stream":
                async for _ in await client.chat.completions.create(**CHAT, stream=True):
                    scope.cancel()
            else:
                async with client.chat.completions.stream(**CHAT) as stream:
                    async for _ in stream:
                        scope.cancel()
        assert scope.cancelled_caught
        gate.set()

    with OpenAIServer(Reply(gate=gate)) as server, recorder(watched.hooks) as seen:
        run(server, main)
        reaper.drain()
        [op] = seen.operations
    assert (op.status, op.decisions) == ("cancelled", ())
    assert watched.told == EVERYBODY


def test_a_deadline_of_the_callers_own(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=None)
    async def forever(op: Operation) -> None:
        await asyncio.Event().wait()

    async def main(client: Any) -> None:
        with trio.move_on_after(SHORT) as scope:
            await client.chat.completions.create(**CHAT)
        assert scope.cancelled_caught
        with pytest.raises(trio.TooSlowError), trio.fail_after(SHORT):
            await client.chat.completions.create(**CHAT)

    with recorder(hooks) as seen:
        run(server, main)
    assert [op.status for op in seen.operations] == ["cancelled"] * 2
    assert server.requests == []


@pytest.mark.parametrize("end", ["closed", "left", "dropped"])
@pytest.mark.parametrize("form", FORMS)
def test_a_consumer_that_stops_early(form: str, end: str, server: OpenAIServer) -> None:
    ran: list[str] = []

    async def main(client: Any) -> None:
        stream = await client.chat.completions.create(**CHAT, stream=True)
        await anext(stream)
        if end == "closed":
            await stream.close()
        elif end == "left":
            async with stream:
                pass
        del stream
        gc.collect()

    with recorder(hook_of(form, ran)) as seen:
        run(server, main)
        reaper.drain()
        [op] = seen.operations
    assert (op.status, op.decisions) == ("abandoned", ())
    assert len(ran) == 2


def test_a_run_that_is_refused(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=LONG)
    async def refuse(op: Operation) -> None:
        raise Reject("no", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="no"):
        run(server, lambda client: client.chat.completions.create(**CHAT))
    assert server.requests == []


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_what_an_async_hook_raises(error: type[BaseException], server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=LONG)
    async def leave(op: Operation) -> None:
        raise error

    async def main(client: Any) -> None:
        with pytest.raises(Reject if error is asyncio.CancelledError else error):
            await client.chat.completions.create(**CHAT)

    with recorder(hooks):
        run(server, main)
    assert server.requests == []


def test_many_at_once(server: OpenAIServer) -> None:
    ran: list[str] = []

    async def main(client: Any) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(lambda: client.chat.completions.create(**CHAT))

    with recorder(hook_of("wrapping", ran)) as seen:
        run(server, main)
    assert [op.status for op in seen.operations] == ["success"] * 20
    assert ran == ["asyncio"] * 40


# ------------------------------------------------------------------------------------------- who runs here


def test_who_runs_here() -> None:
    async def told() -> tuple[str, bool]:
        return running(), running_loop() is not None

    assert (running(), running_loop()) == ("", None)
    assert asyncio.run(told()) == ("asyncio", True)
    assert trio.run(told) == ("trio", False)


def test_trio_as_a_guest_of_asyncio(server: OpenAIServer) -> None:
    """There a loop of asyncio's runs in the same thread, and none of its tasks does."""
    ran: list[str] = []

    async def inside() -> str:
        async with async_client(server.url) as client:
            await client.chat.completions.create(**CHAT)
        return running()

    async def host() -> str:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        trio.lowlevel.start_guest_run(
            inside, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=done.set_result
        )
        return (await done).unwrap()

    with recorder(hook_of("wrapping", ran)) as seen:
        assert asyncio.run(host()) == "trio"
    assert ran == ["asyncio"] * 2
    assert [op.status for op in seen.operations] == ["success"]


@pytest.mark.parametrize("group", [False, True])
def test_what_a_cancellation_is(group: bool) -> None:
    async def cancelled() -> BaseException | None:
        found = None
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled as error:
                found = error
        return found

    error = trio.run(cancelled)
    assert error is not None
    for one in (error, asyncio.CancelledError()):
        assert is_cancellation(BaseExceptionGroup("two", [one, asyncio.CancelledError()]) if group else one)
    assert not is_cancellation(BaseExceptionGroup("two", [error, ValueError()]))
    assert not is_cancellation(KeyboardInterrupt())
    assert not is_cancellation(ExceptionGroup("one", [ValueError()]))
    assert not is_cancellation(None)
