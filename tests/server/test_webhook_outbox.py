import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text

from spanhook.diagnostics import internal
from spanhook.server import LOCAL
from spanhook.server.sealing import Seal
from spanhook.server.stored_webhooks import Delivery, Webhook
from spanhook.server.webhook_outbox import PING, ServerOutbox, chooses, publish
from spanhook.server.webhook_store import WebhookStore
from spanhook.store import Due, Outcome
from spanhook.store.control import Database, tables
from spanhook.webhooks import Deliverer, Destinations, Schedule, Sender
from tests.webhooks.receiver import Receiver, receiving
from tests.webhooks.test_deliverer import sender, ticking

pytestmark = pytest.mark.anyio

SEAL = Seal(b"k" * 32)
SECOND = 1_000_000_000
SOON = Schedule(attempts=4, first=0.001, longest=0.001)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def endpoint(database: Database, url: str, **fields: Any) -> tuple[Webhook, str]:
    given = {"url": url, "events": ["*"], "enabled": True, "ordered": False, **fields}
    return await WebhookStore(database, SEAL).create(LOCAL, "acme", given)


async def told(database: Database, event_type: str = "job.completed", tenant: str = "acme", **data: Any) -> str:
    async with database.writing() as connection:
        return await connection.run_sync(publish, tenant, event_type, data)


async def deliveries(database: Database, hook: Webhook, state: Any = None) -> list[Delivery]:
    found, _ = await WebhookStore(database, SEAL).deliveries(LOCAL, hook.webhook_id, state=state)
    return found


def deliverer(database: Database, schedule: Schedule = SOON, **settings: Any) -> Deliverer:
    sending = Sender(Destinations(["127.0.0.1/32"], plain_http=True), timeout=30)
    return Deliverer(ServerOutbox(database, SEAL, **settings), sending, schedule, look_every=0.02)


async def until_done(database: Database, *hooks: Webhook, **settings: Any) -> None:
    """Deliver until nothing is pending."""
    running = deliverer(database, **settings)
    task = asyncio.create_task(running.run())
    try:
        async with asyncio.timeout(60):
            for hook in hooks:
                while await deliveries(database, hook, "pending"):  # noqa: ASYNC110 # nothing tells of it
                    await asyncio.sleep(0.01)
    finally:
        running.stop()
        await task


def later(elapsed: Callable[[], int]) -> Callable[[], int]:
    """A clock that goes on from now as another one does."""
    begun = time.time_ns()
    return lambda: begun + elapsed()


def test_what_an_endpoint_chooses() -> None:
    assert chooses(["job.*"], "job.completed")
    assert chooses(["*"], "x")
    assert chooses(["a", "job.completed"], "job.completed")
    assert not chooses(["job.*", "job"], "jobs.completed")
    assert not chooses([], "x")


async def test_an_event_reaches_those_who_have_chosen_it(database: Database) -> None:
    with receiving() as one, receiving() as two:
        first, one.secret = await endpoint(database, one.url, events=["job.*"])
        second, two.secret = await endpoint(database, two.url, events=["approval.*"])
        event_id = await told(database, cost=3)
        assert not await told(database, "tool.execute.post")
        assert not await told(database, tenant="globex")
        await until_done(database, first, second)
        assert [event["data"] for event in one.events] == [{"cost": 3}]
        assert (one.events[0]["id"], one.events[0]["type"], one.events[0]["tenantid"]) == (
            event_id,
            "spanhook.job.completed",
            "acme",
        )
        assert one.requests[0]["webhook-id"] == event_id
        assert one.requests[0]["content-type"] == "application/cloudevents+json; charset=utf-8"
        assert not two.requests
    (delivery,) = await deliveries(database, first)
    assert (delivery.state, delivery.attempts, delivery.tried[0]["status"]) == ("delivered", 1, 204)


async def test_what_is_not_committed_is_not_delivered(database: Database) -> None:
    hook, _ = await endpoint(database, "https://hooks.example/")
    with pytest.raises(ZeroDivisionError):
        async with database.writing() as connection:
            await connection.run_sync(publish, "acme", "job.completed", {})
            raise ZeroDivisionError
    assert not await deliveries(database, hook)


async def test_an_event_that_is_too_large_goes_without_its_data(database: Database) -> None:
    hook, _ = await endpoint(database, "https://hooks.example/")
    await told(database, result="x" * 300_000)
    assert '"data":{"data_left_out":true}' in (await deliveries(database, hook))[0].body


async def test_failures_are_tried_again_and_end_among_the_dead(database: Database) -> None:
    with receiving(500, 302, 204, *[503] * 4) as receiver:
        hook, receiver.secret = await endpoint(database, receiver.url, ordered=True)
        good, bad = await told(database), await told(database)
        await until_done(database, hook)
        assert [event["id"] for event in receiver.events] == [good]
        assert [request["webhook-id"] for request in receiver.requests] == [good] * 3 + [bad] * 4
    dead, delivered = await deliveries(database, hook)
    assert (dead.state, dead.attempts, [one["status"] for one in dead.tried]) == ("dead", 4, [503] * 4)
    assert (delivered.state, [one["status"] for one in delivered.tried]) == ("delivered", [500, 302, 204])
    assert dead.tried[0]["error"] == "the response has the status 503"


async def test_events_arrive_in_order_if_asked(database: Database) -> None:
    with receiving(500, 204, 500, 500, 204) as receiver:
        hook, receiver.secret = await endpoint(database, receiver.url, ordered=True)
        ids = [await told(database, number=number) for number in range(10)]
        await until_done(database, hook)
        assert [event["id"] for event in receiver.events] == ids


async def test_410_disables(database: Database) -> None:
    with receiving(410) as receiver, receiving() as other:
        hook, receiver.secret = await endpoint(database, receiver.url, events=["job.*"])
        watcher, other.secret = await endpoint(database, other.url, events=["webhook.*"])
        await told(database)
        await until_done(database, hook, watcher)
        assert not await told(database)
        assert len(receiver.requests) == 1
        assert [(event["type"], event["data"]["reason"]) for event in other.events] == [
            ("spanhook.webhook.disabled", "it answered 410 (Gone)")
        ]
    found = await WebhookStore(database, SEAL).get(LOCAL, hook.webhook_id)
    assert (found.enabled, found.disabled_reason) == (False, "it answered 410 (Gone)")


async def test_others_are_told_no_more_of_a_disabled_url_than_its_host(database: Database) -> None:
    with receiving(410) as receiver, receiving() as other:
        url = f"{receiver.url}/T0000/a-secret-path?token=also-secret"
        hook, receiver.secret = await endpoint(database, url, events=["job.*"])
        watcher, other.secret = await endpoint(database, other.url, events=["webhook.*"])
        await told(database)
        await until_done(database, hook, watcher)
        expected = {"webhook_id": hook.webhook_id, "host": "127.0.0.1", "reason": "it answered 410 (Gone)"}
        assert [event["data"] for event in other.events] == [expected]


async def test_a_ping_waits_for_no_event_and_no_event_for_a_ping(database: Database) -> None:
    store, outbox = WebhookStore(database, SEAL), ServerOutbox(database, SEAL)
    hook, _ = await endpoint(database, "https://hooks.example/", ordered=True)

    async def claimed() -> list[Due]:
        now = time.time_ns() + SECOND
        return await asyncio.to_thread(outbox.claim, now, now + SECOND, 8)

    def later() -> Outcome:
        now = time.time_ns()
        return Outcome("pending", now + 3600 * SECOND, now, 1, 500)

    await told(database)
    (failing,) = await claimed()
    await asyncio.to_thread(outbox.settle, failing, later())
    assert not await claimed()
    await store.ping(LOCAL, hook.webhook_id)
    (ping,) = await claimed()
    assert ping.event_type == PING
    await asyncio.to_thread(outbox.settle, ping, later())

    await store.change(LOCAL, hook.webhook_id, {"enabled": False})
    await store.ping(LOCAL, hook.webhook_id)
    (ping,) = await claimed()
    assert ping.event_type == PING
    await asyncio.to_thread(outbox.settle, ping, later())

    other, _ = await endpoint(database, "https://hooks.example/", ordered=True)
    await store.ping(LOCAL, other.webhook_id)
    (ping,) = await claimed()
    await asyncio.to_thread(outbox.settle, ping, later())
    await told(database)
    assert [one.event_type for one in await claimed()] == ["job.completed"]


async def test_deliveries_go_on_when_the_database_allows_them_again(database: Database) -> None:
    async def rename(before: str, after: str) -> None:
        async with database.writing() as connection:
            await connection.execute(text(f"ALTER TABLE {before} RENAME TO {after}"))

    with receiving() as receiver:
        hook, receiver.secret = await endpoint(database, receiver.url)
        event_id = await told(database)
        running, name = deliverer(database), tables.webhook_deliveries.name
        await rename(name, "away")
        internal.fatal = False
        assert await running.deliver_due() == 0
        await rename("away", name)
        assert await running.deliver_due() == 1
        assert [event["id"] for event in receiver.events] == [event_id]
    assert [one.state for one in await deliveries(database, hook)] == ["delivered"]


async def test_failures_in_a_row_disable_and_what_waits_is_kept(database: Database) -> None:
    store = WebhookStore(database, SEAL)
    with receiving(500, 204, 500, 500, 500) as receiver:
        hook, receiver.secret = await endpoint(database, receiver.url, ordered=True)
        for _ in range(3):
            await told(database)
        failing = deliverer(database, most_failures=3, schedule=Schedule(9, 0.001, 0.001))
        running = asyncio.create_task(failing.run())
        async with asyncio.timeout(60):
            while (await store.get(LOCAL, hook.webhook_id)).enabled:  # noqa: ASYNC110 # nothing tells of it
                await asyncio.sleep(0.01)
        assert len(await deliveries(database, hook, "pending")) == 2
        await store.change(LOCAL, hook.webhook_id, {"enabled": True})
        failing.stop()
        await running
        await until_done(database, hook)
        assert len({event["id"] for event in receiver.events}) == 3


async def test_a_lease_that_ends_is_taken_by_another(database: Database) -> None:
    hook, _ = await endpoint(database, "https://hooks.example/")
    await told(database)
    outbox, now = ServerOutbox(database, SEAL), time.time_ns()
    (lost,) = await asyncio.to_thread(outbox.claim, now, now + SECOND, 8)
    assert not await asyncio.to_thread(outbox.claim, now, now + SECOND, 8)
    (taken,) = await asyncio.to_thread(outbox.claim, now + SECOND, now + 2 * SECOND, 8)
    assert (taken.delivery_id, taken.event_id) == (lost.delivery_id, lost.event_id)
    await asyncio.to_thread(outbox.settle, lost, Outcome("dead", 0, now, 1))  # too late: it is not its own any more
    assert [one.state for one in await deliveries(database, hook)] == ["pending"]
    await asyncio.to_thread(outbox.settle, taken, Outcome("delivered", 0, now, 1, 200))
    assert [one.state for one in await deliveries(database, hook)] == ["delivered"]


async def test_two_deliverers_share_an_outbox(database: Database) -> None:
    with receiving() as receiver:
        hook, receiver.secret = await endpoint(database, receiver.url)
        ids = [await told(database) for _ in range(40)]
        second = deliverer(database)
        other = asyncio.create_task(second.run())
        await until_done(database, hook)
        second.stop()
        await other
        assert sorted(event["id"] for event in receiver.events) == sorted(ids)


async def test_one_endpoint_has_a_few_requests_at_a_time(database: Database) -> None:
    slow, _ = await endpoint(database, "https://slow.example/")
    other, _ = await endpoint(database, "https://other.example/")
    for _ in range(20):
        await told(database)
    outbox, now = ServerOutbox(database, SEAL), time.time_ns()
    claimed = await asyncio.to_thread(outbox.claim, now, now + SECOND, 16)
    assert sorted(one.webhook_id for one in claimed) == sorted([slow.webhook_id, other.webhook_id] * 4)
    assert not await asyncio.to_thread(outbox.claim, now, now + SECOND, 16)


async def test_secrets_are_encrypted_and_both_sign_while_one_is_replaced(database: Database) -> None:
    store = WebhookStore(database, SEAL)
    with receiving() as receiver:
        hook, before = await endpoint(database, receiver.url)
        _, after = await store.rotate(LOCAL, hook.webhook_id, keep_s=3600)
        for secret in (before, after):
            receiver.secret = secret
            await told(database)
            await until_done(database, hook)
        await store.rotate(LOCAL, hook.webhook_id, keep_s=0)
        assert len(receiver.events) == 2
    async with database.reading() as connection:
        rows = (await connection.execute(select(tables.webhooks))).mappings().all()
        audit = (await connection.execute(select(tables.audit.c.entry))).scalars().all()
    kept: list[Mapping[Any, Any]] = [dict(row) for row in rows]
    for secret in (before, after):
        assert secret not in f"{kept}{audit}"
        assert not any(secret.encode() in value for row in kept for value in row.values() if isinstance(value, bytes))


async def test_nothing_is_sent_unsigned_and_all_is_held(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    with receiving() as receiver:
        hook, _ = await endpoint(database, receiver.url)
        ids = [await told(database) for _ in range(3)]
        key, clock = Seal(b"x" * 32), ticking()
        unable = Deliverer(ServerOutbox(database, key, most_failures=2), sender(), Schedule(1), clock=later(clock))
        with caplog.at_level("WARNING"):
            for _ in range(5):
                assert await unable.deliver_due() == 0
        assert not receiver.requests
        assert [record.args for record in caplog.records] == [(hook.webhook_id,)]
        assert [(one.state, one.attempts, one.tried) for one in await deliveries(database, hook)] == [
            ("pending", 0, ())
        ] * 3
        assert (await WebhookStore(database, SEAL).get(LOCAL, hook.webhook_id)).enabled
        await WebhookStore(database, key).rotate(LOCAL, hook.webhook_id, keep_s=3600)
        assert await Deliverer(ServerOutbox(database, key), sender(), clock=later(clock)).deliver_due() == 3
        assert sorted(request["webhook-id"] for request in receiver.requests) == sorted(ids)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.sampled_from([200, 204, 301, 410, 429, 500, 503]), max_size=10),
    st.lists(st.booleans(), max_size=5),
    st.integers(1, 4),
    st.booleans(),
)
def test_no_event_is_lost_whatever_is_answered_and_whoever_dies(
    tmp_path_factory: pytest.TempPathFactory, replies: list[int], deaths: list[bool], count: int, ordered: bool
) -> None:
    clock, dying = later(ticking()), list(deaths)

    async def run(receiver: Receiver) -> None:
        database = await Database.open(f"sqlite:///{tmp_path_factory.mktemp('outbox')}/control.db")
        hook, _ = await endpoint(database, receiver.url, events=["job.*"], ordered=ordered)
        ids = [await told(database, number=number) for number in range(count)]
        outbox = ServerOutbox(database, SEAL, most_failures=5)
        made = Deliverer(outbox, sender(), Schedule(attempts=3), clock=clock)
        while True:
            if dying and dying.pop():  # somebody takes what is due, and is never heard of again
                now = clock()
                await asyncio.to_thread(outbox.claim, now, now + SECOND, 2)
            elif not await made.deliver_due():
                break
        found = await deliveries(database, hook)
        stands = await WebhookStore(database, SEAL).get(LOCAL, hook.webhook_id)
        await database.close()
        assert sorted(one.event_id for one in found) == sorted(ids)
        arrived = [request["webhook-id"] for request in receiver.accepted]
        assert set(arrived) == {one.event_id for one in found if one.state == "delivered"}
        assert not any(one.state == "pending" for one in found if stands.enabled)
        if ordered:
            assert arrived == [one for one in ids if one in arrived]

    with receiving(*replies) as receiver:
        asyncio.run(run(receiver))
