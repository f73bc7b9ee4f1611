"""Every way of creating runs, with Aegra's broker and without: who is asked what, and what the client is told."""

from collections.abc import Callable

import pytest

from tests.instrument.aegra.serving import Answer, Application, eventually, has, resumed, said

Way = Callable[[Application, str, str], Answer]
"""Creates a run of a user on a thread; ways without a thread make one of their own."""


def threaded(how: str) -> Way:
    return lambda app, thread, user: app.post(f"/threads/{thread}/runs{how}", said("hi"), user=user)


def stateless(how: str, kept: str) -> Way:
    body = said("hi", on_completion=kept)
    return lambda app, _thread, user: app.post(f"/runs{how}", body, user=user)


def cron(app: Application, _thread: str, user: str) -> Answer:
    return app.post("/runs/crons", said("hi", schedule="0 0 1 1 *"), user=user)


def cron_of_thread(app: Application, thread: str, user: str) -> Answer:
    return app.post(f"/threads/{thread}/runs/crons", said("hi", schedule="0 0 1 1 *"), user=user)


HOWS = ("", "/wait", "/stream")
WAYS: dict[str, Way] = {f"thread{how}": threaded(how) for how in HOWS}
STATELESS: dict[str, Way] = {
    f"stateless{how}, {kept}": stateless(how, kept) for how in HOWS for kept in ("keep", "delete")
}
CRONS: dict[str, Way] = {"cron": cron, "cron of a thread": cron_of_thread}
HAS_STATELESS = has("api.stateless_runs")
lacks_stateless = pytest.mark.skipif(not HAS_STATELESS, reason="this version of Aegra has no stateless runs")
HAS_CRONS = has("api.crons")
lacks_crons = pytest.mark.skipif(not HAS_CRONS, reason="this version of Aegra has no crons")
ALL = [
    *(pytest.param(way, id=name) for name, way in WAYS.items()),
    *(pytest.param(way, id=name, marks=lacks_stateless) for name, way in STATELESS.items()),
    *(pytest.param(way, id=name, marks=lacks_crons) for name, way in CRONS.items()),
]
REFUSED = {"eve": (402, "not paid", None), "mallory": (429, "too many", "7")}
USER = {"user": "ada", "org": "acme", "plan": "gold", "graph": "agent"}


@pytest.mark.parametrize("way", ALL)
def test_a_run(app: Application, way: Way) -> None:
    thread = app.thread()
    answer = way(app, thread, "ada")
    assert answer.status == 200, answer.text
    (after,) = eventually(lambda: app.told("after"))
    (before,) = app.told("before")
    assert [one["hook"] for one in app.told()] == ["before", "after"]
    assert {key: before[key] for key in USER} == USER
    same = ("run", "thread", "assistant", "user", "org", "plan", "input")
    assert [after[key] for key in same] == [before[key] for key in same]
    assert before["input"] == said("hi")["input"]
    assert len(before["assistant"]) == len(before["run"]) == 36
    assert (before["metadata"], after["metadata"]) == ({}, {"asked": True})
    assert (after["status"], "hello" in str(after["output"])) == ("success", True)
    (used,) = after["usage"].values()
    assert (used["input_tokens"], used["output_tokens"], used["total_tokens"]) == (3, 2, 5)
    run = before["run"]
    assert before["config"] == after["config"]
    configurable = before["config"]["configurable"]
    assert [configurable[name] for name in ("thread_id", "run_id", "user_id")] == [before["thread"], run, "ada"]
    assert "langgraph_auth_user" in configurable
    model, graph, whole = eventually(lambda: found if len(found := app.operations()) == 3 else None)
    assert [one[0] for one in (model, graph, whole)] == ["llm.call", "agent.invoke", "run"]
    assert [one[-2:] for one in (model, graph, whole)] == [["run", run]] * 3
    assert whole[1] == "agent"


@pytest.mark.parametrize("user", REFUSED)
@pytest.mark.parametrize("way", ALL)
def test_a_refused_run(app: Application, way: Way, user: str) -> None:
    status, reason, seconds = REFUSED[user]
    thread = app.thread(user)
    answer = way(app, thread, user)
    assert (answer.status, answer.json["message"], answer.retry_after) == (status, reason, seconds)
    assert [one["hook"] for one in app.told()] == ["before"]
    assert app.began() == []
    there = app.ask("GET", f"/threads/{app.told()[0]['thread']}", user=user)
    if there.status == 200:  # threads of runs without one may be gone already
        assert there.json["status"] == "idle"
        (run,) = app.ask("GET", f"/threads/{there.json['thread_id']}/runs", user=user).json
        assert (run["status"], run.get("error_message", reason)) == ("error", reason)
    if HAS_CRONS:
        assert app.post("/runs/crons/search", {}, user=user).json == []
    assert app.ask("GET", f"/threads/{thread}", user=user).json["status"] == "idle"


def test_a_run_that_waits_for_a_person(app: Application) -> None:
    thread = app.thread()
    asked = app.post(f"/threads/{thread}/runs/wait", said("ask"))
    assert asked.status == 200, asked.text
    (first,) = eventually(lambda: app.told("after"))
    assert first["status"] == "interrupted"

    assert app.post(f"/threads/{thread}/runs/wait", resumed("yes")).status == 200
    _, second = eventually(lambda: found if len(found := app.told("after")) == 2 else None)
    assert (second["status"], second["thread"]) == ("success", thread)
    assert second["run"] != first["run"]
    _, before = app.told("before")
    assert before["input"]["resume"] == "yes"


def test_the_resumption_is_asked_about_too(app: Application) -> None:
    """If it is refused, the thread still waits for a person."""
    thread = app.thread("sometimes")
    assert app.post(f"/threads/{thread}/runs/wait", said("ask"), user="sometimes").status == 200
    eventually(lambda: app.told("after"))
    for _ in range(2):
        answer = app.post(f"/threads/{thread}/runs", resumed("no more"), user="sometimes")
        assert (answer.status, answer.json["message"]) == (403, "no more")
    assert app.ask("GET", f"/threads/{thread}", user="sometimes").json["status"] == "interrupted"
    assert app.began() == ["ask"]
    assert app.post(f"/threads/{thread}/runs/wait", resumed("yes"), user="sometimes").status == 200
    assert eventually(lambda: len(app.told("after")) == 2)


def test_a_run_that_fails(app: Application) -> None:
    thread = app.thread()
    run = app.post(f"/threads/{thread}/runs", said("fail")).json["run_id"]
    (error,) = eventually(lambda: app.told("error"))
    assert (error["run"], error["type"], error["error"]) == (run, "ValueError", "out of paper")
    assert [one["hook"] for one in app.told()] == ["before", "error"]
    assert app.run(thread, run)["status"] == "error"


@pytest.mark.parametrize("action", ["cancel", "interrupt"])
def test_a_run_that_is_cancelled(app: Application, action: str) -> None:
    thread = app.thread()
    run = app.post(f"/threads/{thread}/runs", said("slow")).json["run_id"]
    eventually(app.began)
    assert app.post(f"/threads/{thread}/runs/{run}/cancel?wait=1&action={action}").status == 200
    (error,) = eventually(lambda: app.told("error"))
    assert (error["run"], error["type"], error["error"]) == (run, "CancelledError", "Run was cancelled")
    assert [one["hook"] for one in app.told()] == ["before", "error"]
    assert eventually(lambda: app.run(thread, run)["status"] == "interrupted")


def test_a_hook_that_fails_fails_the_run(app: Application) -> None:
    thread = app.thread("broken")
    assert app.post(f"/threads/{thread}/runs/wait", said("hi"), user="broken").status == 500
    assert [one["hook"] for one in app.told()] == ["before", "error"]
    (run,) = app.ask("GET", f"/threads/{thread}/runs", user="broken").json
    assert run["status"] == "error"
    assert app.ask("GET", f"/threads/{thread}", user="broken").json["status"] == "idle"


def test_a_run_that_a_tool_hook_stops(app: Application) -> None:
    """A refusal of the whole run, raised inside the graph, is an error of the run like any other."""
    thread = app.thread("stopped")
    run = app.post(f"/threads/{thread}/runs", said("hi"), user="stopped").json["run_id"]
    (error,) = eventually(lambda: app.told("error"))
    assert (error["type"], error["error"]) == ("Reject", "no more models")
    assert eventually(lambda: app.run(thread, run, "stopped")["status"] == "error")


@lacks_crons
def test_a_cron_that_comes_due(app: Application) -> None:
    """The scheduler's runs are asked about like others; one that is refused is not executed."""
    created = app.post("/runs/crons", said("hi", schedule="* * * * * *"), user="later")
    assert created.status == 200, created.text
    eventually(lambda: len({one["run"] for one in app.told("after")}) >= 2)
    closed = app.folder.file("closed", "")
    try:
        refused = eventually(lambda: unfinished(app) or None)
        (cron,) = app.post("/runs/crons/search", {}, user="later").json
        eventually(lambda: due(app) > cron["next_run_date"])  # it goes on
        assert app.ask("DELETE", f"/runs/crons/{cron['cron_id']}", user="later").status in (200, 204)
    finally:
        closed.unlink()
    assert refused <= unfinished(app)
    assert len(app.began()) == len({one["run"] for one in app.told("after")})


def due(app: Application) -> str:
    (cron,) = app.post("/runs/crons/search", {}, user="later").json
    return cron["next_run_date"]


def unfinished(app: Application) -> set[str]:
    before, after = ({one["run"] for one in app.told(hook)} for hook in ("before", "after"))
    return before - after


@pytest.mark.skipif(not has("api.event_streaming"), reason="this version of Aegra has no commands")
def test_a_command(app: Application) -> None:
    """It is told of a refusal as of anything else that keeps a run from being created: in a response of its own."""
    command = {"id": 1, "method": "run.start", "params": said("hi")}
    answer = app.post(f"/threads/{app.thread()}/commands", command)
    assert (answer.status, answer.json["type"]) == (200, "success"), answer.text
    (after,) = eventually(lambda: app.told("after"))
    assert after["run"] == answer.json["result"]["run_id"]

    refused = app.post(f"/threads/{app.thread('eve')}/commands", command, user="eve").json
    assert (refused["type"], refused["message"]) == ("error", "not paid")
    assert len(app.began()) == 1
