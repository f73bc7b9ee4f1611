"""What every store of jobs must do."""

from dataclasses import replace

import pytest

from spanhook.jobs import Job, JobFilter, JobStore, Transition, TransitionError, new_id


def job(number: int, **fields: object) -> Job:
    return replace(Job(job_id=new_id(), agent="a", input={"n": number}, worker="w", created_ns=number), **fields)


async def check_store(store: JobStore) -> None:
    """Every promise of ``JobStore``, one after the other."""
    first = await store.create(job(1, key="k", lease_ns=10))
    assert (await store.create(job(2, key="k"))).job_id == first.job_id
    other = await store.create(job(3, tenant_id="acme", key="k", lease_ns=1000))
    assert await store.find("acme", "a", "k") == other
    assert await store.find("globex", "a", "k") is None
    assert await store.get(first.job_id) == first
    assert await store.get(first.job_id, "acme") is None
    assert await store.get(other.job_id) is None
    assert await store.get(other.job_id, None) == other
    assert await store.get("../etc/passwd", None) is None
    await _check_lists(store, first, other)
    assert [one.job_id for one in await store.expired(500)] == [first.job_id]
    assert await store.expired(500, agents=["b"]) == await store.expired(500, agents=()) == []
    started = await store.move(first.job_id, Transition("running", 5, "w", "w", 900))
    assert started is not None
    assert (started.status, started.attempts, started.started_ns, started.lease_ns) == ("running", 1, 5, 900)
    assert await store.renew([first.job_id, other.job_id, "no"], "w", 2000) == {first.job_id, other.job_id}
    assert await store.renew([first.job_id], "x", 2000) == frozenset()
    with pytest.raises(TransitionError):
        await store.delete(first.job_id)
    with pytest.raises(TransitionError):
        await store.move(first.job_id, Transition("completed", 6, "x"))
    with pytest.raises(TransitionError):
        await store.move(first.job_id, Transition("queued", 6, "x", expired=True))
    await store.move(first.job_id, Transition("cancelled", 7))
    with pytest.raises(TransitionError):
        await store.move(first.job_id, Transition("completed", 8, "w", changes={"result": 1}))
    with pytest.raises(TransitionError):
        await store.note(first, {}, ())
    noted = await store.note(started, {"input_tokens": 3}, ("t",))
    assert noted == await store.get(first.job_id)
    assert noted is not None
    assert (noted.status, noted.ended_ns, noted.result, noted.tools) == ("cancelled", 7, None, ("t",))
    assert await store.renew([first.job_id], "w", 2000) == frozenset()
    assert not await store.delete(first.job_id, "acme")
    assert await store.delete(first.job_id)
    assert not await store.delete(first.job_id)
    assert await store.find("", "a", "k") is None
    assert await store.move(first.job_id, Transition("cancelled", 9)) is None


async def _check_lists(store: JobStore, first: Job, other: Job) -> None:
    third = await store.create(job(3, agent="b", lease_ns=1000))
    listed = [one.job_id for one in await store.list(JobFilter())]
    assert listed == [third.job_id, first.job_id]
    assert [one.job_id for one in await store.list(JobFilter("acme"))] == [other.job_id]
    assert len(await store.list(JobFilter(None))) == 3
    assert [one.job_id for one in await store.list(JobFilter(agent="b"))] == [third.job_id]
    assert await store.list(JobFilter(status="running")) == []
    page = await store.list(JobFilter(), 1)
    rest = await store.list(JobFilter(before=(page[0].created_ns, page[0].job_id)))
    assert [one.job_id for one in (*page, *rest)] == listed


async def check_bounds(store: JobStore) -> None:
    """A store of two finished jobs and a time of 1 s keeps no more, about, and all that are not finished."""
    second = 10**9
    live = await store.create(job(1))
    for number in range(2, 110):
        made = await store.create(job(number * second, key=str(number)))
        await store.move(made.job_id, Transition("cancelled", number * second))
    left = await store.list(JobFilter(), 200)
    assert live in left
    assert len(left) < 20
    assert await store.find("", "a", "3") is None
