"""Rate limits: what is counted, once each, in this process and in others."""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
import trio
from limits.strategies import MovingWindowRateLimiter

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, operation
from spanhook.gating import find, make
from spanhook.hooks.rate_limit import RateLimit
from spanhook.testing import recorder
from tests.forking import children
from tests.redis_server import running_redis


@spanhook.tool
def search(query: str) -> str:
    return f"found {query}"


@spanhook.tool
async def asearch(query: str) -> str:
    return f"found {query}"


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest) -> str:
    return "memory://" if request.param == "memory" else request.getfixturevalue("redis_url")


def limiting(limit: str, *args: Any, **settings: Any) -> RateLimit:
    """A limit without a timeout: the tests' clock goes on with every thread."""
    made = RateLimit(limit, *args, **settings)
    made.timeout = None
    return made


def passed(calls: int) -> int:
    """How many of so many calls pass."""
    count = 0
    for number in range(calls):
        with suppress(Reject):
            search(str(number))
            count += 1
    return count


@pytest.mark.parametrize("strategy", ["moving_window", "sliding_window", "fixed_window"])
def test_calls_beyond_the_rate_are_refused(strategy: Any, store: str) -> None:
    with recorder(limiting("3/hour", strategy=strategy, store=store)) as seen:
        assert passed(3) == 3
        with pytest.raises(Reject, match=r"at most 3 per 1 hour; try again in \d+ s") as caught:
            search("x")
        with pytest.raises(Reject):
            asyncio.run(asearch("x"))
        with pytest.raises(Reject):
            trio.run(asearch, "x")
    assert caught.value.status_code == 429
    assert caught.value.retry_after is not None
    assert 0 < caught.value.retry_after <= 3600
    assert [op.status for op in seen.operations] == ["success"] * 3 + ["rejected"] * 3


def test_every_rate_holds_and_refused_calls_count_against_none(store: str) -> None:
    limit = limiting("2/minute; 5/hour", store=store)
    with recorder(limit):
        assert passed(5) == 2
        [minute, hour] = limit._items
        names = ("rate_limit", "enforce", "")
        assert limit._counter._limiter.get_window_stats(hour, *names).remaining == 3
        assert str(minute) == "2 per 1 minute"


@pytest.mark.parametrize(("per", "identity"), [("session", "session_id"), ("user", "user_id"), ("tenant", "tenant_id")])
def test_each_has_a_rate_of_its_own(per: Any, identity: str, store: str) -> None:
    with recorder(limiting("2/hour", per, store=store)):
        for value in ("a", "b", "a/b", "a%2Fb"):
            with spanhook.context(**{identity: value}):  # pyright: ignore[reportArgumentType]
                assert passed(3) == 2
        if per != "tenant":
            with spanhook.context(**{identity: "a", "tenant_id": "other"}):  # pyright: ignore[reportArgumentType]
                assert passed(3) == 2


@pytest.mark.parametrize("per", [[], ["user"], ["tenant"], ["run", "tool"]])
def test_a_limit_of_a_tenant_has_nothing_in_common_with_one_for_all_of_the_same_name(per: Any, redis_url: str) -> None:
    ours, theirs = (limiting("2/hour", per, store=redis_url) for _ in range(2))
    theirs.tenant_id = "acme"
    with recorder(Hooks(ours, theirs)), spanhook.context(tenant_id="acme", user_id="u"):

        @spanhook.agent("desk")
        def desk() -> int:
            return passed(3)

        assert desk() == 2


def test_runs_agents_tools_and_models_have_rates_of_their_own(store: str) -> None:
    @spanhook.tool
    def other() -> None: ...

    @spanhook.agent("desk")
    def desk() -> int:
        return passed(3)

    with recorder(limiting("2/hour", ["run", "tool"], store=store)):
        assert [desk(), desk()] == [2, 2]
    with recorder(limiting("2/hour", ["agent"], store=store, reason="slowly")):
        assert [desk(), desk(), passed(3)] == [2, 0, 2]
    with recorder(limiting("1/hour", "model", store=store)):
        for model in ("a", "b"):
            with operation("llm.call", model):
                pass
            with pytest.raises(Reject), operation("llm.call", model):
                raise AssertionError
    limit = limiting("1/hour", "tool", store=store)
    limit.name = "tools"
    with recorder(limit):
        assert passed(2) == 1
        other()


def test_whose_rate_it_is_may_have_to_be_known(store: str) -> None:
    with recorder(limiting("5/hour", "user", missing="refuse", store=store)):
        with pytest.raises(Reject, match="is per user, and the user is unknown"):
            search("x")
        with spanhook.context(user_id="u"):
            search("x")


def test_a_call_is_counted_once_however_often_it_is_rewritten(store: str) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", priority=90)
    def rewrite(op: Operation) -> None:
        op.replace(arguments={"query": "y"})

    with recorder([limiting("2/hour", store=store), hooks]):
        assert search("x") == "found y"
        assert passed(3) == 1


def test_in_shadow_mode_it_counts_apart(store: str) -> None:
    limit, shadow = limiting("2/hour", store=store), limiting("1/hour", store=store)
    shadow.mode = "shadow"
    hooks = Hooks(limit, shadow)
    with recorder(hooks) as seen:
        assert passed(3) == 2
        assert hooks.flush(60.0)
        assert [[one.decision for one in op.shadow_decisions] for op in seen.operations] == [[], ["reject"], ["reject"]]


def test_threads_never_exceed_the_rate(store: str) -> None:
    with recorder(limiting("50/hour", store=store)), ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(passed, [20] * 8)) == 50


CHILD = """
import sys
from contextlib import suppress
import spanhook
from spanhook import Reject
from spanhook.hooks.rate_limit import RateLimit

@spanhook.tool
def search(): ...

limit = RateLimit("100/hour", store=sys.argv[1])
limit.timeout = None
spanhook.instrument(limit, only=[])
count = 0
for _ in range(60):
    with suppress(Reject):
        search()
        count += 1
print(count)
"""


@pytest.mark.slow
def test_processes_never_exceed_the_rate(redis_url: str) -> None:
    started = [children.Piped("-c", CHILD, redis_url) for _ in range(4)]
    assert sum(int(child.communicate()) for child in started) == 100


def test_a_store_that_is_away_refuses_calls_and_comes_back() -> None:
    with running_redis() as server, recorder(limiting("100/hour", store=server.url)):
        search("x")
        server.stop()
        for attempt in (lambda: search("x"), lambda: asyncio.run(asearch("x"))):
            with pytest.raises(Reject, match="cannot be checked now") as caught:
                attempt()
            assert caught.value.status_code == 503
        server.start()
        search("x")


def test_no_threads_are_started_for_memory() -> None:
    with recorder(limiting("2/hour")):
        search("x")
        before = set(threading.enumerate())
        passed(5)
        assert set(threading.enumerate()) <= before  # those of other tests may end meanwhile


def test_memory_forgets_what_has_expired(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanhook.hooks.rate_limit._SWEEP_EVERY", 10)
    limit = limiting("1/hour", "user")
    with recorder(limit):
        for number in range(50):
            with spanhook.context(user_id=str(number)):
                search("x")
        assert isinstance(limit._counter._limiter, MovingWindowRateLimiter)
        storage: Any = limit._counter._storage
        assert len(storage.events) == 50
        for key in storage.events:
            storage.events[key][0].expiry -= 3610
        passed(10)
        assert len(storage.events) <= 11


def test_memory_keeps_no_more_calls_than_the_rate_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1e9
    monkeypatch.setattr("limits.storage.memory.time.time", lambda: now)
    limit = limiting("10/second")
    with recorder(limit):
        for _ in range(200):
            now += 0.11
            assert passed(1) == 1
    storage: Any = limit._counter._storage
    assert [len(events) for events in storage.events.values()] == [10]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # threads of other tests
def test_a_forked_child_goes_on() -> None:
    limit = limiting("2/hour")
    with recorder(limit):
        assert passed(1) == 1
        with limit._counter._lock:  # as another thread may
            child = os.fork()
            if not child:
                os._exit(passed(3))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert passed(3) == 1


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "limit is missing"),
        ({"limit": "often"}, "limit='often': expected a rate above 0 such as 10/minute"),
        ({"limit": "0/minute"}, "expected a rate above 0"),
        ({"limit": "1/minute", "per": "team"}, "per.0='team'"),
        ({"limit": "1/minute", "store": "sqlite:///a.db"}, "rate_limit cannot count in sqlite://"),
        ({"limit": "1/minute", "store": "ftp://a"}, "a store cannot be opened"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(find("rate_limit"), settings)
    assert said in str(caught.value)
