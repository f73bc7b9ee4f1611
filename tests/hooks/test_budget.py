"""Budgets: what is reserved, settled and given back, whatever becomes of the call."""

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import trio
import trio.lowlevel
from langchain_openai import ChatOpenAI

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, Settings, operation
from spanhook.cli.conformance.libraries.anthropic_ways import MESSAGES
from spanhook.cli.conformance.libraries.anthropic_ways import sync_client as anthropic_client
from spanhook.cli.conformance.libraries.openai_ways import CHAT, EMBEDDINGS, async_client, sync_client
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.gating import execution_log, find, make
from spanhook.hooks.budget import Budget
from spanhook.hooks.budget._estimate import _number
from spanhook.hooks.budget._windows import period_at
from spanhook.model import Identity
from spanhook.testing import reaper, recorder
from tests.forking import children
from tests.redis_server import running_redis

ACME = Identity("acme")
REQUEST = {"messages": [{"role": "user", "content": "x" * 30}]}
ESTIMATED = 10 + 4 + 1000
"""30 characters in tokens of three bytes, one message, and an answer."""


@pytest.fixture(params=["memory", "sqlite", pytest.param("redis", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return f"memory://{tmp_path}"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/budget.db"
    return request.getfixturevalue("redis_url")


def budget(store: str, tokens: int | None = 3_000, **settings: Any) -> Budget:
    """A budget of each tenant. The tests' clock goes on with every thread, so nothing times out."""
    made = Budget("tenant", tokens=tokens, store=store, **settings)
    made.timeout = None
    return made


def used(made: Budget, identity: Identity = ACME) -> tuple[int, int]:
    """Tokens that are spent and reserved."""
    standing = made.standing(identity)
    return standing.tokens, standing.reserved_tokens


def call(input_tokens: int = 100, output_tokens: int = 50, **request: Any) -> None:
    with operation("llm.call", "gpt-4o-mini", provider="openai", request={**REQUEST, **request}) as op:
        op.record_usage(input_tokens=input_tokens, output_tokens=output_tokens)


async def acall(input_tokens: int = 100, output_tokens: int = 50) -> None:
    async with operation("llm.call", "gpt-4o-mini", provider="openai", request=REQUEST) as op:
        await asyncio.sleep(0)
        op.record_usage(input_tokens=input_tokens, output_tokens=output_tokens)


@pytest.fixture(autouse=True)
def acme() -> Iterator[None]:
    with spanhook.context(tenant_id="acme"):
        yield


def test_what_is_estimated_is_reserved_and_what_was_used_is_settled(store: str) -> None:
    made = budget(store)
    with recorder(made):
        with operation("llm.call", "gpt-4o-mini", provider="openai", request=REQUEST) as op:
            assert used(made) == (0, ESTIMATED)
            op.record_usage(input_tokens=100, output_tokens=50)
        assert used(made) == (150, 0)
        asyncio.run(acall())
        assert used(made) == (300, 0)


def test_a_call_for_which_the_budget_does_not_suffice_is_refused(store: str) -> None:
    made = budget(store)
    with recorder(made) as seen:
        call(2_000, 0)
        with pytest.raises(Reject, match="does not suffice for this call: at most 3,000 tokens per tenant") as caught:
            call()
        with pytest.raises(Reject):
            asyncio.run(acall())
        with spanhook.context(tenant_id="other"):
            call()
    assert caught.value.status_code == 429
    assert [op.status for op in seen.operations] == ["success", "rejected", "rejected", "success"]
    assert used(made) == (2_000, 0)
    assert used(made, Identity("other")) == (150, 0)


@pytest.mark.parametrize("reason", ["", "Ask again tomorrow"])
def test_a_refusal_has_its_figures_where_operators_look(tmp_path: Path, reason: str) -> None:
    """And the caller the limit alone, and when the budget starts anew."""
    noon = datetime(2026, 11, 28, 12, tzinfo=UTC).timestamp()
    made = Budget(
        *("tenant", "day"),
        tokens=3_000,
        usd=0.01,
        time_zone="Europe/Berlin",
        reason=reason,
        store=f"memory://{tmp_path}",
        clock=lambda: noon,
    )
    figures = {
        "spanhook.budget.spent.tokens": 1_500,
        "spanhook.budget.spent.usd": 0.00045,
        "spanhook.budget.reserved.tokens": ESTIMATED,
        "spanhook.budget.requested.tokens": ESTIMATED,
        "spanhook.budget.limit.tokens": 3_000,
        "spanhook.budget.limit.usd": 0.01,
        "spanhook.budget.resets_at": "2026-11-28T23:00:00+00:00",
    }
    execution_log.clear()
    with recorder(made, settings=Settings(execution_log_enabled=True)) as seen:
        call(1_000, 500)
        with operation("llm.call", "gpt-4o-mini", provider="openai", request=REQUEST), pytest.raises(Reject) as caught:
            call()
        entries = [one for one in execution_log.entries() if one.aborted and one.event_type == "llm.call.pre"]
    refusal = caught.value
    expected = reason or (
        "Budget 'budget' does not suffice for this call: at most 3,000 tokens and $0.01 a day per tenant; "
        "it starts anew at 2026-11-29 00:00 CET"
    )
    assert (refusal.reason, refusal.retry_after) == (expected, 11 * 3600)
    (record,) = next(op for op in seen.operations if op.status == "rejected").decisions
    known = {
        name: value for name, value in record.facts.items() if not name.endswith(("reserved.usd", "requested.usd"))
    }
    assert known == figures
    assert record.facts["spanhook.budget.reserved.usd"] == record.facts["spanhook.budget.requested.usd"]
    assert [one.data for entry in entries for one in entry.hook_results] == [{"status_code": 429, **record.facts}]
    (of_span,) = next(events for span in seen.spans if (events := span.events))
    of_log = next(one["attributes"] for one in seen.events if one["name"] == "spanhook.decision")
    for attributes in (dict(of_span.attributes or {}), of_log):
        assert record.facts.items() <= attributes.items()


def test_a_call_that_fails_or_is_not_made_gives_everything_back(store: str) -> None:
    made, hooks = budget(store), Hooks()

    @hooks.before("llm.call", names={"refused"}, priority=99)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    @hooks.before("llm.call", names={"answered"}, priority=99)
    def answer(op: Operation) -> None:
        op.respond("from a cache")

    @hooks.before("llm.call", names={"broken"}, priority=99)
    def fail(op: Operation) -> None:
        raise OSError("gone")

    with recorder([made, hooks]):
        with pytest.raises(KeyError), operation("llm.call", "failing", request=REQUEST):
            raise KeyError
        for name in ("refused", "broken"):
            with pytest.raises(Reject), operation("llm.call", name, request=REQUEST):
                raise AssertionError(name)

        @spanhook.operation("llm.call", "answered")
        def model() -> str:
            raise AssertionError("it was called")

        assert model() == "from a cache"
        assert used(made) == (0, 0)


def test_calls_at_the_same_time_cannot_spend_the_same_budget(store: str) -> None:
    made = budget(store)

    async def main() -> list[Any]:
        return await asyncio.gather(*(acall() for _ in range(10)), return_exceptions=True)

    with recorder(made):
        said = asyncio.run(main())
        assert sum(isinstance(one, Reject) for one in said) in range(1, 9)
        assert used(made) == (150 * sum(one is None for one in said), 0)

        def one(_: int) -> bool:
            try:
                call()
            except Reject:
                return False
            return True

        before = used(made)[0]
        with ThreadPoolExecutor(8) as pool:
            made_ones = sum(pool.map(lambda number: in_acme(one, number), range(16)))
        assert used(made) == (before + 150 * made_ones, 0)
        assert used(made)[0] <= 3_000


def in_acme(function: Callable[[int], bool], number: int) -> bool:
    with spanhook.context(tenant_id="acme"):
        return function(number)


def test_money_is_counted_at_the_price_of_the_model(store: str) -> None:
    made = budget(store, None, usd=0.001, output_tokens=100)
    with recorder(made):
        call(1_000, 100)
        standing = made.standing(ACME)
        assert standing.usd == pytest.approx(0.00021)
        assert standing.reserved_usd == 0
        with pytest.raises(Reject, match=r"at most \$0.001 per tenant"):
            call(output_tokens=1, messages=[{"role": "user", "content": "x" * 20_000}])


@pytest.mark.parametrize(
    ("unpriced", "tokens", "counted"), [("refuse", None, None), ("count", 5_000, 150), ("allow", None, 150)]
)
def test_models_without_a_price(unpriced: Any, tokens: int | None, counted: int | None, store: str) -> None:
    made = budget(store, tokens, usd=1, unpriced=unpriced)
    with recorder(made):
        if counted is None:
            with (
                pytest.raises(Reject, match="The price of 'a-model-of-ones-own' is unknown"),
                operation("llm.call", "a-model-of-ones-own", request=REQUEST),
            ):
                raise AssertionError
            return
        with operation("llm.call", "a-model-of-ones-own", request=REQUEST) as op:
            op.record_usage(input_tokens=100, output_tokens=50)
        standing = made.standing(ACME)
    assert (standing.tokens, standing.usd) == (counted, 0)


def test_a_rewrite_changes_the_reservation_and_adds_none(store: str) -> None:
    made, hooks = budget(store), Hooks()
    seen: list[tuple[int, int]] = []

    @hooks.before("llm.call", priority=99)
    def lengthen(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "y" * 300}]}])

    @hooks.before("llm.call", priority=100, fail_mode="closed")
    def look(op: Operation) -> None:
        seen.append(used(made))

    with recorder([made, hooks]):
        call()
    assert seen == [(0, ESTIMATED + 90)]
    assert used(made) == (150, 0)


def test_a_rewrite_for_which_the_budget_does_not_suffice_is_refused(store: str) -> None:
    made, hooks = budget(store), Hooks()

    @hooks.before("llm.call", priority=99)
    def lengthen(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "y" * 30_000}]}])

    with recorder([made, hooks]), pytest.raises(Reject, match="does not suffice"):
        call()
    assert used(made) == (0, 0)


def test_openai_chats_streams_and_embeddings(store: str) -> None:
    made = budget(store)
    with OpenAIServer() as server, recorder(made), sync_client(server.url) as client:
        server.script(*[Reply(tokens=Tokens(input=20, output=8))] * 4)
        client.chat.completions.create(**CHAT)
        assert used(made) == (28, 0)
        for _ in client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True}):
            assert used(made)[1] > 1_000
        assert used(made) == (56, 0)
        with pytest.raises(Reject):
            client.chat.completions.create(**CHAT, max_tokens=3_000)
        requests = len(server.requests)
        client.chat.completions.create(**CHAT, max_tokens=2_800)
        assert len(server.requests) == requests + 1
        client.embeddings.create(**EMBEDDINGS)
        assert used(made)[1] == 0


def test_a_stream_that_is_left_or_dropped_is_settled(store: str) -> None:
    made = budget(store)
    with OpenAIServer() as server, recorder(made), sync_client(server.url) as client:
        stream = client.chat.completions.create(**CHAT, stream=True)
        next(iter(stream))
        stream.close()
        spent, held = used(made)
        assert held == 0
        assert spent > 0
        stream = client.chat.completions.create(**CHAT, stream=True)
        next(iter(stream))
        del stream
        gc.collect()
        assert reaper.drain(60.0)
        assert used(made)[1] == 0


def test_async_openai(store: str) -> None:
    made = budget(store)

    async def main(url: str) -> None:
        async with async_client(url) as client:
            await client.chat.completions.create(**CHAT)
            async for _ in await client.chat.completions.create(**CHAT, stream=True):
                pass
            task = asyncio.ensure_future(client.chat.completions.create(**CHAT))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    with OpenAIServer() as server, recorder(made):
        asyncio.run(main(server.url))
        assert used(made)[1] == 0
        assert used(made)[0] >= 28


def test_anthropic(store: str) -> None:
    made, request = budget(store), {**MESSAGES, "max_tokens": 100}
    with AnthropicServer() as server, recorder(made), anthropic_client(server.url) as client:
        create: Any = client.messages.create
        create(**request)
        spent, held = used(made)
        assert (spent > 0, held) == (True, 0)
        with pytest.raises(Reject):
            create(**{**request, "max_tokens": 4_000})


def test_a_stream_of_anthropic_that_is_left_counts_what_was_reserved(store: str) -> None:
    """Its first event says how much input there was; how much output, only the last one."""
    made = budget(store, 10_000)
    request = {**MESSAGES, "max_tokens": 2_000}
    with AnthropicServer() as server, recorder(made), anthropic_client(server.url) as client:
        create: Any = client.messages.create
        with create(**request, stream=True) as stream:
            next(iter(stream))
        spent, held = used(made)
        assert (spent >= 2_000, held) == (True, 0)


@pytest.mark.parametrize("reported", [float("nan"), -5_000, 10**20, "many"])
def test_a_report_that_cannot_be_true_is_no_discount(reported: Any, store: str) -> None:
    made = budget(store)
    with recorder(made):
        call(input_tokens=reported)
        assert used(made) == (ESTIMATED, 0)


def test_langchain_over_openai_is_counted_once(store: str) -> None:
    made = budget(store)
    with OpenAIServer() as server, recorder(made):
        model = ChatOpenAI(model="gpt-4o-mini", api_key="x", base_url=server.url, max_retries=0)  # pyright: ignore[reportArgumentType]
        model.invoke("Say hello.")
        assert used(made) == (28, 0)
        list(model.stream("Say hello.", stream_usage=True))
        assert used(made) == (56, 0)


def test_under_trio(store: str) -> None:
    made = budget(store)

    async def main() -> None:
        async with operation("llm.call", "gpt-4o-mini", request=REQUEST) as op:
            await trio.lowlevel.checkpoint()
            op.record_usage(input_tokens=100, output_tokens=50)

    with recorder(made):
        trio.run(main)
        assert used(made) == (150, 0)


def test_an_interrupted_call_holds_nothing_back(store: str) -> None:
    made = budget(store)
    with recorder(made):
        with pytest.raises(KeyboardInterrupt), operation("llm.call", "m", request=REQUEST):
            raise KeyboardInterrupt
        assert used(made) == (ESTIMATED, 0)


def test_without_a_report_of_usage_the_estimate_is_counted(store: str) -> None:
    made = budget(store)
    with recorder(made):
        with operation("llm.call", "m", request=REQUEST):
            pass
        assert used(made) == (ESTIMATED, 0)


def test_in_shadow_mode_another_account_is_used(store: str) -> None:
    made = budget(store, 100)
    made.mode = "shadow"
    hooks = Hooks(made)
    with recorder(hooks) as seen:
        call()
        assert hooks.flush(60.0)
        [op] = seen.operations
        assert [(one.decision, one.mode) for one in op.shadow_decisions] == [("reject", "shadow")]
    assert used(made) == (0, 0)


def test_a_store_that_is_away_refuses_calls_and_comes_back() -> None:
    with running_redis() as server:
        made = budget(server.url)
        with recorder(made) as seen:
            with operation("llm.call", "m", request=REQUEST) as op:
                server.stop()
                op.record_usage(input_tokens=100, output_tokens=50)
            assert unsettled(seen) == [1]
            for attempt in (call, lambda: asyncio.run(acall())):
                with pytest.raises(Reject, match="Budget 'budget' cannot be checked now") as caught:
                    attempt()
                assert caught.value.status_code == 503
            server.start()
            while made._book.waiting:
                threading.Event().wait(0.05)
            assert unsettled(seen) == [0]  # although there was no call since
            call()
            assert used(made) == (300, 0)


def unsettled(seen: Any) -> list[float]:
    return [count for _, count in seen.metrics()["spanhook.budget.unsettled"]]


def test_an_open_budget_lets_calls_pass_while_the_store_is_away() -> None:
    made = budget("redis://127.0.0.1:1/0")
    made.fail_mode = "open"
    with recorder(made) as seen:
        call()
    assert [one.decision for one in seen.operations[0].decisions] == ["error"]


@pytest.mark.parametrize(
    ("per", "identity"),
    [
        ("run", {"run_id": "1"}),
        ("session", {"session_id": "s"}),
        ("user", {"user_id": "u"}),
        ("tenant", {"tenant_id": "t"}),
    ],
)
def test_each_has_a_budget_of_its_own(per: Any, identity: dict[str, str], tmp_path: Path) -> None:
    made = Budget(per, tokens=1_500, store=f"memory://{tmp_path}")
    given = {name: value for name, value in identity.items() if name != "run_id"}
    with recorder(made) as seen:
        for _ in range(2):
            with spanhook.context(**given), suppress(Reject):  # pyright: ignore[reportArgumentType]
                call(700)
        with spanhook.context(**{**given, "tenant_id": "another"}):  # pyright: ignore[reportArgumentType]
            call(700)
    statuses = [op.status for op in seen.operations]
    assert statuses == ["success", "success" if per == "run" else "rejected", "success"]


@pytest.mark.parametrize("per", ["run", "session", "user", "tenant", "all"])
def test_a_budget_of_a_tenant_has_nothing_in_common_with_one_for_all_of_the_same_name(per: Any, tmp_path: Path) -> None:
    store = f"memory://{tmp_path}"
    ours, theirs = Budget(per, tokens=1_500, store=store), Budget(per, tokens=1_500, store=store)
    theirs.tenant_id = "acme"
    with recorder(Hooks(ours, theirs)) as seen, spanhook.context(user_id="u", session_id="s"):
        call()
    assert [op.status for op in seen.operations] == ["success"]


def test_whose_budget_it_is_may_have_to_be_known(tmp_path: Path) -> None:
    made = Budget("user", tokens=5_000, missing="refuse", store=f"memory://{tmp_path}")
    with recorder(made):
        with pytest.raises(Reject, match="is per user, and the user is unknown"):
            call()
        with spanhook.context(user_id="u"):
            call()


def test_what_a_run_may_use_includes_all_its_calls(tmp_path: Path) -> None:
    made = Budget(tokens=2_500, scope="run", store=f"memory://{tmp_path}")

    @spanhook.agent("desk")
    def desk() -> None:
        for _ in range(5):
            with suppress(Reject):
                call(500, 0)

    with recorder(made) as seen, pytest.raises(Reject):
        desk()
    assert [op.status for op in seen.operations[:-1]] == ["success", "success", "success", "rejected"]


def test_figures_are_measured(tmp_path: Path) -> None:
    made = budget(f"memory://{tmp_path}", 1_500, usd=1)
    with recorder(made) as seen:
        call(300, 75)
        found = seen.metrics()
    assert found["spanhook.budget.tokens"] == [({"spanhook.hook": "budget"}, 375)]
    [(_, cost)] = found["spanhook.budget.cost"]
    assert cost == pytest.approx(0.00009)
    shares = {told["spanhook.budget.unit"]: share for told, share in found["spanhook.budget.utilization"]}
    assert shares == {"token": 0.25, "usd": pytest.approx(0.00009)}
    assert found["spanhook.budget.unsettled"] == [({"spanhook.hook": "budget"}, 0)]


def shares(seen: Any) -> list[float]:
    return [share for _, share in seen.metrics()["spanhook.budget.utilization"]]


def test_the_share_in_use_is_known_before_a_first_call_and_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/budget.db"
    with recorder(budget(store)) as seen:
        with operation("llm.call", "gpt-4o-mini", provider="openai", request=REQUEST) as op:
            assert shares(seen) == [0]
            op.record_usage(input_tokens=2_400, output_tokens=0)
        assert shares(seen) == [0.8]
    with recorder(budget(store)) as seen, suppress(Reject):
        call()
    assert shares(seen) == [0.8]


def test_a_period_that_is_over_has_no_share_in_use(tmp_path: Path) -> None:
    now = [1_000_000.0]
    made = Budget("tenant", "hour", tokens=3_000, store=f"memory://{tmp_path}", clock=lambda: now[0])
    with recorder(made) as seen:
        call(1_500, 0)
        assert shares(seen) == [0.5]
        now[0] += 3_600
        assert shares(seen) == [0]
        call(300, 0)
        assert shares(seen) == [0.1]


def test_a_budget_in_shadow_mode_has_no_share_in_use(tmp_path: Path) -> None:
    made = budget(f"memory://{tmp_path}")
    made.mode = "shadow"
    with recorder(made) as seen:
        call(300, 0)
        assert "spanhook.budget.utilization" not in seen.metrics()


MAKING = """
import sys, time, spanhook
from spanhook import Hooks
from spanhook.hooks.budget import Budget

spanhook.instrument(Hooks(Budget("tenant", tokens=3_000, lease=1, expired=sys.argv[2], store=sys.argv[1])))
with spanhook.context(tenant_id="acme"):
    with spanhook.operation("llm.call", "m", request={"messages": [{"role": "user", "content": "x" * 30}]}) as op:
        print("made", flush=True)
        sys.stdin.readline()
        op.record_usage(input_tokens=100, output_tokens=50)
print("settled", flush=True)
sys.stdin.readline()
"""


def in_another_process(store: str, expired: str = "count") -> children.Piped:
    """A process with a call under way, which ends when it reads a line."""
    child = children.Piped("-c", MAKING, store, expired)
    assert child.stdout.readline() == "made\n"
    return child


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_a_call_of_a_process_that_is_killed_is_free_in_a_file(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/budget.db"
    made = budget(store)
    with recorder(made) as seen, in_another_process(store) as child:
        assert used(made) == (0, ESTIMATED)
        child.send_signal(signal.SIGSTOP)
        time.sleep(1.5)  # longer than its lease
        assert used(made) == (0, ESTIMATED)
        child.kill()
        child.wait()
        call(300, 0)
        assert used(made) == (300, 0)
        assert [value for _, value in seen.metrics()["spanhook.budget.expired"]] == [1]


@pytest.mark.parametrize("expired", ["count", "free"])
def test_a_call_of_a_process_that_is_killed_counts_on_redis_unless_it_is_to_be_free(
    redis_url: str, expired: Any
) -> None:
    made = budget(redis_url, expired=expired)
    with recorder(made) as seen, in_another_process(redis_url, expired) as child:
        child.kill()
        child.wait()
        until(lambda: used(made) == (ESTIMATED if expired == "count" else 0, 0))
        assert [value for _, value in seen.metrics()["spanhook.budget.expired"]] == [1]


def test_a_process_that_was_stopped_beyond_its_lease_does_not_exceed_the_budget(redis_url: str) -> None:
    made = budget(redis_url, 1_500)
    with recorder(made), in_another_process(redis_url) as child:
        child.send_signal(signal.SIGSTOP)
        until(lambda: used(made) == (ESTIMATED, 0))
        with pytest.raises(Reject):
            call()
        child.send_signal(signal.SIGCONT)
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "settled\n"
        assert used(made) == (150, 0)
        call()
        assert used(made) == (300, 0)


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("window", "at", "name", "hours"),
    [
        ("hour", datetime(2026, 3, 29, 0, 30, tzinfo=ZoneInfo("UTC")), "2026-03-29T00Z", 1),
        ("day", datetime(2026, 3, 29, 12, 0, tzinfo=BERLIN), "2026-03-29", 23),
        ("day", datetime(2026, 10, 25, 12, 0, tzinfo=BERLIN), "2026-10-25", 25),
        ("day", datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1), "2026-10-25", 25),
        ("day", datetime(2026, 12, 31, 23, 59, 59, tzinfo=BERLIN), "2026-12-31", 24),
        ("month", datetime(2026, 12, 31, 23, 59, 59, tzinfo=BERLIN), "2026-12", 24 * 31),
        ("month", datetime(2026, 3, 1, 0, 0, tzinfo=BERLIN), "2026-03", 24 * 31 - 1),
    ],
)
def test_periods_are_those_of_the_calendar(window: Any, at: datetime, name: str, hours: int) -> None:
    period = period_at(window, BERLIN, at.timestamp())
    assert period.name == name
    assert period.ends is not None
    begins = period.ends - hours * 3600
    assert begins <= at.timestamp() < period.ends
    assert period_at(window, BERLIN, begins) == period
    assert period_at(window, BERLIN, begins - 1) != period
    assert period_at(window, BERLIN, period.ends) != period


def test_a_new_period_is_a_new_budget(tmp_path: Path) -> None:
    last_minute = datetime.now(BERLIN).replace(hour=23, minute=59) + timedelta(days=1)  # what is past is forgotten
    now = [last_minute.timestamp()]
    made = Budget(
        "all", "day", tokens=1_500, time_zone="Europe/Berlin", store=f"memory://{tmp_path}", clock=lambda: now[0]
    )
    with recorder(made):
        call(1_400)
        with pytest.raises(Reject, match="at most 1,500 tokens a day"):
            call()
        now[0] += 60
        call()
        assert made.standing().tokens == 150
        now[0] -= 60
        with pytest.raises(Reject):
            call()


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "it has no limit; set tokens or usd"),
        ({"tokens": 0}, "tokens=0: "),
        ({"usd": -1}, "usd=-1: "),
        ({"tokens": 5, "per": "team"}, "per='team'"),
        ({"usd": 5, "unpriced": "count"}, "unpriced: count needs tokens"),
        ({"usd": 5, "per": "run", "window": "day"}, "remove window: day"),
        ({"usd": 5, "per": "user", "window": "day", "time_zone": "Mars"}, "'Mars' is not a known time zone"),
        ({"tokens": 5, "store": "ftp://x"}, "a store cannot be opened"),
        ({"tokens": 5, "store": "postgresql://x/y"}, "budgets cannot be kept in PostgreSQL; write sqlite:///FILE"),
        ({"tokens": 5, "limit": 5}, "unknown setting limit=5"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(find("budget"), settings)
    assert said in str(caught.value)


def test_a_forked_child_has_the_budget_that_is_left(store: str) -> None:
    made = budget(store)
    with recorder(made):
        call(1_000, 0)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                call(900, 0)
                try:
                    call(300, 0)
                    call(0, 0)
                    code = 2
                except Reject:
                    code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert used(made)[0] == (1_000 if store.startswith("memory") else 2_200)


@pytest.mark.parametrize(
    ("given", "reserved"),
    [
        (2_000, 2_000),
        (2_000.0, 2_000),
        ("2000", 2_000),
        (10**20, 10**9),
        (True, 1_000),
        (-5, 1_000),
        (float("nan"), 1_000),
    ],
)
def test_any_limit_that_a_server_may_take_is_reserved(given: Any, reserved: int) -> None:
    assert _number(given, 1_000) == reserved


def test_a_tenant_may_be_called_shadow(tmp_path: Path) -> None:
    made = budget(f"memory://{tmp_path}", 1_500)
    with recorder(made) as seen, spanhook.context(tenant_id="shadow"):
        call(300, 75)
        [(_, share)] = seen.metrics()["spanhook.budget.utilization"]
    assert share == 0.25
