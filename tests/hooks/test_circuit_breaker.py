"""Circuit breakers: what opens them, what closes them, and what they take no notice of."""

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import openai
import pytest
import trio
from anthropic import APIStatusError
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, operation
from spanhook.cli.conformance.libraries.anthropic_ways import MESSAGES
from spanhook.cli.conformance.libraries.anthropic_ways import sync_client as anthropic_client
from spanhook.cli.conformance.libraries.openai_ways import CHAT, async_client, sync_client
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.gating import find, make
from spanhook.hooks import circuit_breaker
from spanhook.hooks.circuit_breaker import CircuitBreaker
from spanhook.testing import reaper, recorder


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def breaking(clock: Clock, failures: int | None = 2, **settings: Any) -> CircuitBreaker:
    """A breaker without a timeout: the clock of the tests goes on with every thread."""
    made = CircuitBreaker(failures, clock=clock, **settings)
    made.timeout = None
    return made


@spanhook.tool
def search(answer: Any = "found") -> Any:
    if isinstance(answer, BaseException):
        raise answer
    return answer


@spanhook.tool
async def asearch(answer: Any = "found") -> Any:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def fail(times: int = 1, error: Callable[[], Exception] = ConnectionError) -> None:
    for _ in range(times):
        with suppress(error):  # pyright: ignore[reportArgumentType]
            search(error())


def is_refused(call: Callable[[], Any] = search) -> bool:
    try:
        call()
    except Reject:
        return True
    return False


# ------------------------------------------------------------------------------------------------- states


def test_it_opens_after_failures_in_a_row_and_closes_after_a_success(clock: Clock) -> None:
    with recorder(breaking(clock, 3, open_for=30)) as seen:
        fail(2)
        search()
        fail(2)
        assert not is_refused()
        fail(3)
        clock.now += 18
        with pytest.raises(
            Reject, match=r"^search keeps failing and is not called for now; try again in 12 s$"
        ) as caught:
            search()
        assert (caught.value.status_code, caught.value.retry_after) == (503, 12)
        clock.now += 12
        fail()
        assert is_refused()
        clock.now += 30
        assert not is_refused()
        fail(2)
        assert not is_refused()
    assert [op.called for op in seen.operations if op.status == "rejected"] == [False, False]


def test_it_opens_at_a_rate_of_failures(clock: Clock) -> None:
    with recorder(breaking(clock, None, failure_rate=0.5, window=60, min_calls=10)):
        for _ in range(4):
            fail()
            search()
        fail(1)
        assert not is_refused()  # the tenth call, of which half have failed; a success opens nothing
        fail(1)
        assert is_refused()


def test_what_is_older_than_the_window_does_not_count(clock: Clock) -> None:
    with recorder(breaking(clock, None, failure_rate=0.5, window=60, min_calls=4)):
        fail(3)
        clock.now += 61
        for _ in range(3):
            search()
        fail(2)
        assert not is_refused()  # two of six
        fail(2)
        assert is_refused()


def test_several_probes_must_all_succeed(clock: Clock) -> None:
    with recorder(breaking(clock, 1, probes=2, open_for=10)):
        fail()
        clock.now += 10
        search()
        fail()
        clock.now += 5
        assert is_refused()
        clock.now += 5
        search()
        search()
        assert not any(is_refused() for _ in range(5))


def test_only_probes_are_let_through_while_they_run(clock: Clock) -> None:
    with recorder(breaking(clock, 1, open_for=10)):
        fail()
        clock.now += 10
        with operation("tool.execute", "search"):
            assert is_refused()
            assert is_refused()
        assert not is_refused()


def test_a_probe_that_never_ends_does_not_keep_the_circuit_open(clock: Clock) -> None:
    with recorder(breaking(clock, 1, open_for=10)):
        fail()
        clock.now += 10
        stuck = operation("tool.execute", "search")
        stuck.__enter__()
        assert is_refused()
        clock.now += 10
        assert not is_refused()
        with suppress(ConnectionError):
            stuck.__exit__(ConnectionError, ConnectionError(), None)
        assert not is_refused()  # it is from before the circuit closed


def test_calls_from_before_it_opened_change_nothing(clock: Clock) -> None:
    with recorder(breaking(clock, 1, open_for=10)):
        slow = operation("tool.execute", "search")
        slow.__enter__()
        fail()
        slow.__exit__(None, None, None)
        assert is_refused()


# --------------------------------------------------------------------------------------------- what counts


class Status(Exception):
    def __init__(self, status: int) -> None:
        super().__init__("secret")
        self.status_code = status


@pytest.mark.parametrize(
    ("error", "opens"),
    [
        (ConnectionError(), True),
        (TimeoutError(), True),
        (RuntimeError("x"), True),
        (Status(500), True),
        (Status(529), True),
        (Status(429), True),
        (Status(408), True),
        (Status(400), False),
        (Status(401), False),
        (Status(404), False),
        (ValueError("arguments"), False),
        (UnicodeError("a subclass"), False),
        (TypeError("arguments"), False),
    ],
)
def test_which_errors_are_failures(error: Exception, opens: bool, clock: Clock) -> None:
    with recorder(breaking(clock, 1)):
        with pytest.raises(type(error)):
            search(error)
        assert is_refused() is opens


def test_which_errors_are_failures_can_be_set(clock: Clock) -> None:
    with recorder(breaking(clock, 1, status_codes=[401], ignore=["Status2", "OSError"])):
        fail(3)
        with suppress(Status):
            search(Status(429))
        assert not is_refused()
        with suppress(Status):
            search(Status(401))
        assert is_refused()


def test_refusals_answers_and_cancellations_are_neither(clock: Clock) -> None:
    hooks = Hooks()
    said: list[str] = []

    @hooks.before("tool.execute", priority=95)
    def decide(op: Operation) -> None:
        if said == ["reject"]:
            raise Reject("no")
        if said == ["answer"]:
            op.respond("kept")
        if said == ["break"]:
            raise OSError

    async def cancelled() -> None:
        task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def waits() -> None:
        async with operation("tool.execute", "search"):
            await asyncio.Event().wait()

    with recorder([breaking(clock, 2, open_for=10), hooks]) as seen:
        fail(2)
        clock.now += 10
        for what in ("reject", "answer", "break"):
            said[:] = [what]
            with suppress(Reject):
                search()
        said.clear()
        asyncio.run(cancelled())
        with suppress(KeyboardInterrupt):
            search(KeyboardInterrupt())
        assert [op.status for op in seen.operations][2:] == [
            "rejected",
            "success",
            "rejected",
            "cancelled",
            "cancelled",
        ]
        fail()
        assert is_refused()  # so nothing of that has closed it, and nothing kept the probe from being made


def test_a_fallback_does_not_hide_failures(clock: Clock) -> None:
    hooks = Hooks()

    @hooks.around("tool.execute")
    def fall_back(op: Operation) -> Generator[Any, Any, Any]:
        try:
            yield
        except ConnectionError:
            return "cached"
        return None

    with recorder([breaking(clock), hooks]):
        assert [search(ConnectionError()) for _ in range(2)] == ["cached", "cached"]
        assert is_refused()


def test_another_model_is_asked_about_after_a_rewrite(clock: Clock) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", priority=95)
    def downgrade(op: Operation) -> None:
        if op.model == "gpt-4o-mini":
            op.replace(model="gpt-4o")

    with OpenAIServer() as server, sync_client(server.url, max_retries=0) as client:
        server.reply = Reply(status=500)
        breaker = breaking(clock)
        with recorder([breaker, hooks]):
            for _ in range(2):
                with pytest.raises(openai.InternalServerError):
                    client.chat.completions.create(**CHAT)
            with pytest.raises(Reject, match=r"^openai/gpt-4o keeps failing"):
                client.chat.completions.create(**CHAT)
        states = {key.name: one.is_open for key, one in breaker._circuits.items()}
        assert states == {"gpt-4o-mini": False, "gpt-4o": True}


# ------------------------------------------------------------------------------------------------- targets


def test_models_providers_tools_and_tenants(clock: Clock) -> None:
    def model(name: str, provider: str, failing: bool = False) -> None:
        with operation("llm.call", name, provider=provider):
            if failing:
                raise ConnectionError

    def down(name: str, provider: str) -> None:
        with suppress(ConnectionError):
            model(name, provider, failing=True)

    with recorder(breaking(clock, 1)):
        down("large", "acme")
        assert is_refused(lambda: model("large", "acme"))
        model("small", "acme")
        model("large", "other")
    with recorder(breaking(clock, 1, per="provider")):
        down("large", "acme")
        assert is_refused(lambda: model("small", "acme"))
        model("large", "other")
        fail()
        assert is_refused()
        with operation("tool.execute", "another"):
            pass
    with recorder(breaking(clock, 1, per_tenant=True)):
        with spanhook.context(tenant_id="a"):
            fail()
            assert is_refused()
        with spanhook.context(tenant_id="b"):
            search()


def test_targets_are_bounded(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanhook.hooks.circuit_breaker._hook.MOST_CIRCUITS", 10)
    monkeypatch.setattr("spanhook.hooks.circuit_breaker._hook.MOST_TARGETS", 2)
    breaker = breaking(clock, 1)

    def down(number: int) -> None:
        with suppress(ConnectionError), operation("tool.execute", f"tool {number}"):
            raise ConnectionError

    with recorder(breaker) as seen:
        fail()
        for number in range(30):
            with operation("tool.execute", f"tool {number}"):
                pass
        assert len(breaker._circuits) == 10
        assert is_refused()
        for number in range(5):
            down(number)
        for number in range(30, 60):
            down(number)
        assert len(breaker._circuits) == 10
        values = {told["spanhook.circuit_breaker.target"]: value for told, value in opened(seen)}
        assert values.keys() == {"search", "tool 0", "_other"}
        assert sum(values.values()) == 10


def opened(seen: Any) -> list[tuple[dict[str, Any], int]]:
    return seen.metrics().get("spanhook.circuit_breaker.open", [])


def test_open_circuits_are_measured(clock: Clock) -> None:
    breaker = breaking(clock, 1, open_for=10)
    breaker.name = "tools"
    told = {"spanhook.hook": "tools", "spanhook.circuit_breaker.target": "search"}
    with recorder(breaker) as seen:
        assert opened(seen) == []
        fail()
        assert opened(seen) == [(told, 1)]
        clock.now += 10
        fail()
        assert opened(seen) == [(told, 1)]
        clock.now += 10
        search()
        assert opened(seen) == [(told, 0)]


# ------------------------------------------------------------------------------------------- ways of calling


def test_async_and_trio(clock: Clock) -> None:
    with recorder(breaking(clock)):
        with pytest.raises(ConnectionError):
            asyncio.run(asearch(ConnectionError()))
        with pytest.raises(ConnectionError):
            trio.run(asearch, ConnectionError())
        with pytest.raises(Reject):
            asyncio.run(asearch())
        with pytest.raises(Reject):
            trio.run(asearch)


def test_openai(clock: Clock) -> None:
    with OpenAIServer() as server, sync_client(server.url, max_retries=0) as client, recorder(breaking(clock)):
        server.reply = Reply(status=400)
        for _ in range(5):
            with pytest.raises(openai.BadRequestError):
                client.chat.completions.create(**CHAT)
        server.reply = Reply(status=503)
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                client.chat.completions.create(**CHAT)
        before = len(server.requests)
        with pytest.raises(Reject):
            client.chat.completions.create(**CHAT)
        with pytest.raises(Reject):
            client.chat.completions.create(**CHAT, stream=True)
        assert len(server.requests) == before


def test_streams_count_at_their_end(clock: Clock) -> None:
    breaker = breaking(clock, 1, open_for=10)
    with OpenAIServer() as server, sync_client(server.url, max_retries=0) as client, recorder(breaker):
        create: Any = client.chat.completions.create
        server.script(Reply(status=500))
        with pytest.raises(openai.InternalServerError):
            create(**CHAT, stream=True)
        clock.now += 10
        stream = create(**CHAT, stream=True)
        next(iter(stream))
        assert is_refused(lambda: create(**CHAT))
        stream.close()
        stream = create(**CHAT, stream=True)  # leaving it said nothing, and made room for another
        next(iter(stream))
        del stream
        gc.collect()
        assert reaper.drain(60.0)
        [circuit] = breaker._circuits.values()
        assert circuit.is_open
        for _ in create(**CHAT, stream=True):
            assert circuit.is_open
        assert not circuit.is_open


def test_streams_are_not_held_back(clock: Clock) -> None:
    hold = threading.Event()
    with OpenAIServer() as server, sync_client(server.url) as client, recorder(breaking(clock)):
        server.script(Reply(gate=hold))
        stream = iter(client.chat.completions.create(**CHAT, stream=True))
        assert next(stream)
        hold.set()
        list(stream)


def test_async_openai_and_langchain(clock: Clock) -> None:
    async def main(url: str) -> None:
        async with async_client(url, max_retries=0) as client:
            with pytest.raises(openai.InternalServerError):
                await client.chat.completions.create(**CHAT)

    breaker = breaking(clock)
    with OpenAIServer() as server, recorder(breaker):
        server.reply = Reply(status=500)
        asyncio.run(main(server.url))
        model = ChatOpenAI(model="gpt-4o-mini", api_key="x", base_url=server.url, max_retries=0)  # pyright: ignore[reportArgumentType]
        with pytest.raises(openai.InternalServerError):
            model.invoke("Say hello.")
        requests = len(server.requests)
        with pytest.raises(Reject):
            model.invoke("Say hello.")
        with pytest.raises(Reject):
            list(model.stream("Say hello."))
        assert len(server.requests) == requests == 2


def test_anthropic(clock: Clock) -> None:
    with AnthropicServer() as server, recorder(breaking(clock)), anthropic_client(server.url, max_retries=0) as client:
        server.reply = Reply(status=529)
        create: Any = client.messages.create
        for _ in range(2):
            with pytest.raises(APIStatusError):
                create(**MESSAGES)
        with pytest.raises(Reject):
            create(**MESSAGES)


def test_a_model_gets_the_refusal_of_a_tool(clock: Clock) -> None:
    @tool
    def lookup(query: str) -> str:
        """Look something up."""
        raise ConnectionError

    with recorder(breaking(clock)):
        for _ in range(2):
            with pytest.raises(ConnectionError):
                lookup.invoke({"query": "x"})
        call: Any = {"type": "tool_call", "id": "1", "name": "lookup", "args": {"query": "x"}}
        result = lookup.invoke(call)
        assert result.status == "error"
        assert "lookup keeps failing" in result.content


# --------------------------------------------------------------------------------------- under all conditions


def test_in_shadow_mode_it_only_says_what_it_would_do(clock: Clock) -> None:
    breaker = breaking(clock)
    breaker.mode = "shadow"
    hooks = Hooks(breaker)
    with recorder(hooks) as seen:
        for _ in range(3):
            fail()
            assert hooks.flush(60.0)
        assert [[one.decision for one in op.shadow_decisions] for op in seen.operations] == [[], [], ["reject"]]


def test_threads_let_one_probe_through(clock: Clock) -> None:
    ready = threading.Barrier(8)
    done = threading.Semaphore(0)

    def one(_: int) -> bool:
        ready.wait(60)
        try:
            with operation("tool.execute", "search"):
                for _ in range(7):  # until all others have been refused
                    assert done.acquire(timeout=60)
        except Reject:
            done.release()
            return False
        return True

    with recorder(breaking(clock, 1, open_for=10)), ThreadPoolExecutor(8) as pool:
        fail()
        clock.now += 10
        assert sorted(pool.map(one, range(8))) == [False] * 7 + [True]
        assert not is_refused()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # threads of other tests
def test_a_forked_child_goes_on(clock: Clock) -> None:
    breaker = breaking(clock, 1)
    with recorder(breaker):
        fail()
        with breaker._lock:  # as another thread may
            child = os.fork()
            if not child:
                os._exit(0 if is_refused() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_its_own_failure_stops_nothing(clock: Clock) -> None:
    def broken() -> float:
        raise OSError

    breaker = breaking(clock)
    breaker._clock = broken
    with recorder(breaker) as seen:
        assert search() == "found"
    assert {one.decision for one in seen.operations[0].decisions} == {"error"}


def test_a_refusal_may_end_the_run(clock: Clock) -> None:
    @spanhook.agent("desk")
    def desk() -> str:
        with suppress(Reject):
            search()
        return "done"

    with recorder(breaking(clock, 1, scope="run", reason="The search is down", status_code=500)):
        fail()
        with pytest.raises(Reject, match="The search is down") as caught:
            desk()
        assert caught.value.status_code == 500


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"failures": None}, "it would never open; set failures or failure_rate"),
        ({"failures": 0}, "failures=0"),
        ({"failure_rate": 1.5}, "failure_rate=1.5"),
        ({"per": "tool"}, "per='tool'"),
        ({"open_for": 0}, "open_for=0"),
        ({"ignore": ["a.b"]}, "ignore.0='a.b'"),
        ({"status_codes": [200]}, "status_codes.0=200"),
        ({"open": 5}, "unknown setting open=5"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], said: str) -> None:
    assert find("circuit_breaker") is circuit_breaker.CircuitBreaker
    with pytest.raises(ConfigurationError) as caught:
        make(CircuitBreaker, settings)
    assert said in str(caught.value)
