"""Resources that belong to a loop: one for each, and an error of the wrong one that names the fix."""

import asyncio
import gc
import logging
import weakref
from collections.abc import Iterator

import httpx
import pytest

import spanhook
from spanhook import Hooks, Operation
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.concurrency import private_loops
from tests.stub import Library, stubbed


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "spanhook"):
        yield


def test_a_resource_of_another_loop_names_the_fix(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()
    locks: list[asyncio.Lock] = []

    @hooks.before("llm.call", priority=200, timeout=60.0)
    async def before(op: Operation) -> None:
        async with locks[0]:
            pass

    async def main() -> None:
        locks.append(asyncio.Lock())
        await locks[0].acquire()

        async def waiter() -> None:
            await locks[0].acquire()

        task = asyncio.create_task(waiter())  # binds the lock to this loop
        await asyncio.sleep(0)
        with stubbed(hooks) as (library, _):
            library.work("x")
        task.cancel()

    asyncio.run(main())
    assert "spanhook.per_loop(factory)" in caplog.text


def test_per_loop() -> None:
    made: list[object] = []

    def factory() -> object:
        made.append(object())
        return made[-1]

    resource = spanhook.per_loop(factory)
    hooks = Hooks()
    used: list[object] = []

    @hooks.before("llm.call", timeout=60.0)
    async def before(op: Operation) -> None:
        used.append(resource())

    async def main() -> None:
        with stubbed(hooks) as (library, _):
            await library.awork("x")
            library.work("x")
            await library.awork("x")

    asyncio.run(main())
    assert len(made) == 2
    assert used == [made[0], made[1], made[0]]
    with pytest.raises(RuntimeError):
        resource()


def test_what_belongs_to_loops_that_are_closed_is_let_go() -> None:
    class Client:
        """As most clients, it refers to its loop."""

        def __init__(self) -> None:
            self.loop = asyncio.get_running_loop()

    clients = spanhook.per_loop(Client)
    seen: list[weakref.ref[Client]] = []

    async def use() -> None:
        seen.append(weakref.ref(clients()))

    for _ in range(5):
        asyncio.run(use())
    gc.collect()
    assert [client() is None for client in seen] == [True] * 4 + [False]


def test_one_http_client_used_from_both_worlds() -> None:
    """Its connections are kept open and used again, each by the loop that made it."""
    clients = spanhook.per_loop(lambda: httpx.AsyncClient(verify=False))
    hooks = Hooks()
    answers: list[int] = []

    @hooks.before("llm.call", timeout=60.0)
    async def ask(op: Operation) -> None:
        answers.append((await clients().get(server.url)).status_code)

    async def close() -> None:
        await clients().aclose()

    async def main(library: Library) -> None:
        for _ in range(3):
            await library.awork("x")
            library.work("x")
            assert [letter async for letter in library.awords("x")] == ["x"]
            assert list(library.words("x")) == ["x"]
        await close()

    with OpenAIServer() as server, stubbed(hooks) as (library, seen):
        asyncio.run(main(library))
        for _ in range(3):
            library.work("x")
        asyncio.run_coroutine_threadsafe(close(), private_loops.get().loop).result(60.0)
    assert answers == [404] * 15
    assert [op.decisions for op in seen.operations] == [()] * 15
