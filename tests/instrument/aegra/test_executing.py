"""Runs that another process executes than the one that accepted them, and what becomes of what was decided."""

import json
import signal
from collections.abc import Callable, Generator
from typing import Any

import pytest
import redis as redis_package

from tests.instrument.aegra.serving import Application, application, eventually, said, served
from tests.redis_server import RedisProcess

KEY = "spanhook:admission:"
ALONE = {"WORKER_COUNT": "0"}
"""Accepts runs and executes none."""


@pytest.fixture(scope="module")
def accepting(tmp_path_factory: pytest.TempPathFactory, postgres: int, redis: RedisProcess) -> Generator[Application]:
    with served(application(tmp_path_factory.mktemp("accepting")), postgres, redis.url, **ALONE) as app:
        yield app


@pytest.fixture
def app(accepting: Application) -> Application:
    accepting.forget()
    return accepting


def kept(redis: RedisProcess, run: str) -> dict[str, Any] | None:
    """What is stored about a run."""
    found = client(redis).get(KEY + run)
    return None if found is None else json.loads(found)


def client(redis: RedisProcess) -> Any:
    return redis_package.Redis.from_url(redis.url, decode_responses=True)


def ended(app: Application, run: str) -> Callable[[], Any]:
    return lambda: app.told("after", run) or app.told("error", run)


def pid(told: dict[str, Any]) -> int:
    return told["pid"]


def test_a_worker_does_not_ask_again(app: Application, postgres: int, redis: RedisProcess) -> None:
    thread = app.thread()
    run = app.post(f"/threads/{thread}/runs", said("hi")).json["run_id"]
    stored = kept(redis, run)
    assert stored is not None
    assert (stored["run_id"], stored["user_id"], stored["state"]) == (run, "ada", {"asked": True})
    with served(app.folder, postgres, redis.url):
        (after,) = eventually(ended(app, run))
        eventually(lambda: kept(redis, run) is None)
    (before,) = app.told("before", run)
    assert pid(before) != pid(after)
    assert [after[name] for name in ("assistant", "plan")] == [before[name] for name in ("assistant", "plan")]
    assert (after["status"], after["metadata"]) == ("success", {"asked": True})


FORGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "nothing": lambda _told: None,
    "another run's": lambda told: {**told, "run_id": "0" * 36},
    "another user's": lambda told: {**told, "user_id": "eve"},
    "other hooks'": lambda told: {**told, "hooks": "0" * 12},
    "no admission": lambda _told: "yes",
    "half of one": lambda told: {"run_id": told["run_id"]},
}
"""What may be stored about a run that nobody has let pass, made of what is stored if it was."""


def test_a_worker_asks_if_nothing_was_decided(app: Application, postgres: int, redis: RedisProcess) -> None:
    """What a request says of it, and what was decided about another run, user or hooks, is nothing."""
    config = {"configurable": {"spanhook": "admitted"}, "metadata": {"spanhook": "admitted"}}
    body = said("hi", config=config, metadata={"spanhook_admission": "yes", "admitted": True})
    runs: dict[str, tuple[str, str]] = {}
    for name, forge in FORGED.items():
        thread = app.thread("later")
        run = app.post(f"/threads/{thread}/runs", body, user="later").json["run_id"]
        runs[name] = thread, run
        told = forge(kept(redis, run) or {})
        client(redis).set(KEY + run, json.dumps(told)) if told else client(redis).delete(KEY + run)
    app.folder.file("closed", "")
    with served(app.folder, postgres, redis.url):
        for name, (thread, run) in runs.items():
            recorded = eventually(lambda t=thread, r=run: over(app, t, r))
            assert (recorded["status"], recorded.get("error_message", "closed now")) == ("error", "closed now"), name
    for thread, run in runs.values():
        assert app.ask("GET", f"/threads/{thread}", user="later").json["status"] == "idle"
        assert len({pid(one) for one in app.told("before", run)}) == 2
        assert app.told("after", run) == app.told("error", run) == []
    assert app.began() == []


def test_a_worker_that_refuses_leaves_a_thread_that_waits(app: Application, postgres: int, redis: RedisProcess) -> None:
    """The first run on it was asked for while it waited, the second while it was busy with the first."""
    thread = app.thread("later")
    with served(app.folder, postgres, redis.url):
        assert app.post(f"/threads/{thread}/runs/wait", said("ask"), user="later").status == 200
        eventually(lambda: app.status(thread, "later") == "interrupted")
    app.forget()
    runs = [app.post(f"/threads/{thread}/runs", said("hi"), user="later").json["run_id"] for _ in range(2)]
    for run in runs:
        client(redis).delete(KEY + run)
    closed = app.folder.file("closed", "")
    try:
        with served(app.folder, postgres, redis.url):
            for run in runs:
                assert eventually(lambda r=run: over(app, thread, r))["status"] == "error"
            assert eventually(lambda: app.status(thread, "later") == "interrupted")
    finally:
        closed.unlink()
    assert app.began() == []


def over(app: Application, thread: str, run: str) -> Any:
    found = app.run(thread, run, "later")
    return None if found["status"] in ("pending", "running") else found


def test_a_killed_worker(app: Application, postgres: int, redis: RedisProcess) -> None:
    """Its run is recovered by another, which does not ask again, and has one end."""
    thread = app.thread()
    with served(app.folder, postgres, redis.url) as worker:
        run = app.post(f"/threads/{thread}/runs", said("slow")).json["run_id"]
        eventually(app.began)
        worker.process.send_signal(signal.SIGKILL)
        worker.process.wait()
    assert kept(redis, run) is not None
    with served(app.folder, postgres, redis.url):
        (after,) = eventually(ended(app, run))
    assert [one["hook"] for one in app.told("", run)] == ["before", "after"]
    assert pid(after) != pid(app.told("before", run)[0])
    assert app.began() == ["slow"] * 2
    assert app.run(thread, run)["status"] == "success"


def test_a_drained_worker(app: Application, postgres: int, redis: RedisProcess) -> None:
    """What it could not finish goes on elsewhere, so it is no end."""
    thread = app.thread()
    with served(app.folder, postgres, redis.url, WORKER_DRAIN_TIMEOUT="0.2"):
        run = app.post(f"/threads/{thread}/runs", said("slow")).json["run_id"]
        eventually(app.began)
    if app.run(thread, run)["status"] == "interrupted":
        pytest.skip("this version of Aegra does not hand runs on when it stops")
    assert [one["hook"] for one in app.told("", run)] == ["before"]
    with served(app.folder, postgres, redis.url):
        eventually(ended(app, run))
    assert [one["hook"] for one in app.told("", run)] == ["before", "after"]


def test_a_run_that_takes_too_long(app: Application, postgres: int, redis: RedisProcess) -> None:
    thread = app.thread()
    with served(app.folder, postgres, redis.url, BG_JOB_TIMEOUT_SECS="2"):
        run = app.post(f"/threads/{thread}/runs", said("slow")).json["run_id"]
        (error,) = eventually(ended(app, run))
        assert [one["hook"] for one in app.told("", run)] == ["before", "error"]
        recorded = app.run(thread, run)["status"]
    # Version 0.9 takes it for cancelled by a user.
    assert (error["type"], recorded) in {("TimeoutError", "error"), ("CancelledError", "interrupted")}
