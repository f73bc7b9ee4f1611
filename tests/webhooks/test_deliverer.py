import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanhook.store import OutboxEntry, SQLiteOutbox
from spanhook.webhooks import Deliverer, Destinations, Schedule, Sender, new_event_id, new_secret
from tests.webhooks.receiver import Receiver, receiving

SECRET = new_secret()
SECOND = 1_000_000_000


def filled(
    receiver: Receiver, folder: Path, count: int, *, ordered: bool = False, within: str = ""
) -> tuple[SQLiteOutbox, list[str]]:
    """An outbox with events for a receiver, and their ids."""
    outbox = SQLiteOutbox(str(folder / "outbox.db"), receiver.url, [SECRET], ordered=ordered)
    ids = [new_event_id() for _ in range(count)]
    outbox.add([OutboxEntry(one, "job.completed", f'{{"id":"{one}"}}', 1, within) for one in ids])
    return outbox, ids


def sender(*networks: str) -> Sender:
    return Sender(Destinations(networks or ["127.0.0.1/32"], plain_http=True), timeout=30)


def ticking() -> Callable[[], int]:
    """A clock by which everything is due, and every lease over, at each look."""
    now = [SECOND]

    def clock() -> int:
        now[0] += 100_000 * SECOND
        return now[0]

    return clock


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from([200, 204, 299, 301, 307, 400, 404, 410, 429, 500, 503]), max_size=12),
    st.integers(1, 5),
    st.integers(1, 4),
    st.booleans(),
)
def test_each_event_is_delivered_or_dead_whatever_is_answered(
    tmp_path_factory: pytest.TempPathFactory, replies: list[int], count: int, attempts: int, ordered: bool
) -> None:
    async def deliver(outbox: SQLiteOutbox) -> None:
        # Signatures are made with the time, so the receiver does not check them here.
        deliverer = Deliverer(outbox, sender(), Schedule(attempts=attempts), clock=ticking())
        for _ in range(200):
            if not await deliverer.deliver_due():
                return
        raise AssertionError("it does not end")

    with receiving(*replies) as receiver:
        outbox, ids = filled(receiver, tmp_path_factory.mktemp("outbox"), count, ordered=ordered)
        asyncio.run(deliver(outbox))
        accepted = {one["webhook-id"] for one in receiver.accepted}
        assert outbox.count("pending") == 0
        assert len(accepted) + outbox.count("dead") == count
        assert accepted <= set(ids)
        assert all(sum(one["webhook-id"] == each for one in receiver.requests) <= attempts for each in ids)
        if ordered:
            sent = [one["webhook-id"] for one in receiver.accepted]
            assert sent == [one for one in ids if one in accepted]
        outbox.close()


def test_attempts_are_spans_in_the_trace_of_the_event_whose_context_is_not_sent(tmp_path: Path) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def deliver(outbox: SQLiteOutbox) -> Deliverer:
        made = Deliverer(outbox, sender(), Schedule(first=0.0), tracer=provider.get_tracer("test"))
        while await made.deliver_due():
            pass
        return made

    with receiving(503, secret=SECRET) as receiver:
        outbox, (event_id,) = filled(receiver, tmp_path, 1, within=f"00-{7:032x}-{8:016x}-01")
        made = asyncio.run(deliver(outbox))
        assert len(receiver.events) == 1
        assert not any("trace" in name for request in receiver.requests for name in request)
        outbox.close()
    assert made.figures == {"failed": 1, "delivered": 1, "dead": 0}
    about = {
        "http.request.method": "POST",
        "cloudevents.event_id": event_id,
        "cloudevents.event_type": "job.completed",
        "server.address": "127.0.0.1",
    }
    failed, delivered = exporter.get_finished_spans()
    assert dict(failed.attributes or {}) == {**about, "http.response.status_code": 503, "error.type": "503"}
    assert dict(delivered.attributes or {}) == {**about, "http.response.status_code": 204}
    assert (failed.status.is_ok, delivered.status.is_ok) == (False, True)
    parents = [one.parent for one in (failed, delivered) if one.parent is not None]
    assert [(one.trace_id, one.span_id) for one in parents] == [(7, 8)] * 2


@pytest.mark.parametrize("within", ["", "nothing", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_an_event_outside_of_traces_begins_one(tmp_path: Path, within: str) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with receiving() as receiver:
        outbox, _ = filled(receiver, tmp_path, 1, within=within)
        with provider.get_tracer("test").start_as_current_span("somebody else's"):
            asyncio.run(Deliverer(outbox, sender(), tracer=provider.get_tracer("test")).deliver_due())
        outbox.close()
    delivered, _ = exporter.get_finished_spans()
    assert (delivered.name, delivered.parent) == ("POST", None)


def test_what_may_not_be_sent_to_is_tried_again_and_then_dead(tmp_path: Path) -> None:
    async def deliver(outbox: SQLiteOutbox) -> None:
        deliverer = Deliverer(outbox, sender("10.0.0.0/8"), Schedule(attempts=2, first=0.0))
        while await deliverer.deliver_due():
            pass

    with receiving() as receiver:
        outbox, _ = filled(receiver, tmp_path, 1)
        asyncio.run(deliver(outbox))
        assert outbox.count("dead") == 1
        assert not receiver.requests
        outbox.close()


def test_what_was_delivered_while_the_interpreter_ends_is_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving(200) as receiver:
        outbox, _ = filled(receiver, tmp_path, 1)
        due = outbox.claim(SECOND, 60 * SECOND, 1)

        async def refuse(*_args: object) -> None:
            raise RuntimeError("cannot schedule new futures after shutdown")

        monkeypatch.setattr(asyncio, "to_thread", refuse)
        asyncio.run(Deliverer(outbox, sender(), Schedule())._deliver(due[0]))
        assert (len(receiver.accepted), outbox.count("pending")) == (1, 0)
        outbox.close()
