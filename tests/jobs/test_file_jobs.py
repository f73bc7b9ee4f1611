import fcntl
import os
from pathlib import Path

import pytest

from spanhook.jobs import FileJobs, Transition, TransitionError
from tests.forking import children
from tests.jobs.stores import check_bounds, check_store, job

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_it_keeps_the_promises_of_a_store(tmp_path: Path) -> None:
    await check_store(FileJobs(tmp_path / "jobs"))
    assert len(list((tmp_path / "jobs").glob("job_*.json"))) == 2
    assert not list((tmp_path / "jobs").glob(".new-*"))


async def test_it_does_not_grow_for_ever(tmp_path: Path) -> None:
    (tmp_path / ".new-of-a-crash").write_text("{")
    await check_bounds(FileJobs(tmp_path, most=2, kept_s=5))
    assert len([one for one in os.listdir(tmp_path / "keys") if one]) < 20
    assert not [one for one in os.listdir(tmp_path) if one.startswith(".new-")]


FORKING = """if True:
    import asyncio, os, sys, threading
    from pathlib import Path
    from spanhook.jobs import FileJobs
    from tests.jobs.stores import job
    folder, store = Path(sys.argv[1]), FileJobs(sys.argv[1])
    asyncio.run(store.create(job(1, key="k")))
    (key,) = (folder / "keys").iterdir()
    key.unlink()
    os.mkfifo(key)
    finding = threading.Thread(target=lambda: asyncio.run(store.find("", "a", "k")))
    finding.start()
    fifo = os.open(key, os.O_WRONLY)  # once it has the lock, and reads the key
    if (child := os.fork()) == 0:
        os.close(fifo)
        print(os.getpid(), flush=True)
        sys.stdin.read()
        os._exit(0)
    if sys.argv[2] == "ends":
        os.close(fifo)
        finding.join()
        print("done", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["ends", "is killed"])
def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path, how: str) -> None:
    with children.Piped("-W", "ignore", "-c", FORKING, tmp_path, how) as parent:
        said = {parent.stdout.readline()}  # the child lives until the end of its input
        if how == "ends":
            said.add(parent.stdout.readline())
            assert "done\n" in said
        else:
            parent.kill()
            parent.wait()
        with open(tmp_path / ".lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


async def test_a_renewed_claim_holds_for_all_and_its_job_is_not_written_again(tmp_path: Path) -> None:
    second = 10**9
    store, other = FileJobs(tmp_path), FileJobs(tmp_path)
    made = await store.create(job(1, lease_ns=5 * second))
    path = tmp_path / f"{made.job_id}.json"
    before = path.stat()
    assert await store.renew([made.job_id], "w", 20 * second) == {made.job_id}
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    held = await other.get(made.job_id)
    assert held is not None
    assert held.lease_ns == 20 * second
    assert await other.expired(19 * second) == []
    assert await other.expired(21 * second) == [held]
    with pytest.raises(TransitionError):
        await other.move(made.job_id, Transition("queued", 19 * second, "x", expired=True))
    await store.move(made.job_id, Transition("queued", 6 * second, "w"))
    assert [one.lease_ns for one in await other.expired(7 * second)] == [0], "it was given back"
    assert await store.renew([made.job_id], "w", 30 * second) == {made.job_id}
    assert await other.expired(29 * second) == []


async def test_a_claim_that_was_renewed_says_nothing_about_the_next_one(tmp_path: Path) -> None:
    second = 10**9
    store = FileJobs(tmp_path)
    made = await store.create(job(1, lease_ns=5 * second))
    await store.renew([made.job_id], "w", 90 * second)
    await store.move(made.job_id, Transition("running", 6 * second, "w", "w", 10 * second))
    assert [one.lease_ns for one in await store.expired(11 * second)] == [10 * second]


async def test_only_jobs_that_are_not_finished_are_read_to_find_those_that_nobody_holds(tmp_path: Path) -> None:
    store = FileJobs(tmp_path)
    made = [await store.create(job(number, lease_ns=10)) for number in range(4)]
    for one in made[:3]:
        await store.move(one.job_id, Transition("cancelled", 20))
    (tmp_path / f"{made[0].job_id}.json").write_text("{")
    assert [one.job_id for one in await store.expired(30)] == [made[3].job_id]
    assert [one.name for one in (tmp_path / "live").iterdir()] == [made[3].job_id]


async def test_what_a_crash_has_left_of_the_notes_is_mended(tmp_path: Path) -> None:
    first = await FileJobs(tmp_path).create(job(1, lease_ns=10))
    (tmp_path / "live" / first.job_id).unlink()
    (tmp_path / "live" / f"job_{'0' * 32}").touch()
    store = FileJobs(tmp_path)
    assert await store.expired(20) == []
    await store.create(job(2, lease_ns=100))
    assert [one.job_id for one in await store.expired(20)] == [first.job_id]
    assert len(list((tmp_path / "live").iterdir())) == 2
    (tmp_path / "live" / first.job_id).write_bytes(b"\xff")
    assert [one.job_id for one in await store.expired(20)] == [first.job_id]
