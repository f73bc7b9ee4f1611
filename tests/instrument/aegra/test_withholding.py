"""What others see of a run while it is being decided about, and what a refused one leaves of its thread."""

import asyncio
import signal
import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from spanhook.engine import AdmittedRuns
from tests.instrument.aegra.serving import Answer, Application, application, eventually, has, resumed, said, served
from tests.redis_server import RedisProcess

HOWS = ("", "/wait", "/stream")


@pytest.fixture
def people() -> Generator[ThreadPoolExecutor]:
    """They ask for runs at the same time."""
    with ThreadPoolExecutor(4) as pool:
        yield pool


def undecided(app: Application, people: ThreadPoolExecutor, thread: str, body: Any) -> "Future[Answer]":
    """A request that the gate has been asked about, and thinks about until ``decide``."""
    before = len(app.told("before"))
    answer = people.submit(app.post, f"/threads/{thread}/runs/wait", body)
    eventually(lambda: len(app.told("before")) > before)
    return answer


def decide(app: Application) -> None:
    app.folder.file("decide", "")


def waiting(app: Application) -> str:
    """A thread that waits for a person."""
    thread = app.thread()
    assert app.post(f"/threads/{thread}/runs/wait", said("ask")).status == 200
    eventually(lambda: app.status(thread) == "interrupted")
    app.forget()
    return thread


def whole(app: Application, thread: str) -> Any:
    return app.ask("GET", f"/threads/{thread}").json


def runs(app: Application, thread: str) -> Any:
    return app.ask("GET", f"/threads/{thread}/runs").json


@pytest.mark.parametrize("how", HOWS)
def test_a_thread_that_waits_for_a_person_still_waits(app: Application, how: str) -> None:
    thread = waiting(app)
    before = whole(app, thread)
    for _ in range(2):
        assert app.post(f"/threads/{thread}/runs{how}", said("forbidden")).status == 403
        assert whole(app, thread) == before
    assert app.began() == []
    assert [one["status"] for one in runs(app, thread)] == ["error", "error", "interrupted"]
    assert app.post(f"/threads/{thread}/runs/wait", resumed("yes")).status == 200
    assert eventually(lambda: app.status(thread) == "idle")


@pytest.mark.skipif(not has("api.event_streaming"), reason="this version of Aegra has no commands")
def test_an_answer_that_names_no_assistant_resumes_that_of_the_run_that_waits(app: Application) -> None:
    """Whatever was refused there since, with another one."""
    thread = waiting(app)
    asked = {"graph_id": "agent", "name": str(uuid4()), "config": {"tags": [str(uuid4())]}}
    other = app.post("/assistants", asked).json["assistant_id"]
    refused = {**said("forbidden"), "assistant_id": other}
    assert app.post(f"/threads/{thread}/runs", refused).status == 403
    command = {"id": 1, "method": "input.respond", "params": {"response": "yes"}}
    answer = app.post(f"/threads/{thread}/commands", command).json
    assert answer["type"] == "success", answer
    assistants = {one["run_id"]: one["assistant_id"] for one in runs(app, thread)}
    assert len(set(assistants.values())) == 2
    assert assistants[answer["result"]["run_id"]] != other


def test_a_thread_with_another_run_stays_busy(app: Application) -> None:
    thread = app.thread()
    slow = app.post(f"/threads/{thread}/runs", said("slow")).json["run_id"]
    eventually(app.began)
    before = whole(app, thread)
    assert before["status"] == "busy"
    assert app.post(f"/threads/{thread}/runs", said("forbidden")).status == 403
    assert whole(app, thread) == before
    assert app.post(f"/threads/{thread}/runs/{slow}/cancel?wait=1").status == 200
    assert eventually(lambda: app.status(thread) == "idle")


def test_a_thread_whose_last_run_failed(app: Application) -> None:
    thread = app.thread()
    app.post(f"/threads/{thread}/runs/wait", said("fail"))
    assert eventually(lambda: app.status(thread) == "error")
    before = whole(app, thread)
    assert app.post(f"/threads/{thread}/runs", said("forbidden")).status == 403
    assert whole(app, thread) == before


def test_a_thread_that_was_not_there_holds_the_refused_run(app: Application) -> None:
    thread = str(uuid4())
    assert app.post(f"/threads/{thread}/runs", said("forbidden")).status == 403
    assert app.status(thread) == "idle"
    (run,) = runs(app, thread)
    assert run["status"] == "error"


def test_while_it_is_being_decided_about_a_thread_is_as_it_is(app: Application, people: ThreadPoolExecutor) -> None:
    thread = waiting(app)
    before = whole(app, thread)
    answers = [undecided(app, people, thread, said("forbidden in the end")) for _ in range(2)]
    assert whole(app, thread) == before
    decide(app)
    assert [answer.result().status for answer in answers] == [403, 403]
    assert whole(app, thread) == before
    assert app.post(f"/threads/{thread}/runs/wait", resumed("yes")).status == 200


@pytest.mark.parametrize(("other", "status"), [("hi", "idle"), ("ask", "interrupted"), ("fail", "error")])
def test_another_run_ends_meanwhile(app: Application, people: ThreadPoolExecutor, other: str, status: str) -> None:
    """Its end is what the thread tells, during the decision and after."""
    thread = app.thread()
    answer = undecided(app, people, thread, said("forbidden in the end"))
    app.post(f"/threads/{thread}/runs/wait", said(other))
    assert eventually(lambda: app.status(thread) == status)
    decide(app)
    assert answer.result().status == 403
    assert app.status(thread) == status
    assert app.began() == [other]


def test_only_one_of_two_resumptions_passes(app: Application, people: ThreadPoolExecutor) -> None:
    thread = waiting(app)
    answers = [undecided(app, people, thread, resumed(f"{number} in the end")) for number in range(2)]
    decide(app)
    assert sorted(answer.result().status for answer in answers) == [200, 400]
    assert app.began() == ["ask"]
    assert eventually(lambda: app.status(thread) == "idle")


def test_a_resumption_does_not_answer_another_question(app: Application, people: ThreadPoolExecutor) -> None:
    """The thread has been resumed meanwhile, and waits again."""
    thread = waiting(app)
    answer = undecided(app, people, thread, resumed("yes in the end"))
    assert app.post(f"/threads/{thread}/runs/wait", resumed("ask again")).status == 200
    eventually(lambda: app.status(thread) == "interrupted")
    before = whole(app, thread)
    decide(app)
    assert answer.result().status == 400
    assert whole(app, thread) == before
    assert app.post(f"/threads/{thread}/runs/wait", resumed("yes")).status == 200


def test_a_thread_that_is_deleted_meanwhile(app: Application, people: ThreadPoolExecutor) -> None:
    thread = app.thread()
    answer = undecided(app, people, thread, said("hi in the end"))
    assert app.ask("DELETE", f"/threads/{thread}").status in (200, 204)
    decide(app)
    answer.result()
    assert app.began() == []
    assert app.ask("GET", f"/threads/{thread}").status == 404


def test_a_run_that_passes_in_the_end(app: Application, people: ThreadPoolExecutor) -> None:
    """With the broker, it is older by then than what Aegra takes for stuck."""
    thread = app.thread()
    answer = undecided(app, people, thread, said("hi in the end"))
    time.sleep(3.5)  # nothing may happen
    assert app.began() == []
    assert app.status(thread) == "idle"
    decide(app)
    assert answer.result().status == 200
    assert eventually(lambda: [one["hook"] for one in app.told()] == ["before", "after"])
    assert app.began() == ["hi in the end"]


def test_a_run_that_is_refused_in_the_end(app: Application, people: ThreadPoolExecutor) -> None:
    thread = app.thread()
    answer = undecided(app, people, thread, said("forbidden in the end"))
    time.sleep(3.5)  # nothing may happen
    decide(app)
    assert answer.result().status == 403
    assert [one["hook"] for one in app.told()] == ["before"]
    assert app.began() == []
    (run,) = runs(app, thread)
    assert run["status"] == "error"


@pytest.mark.skipif(not has("services.worker_executor"), reason="this version of Aegra has no workers")
def test_a_server_that_dies_meanwhile(
    tmp_path: Path, postgres: int, redis: RedisProcess, people: ThreadPoolExecutor
) -> None:
    """It leaves nothing of the run behind."""
    folder = application(tmp_path)
    with served(folder, postgres, redis.url) as app:
        thread = waiting(app)
        answer = undecided(app, people, thread, said("hi in the end"))
        app.process.send_signal(signal.SIGKILL)
        app.process.wait()
    with pytest.raises(OSError):
        answer.result()
    decide(app)
    with served(folder, postgres, redis.url) as app:
        time.sleep(3.5)  # nothing may happen
        assert len(runs(app, thread)) == 1
        assert app.status(thread) == "interrupted"
        assert app.began() == []
        assert app.post(f"/threads/{thread}/runs/wait", resumed("yes")).status == 200


@pytest.mark.skipif(not has("services.worker_executor"), reason="this version of Aegra has no executors")
def test_hooks_that_are_taken_out_while_a_run_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run was withheld, so it is recorded before it is executed."""
    submitting, withholding = (
        import_module(f"spanhook.instrument.aegra.{name}") for name in ("submitting", "withholding")
    )
    jobs, models = import_module("aegra_api.models.run_job"), import_module("aegra_api.models")
    job = jobs.RunJob(
        identity=jobs.RunIdentity(run_id="r", thread_id="t", graph_id="agent"),
        user=models.User(identity="ada"),
        execution=jobs.RunExecution(),
    )
    happened = list[str]()

    async def record(_held: Any, _job: Any) -> None:
        happened.append("recorded")

    async def executor(_job: Any) -> None:
        happened.append("submitted")

    monkeypatch.setattr(withholding.Withheld, "record", record)

    async def prepared() -> None:
        held = withholding.Withheld()
        held.run = SimpleNamespace(run_id="r", assistant_id="a")
        withholding._preparing.set(held)
        opening = SimpleNamespace(runs=AdmittedRuns())
        assert not opening.runs.hooked
        await submitting.submit(opening, executor, None, (job,), {})

    asyncio.run(prepared())
    assert happened == ["recorded", "submitted"]
