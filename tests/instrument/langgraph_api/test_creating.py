"""Run hooks on LangGraph's own server, in memory: asked once, where a refusal still reaches whoever asks."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import SPANHOOK, Folder
from tests.instrument.langgraph_api.serving import ALONE, AUTH, Client, dev
from tests.ports import free_port

HOOKS = """
import json
from spanhook.runs import RunHooks

hooks = RunHooks()

def tell(*about):
    with open("told", "a") as told:
        told.write(json.dumps(about) + "\\n")

@hooks.before_run
async def decide(ctx):
    tell("before", ctx.run_id, ctx.user.identity, ctx.graph_id, ctx.thread_id, ctx.assistant_id)
    ctx.metadata["plan"] = "pro"
    if ctx.user.identity == "eve":
        raise hooks.RejectRun("not paid", status_code=402)
    if ctx.user.identity == "mallory":
        raise hooks.RejectRun("too many", status_code=429, retry_after=7)
    if (ctx.input or {}).get("value") == "refuse me":
        raise hooks.RejectRun("not that", status_code=403)

@hooks.after_run
async def ended(ctx):
    tell("after", ctx.run_id, ctx.user.identity, ctx.graph_id, ctx.status, ctx.metadata.get("plan"), ctx.output)

@hooks.on_run_error
async def failed(ctx):
    tell("error", ctx.run_id, ctx.user.identity, ctx.error_type)
"""
GRAPH = """
import asyncio
from typing import TypedDict
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

class State(TypedDict):
    value: str

async def work(state):
    if state["value"] == "ask":
        return {"value": interrupt("sure?")}
    if state["value"] == "fail":
        raise ValueError("broken")
    if state["value"] == "wait":
        open("began", "w").close()
        await asyncio.sleep(60)
    return {"value": state["value"] + "!"}

builder = StateGraph(State)
builder.add_node("work", work)
builder.add_edge(START, "work")
graph = builder.compile()
"""


class Served:
    """The server, and what its hooks were told."""

    def __init__(self, port: int, told: Path) -> None:
        self.client, self._told = Client(port), told

    def began(self) -> None:
        """Wait until a run waits."""
        for _ in range(100):
            if self._told.with_name("began").exists():
                return
            time.sleep(0.1)
        raise AssertionError("no run began")

    def told(self, user: str, *, until: int = 0, seconds: int = 10) -> list[list[Any]]:
        """What hooks were told about the runs of a user, once that is as much as ``until``."""
        found: list[list[Any]] = []
        for _ in range(10 * seconds):
            lines = self._told.read_text().splitlines() if self._told.exists() else []
            found = [one for one in map(json.loads, lines) if one[2] == user]
            if len(found) >= until:
                return found
            time.sleep(0.1)
        raise AssertionError(found)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("server")
    folder = Folder(path).write(hooks=HOOKS, auth=AUTH, graph=GRAPH)
    config = {"dependencies": ["."], "graphs": {"support": "./graph.py:graph"}, "auth": {"path": "./auth.py:auth"}}
    folder.file("langgraph.json", json.dumps(config))
    port = free_port()
    required = ("--require", "langgraph_api,langgraph")
    command = (*SPANHOOK, "run", "--hooks", "hooks.py:hooks", *required, "--", *dev(port))
    with folder.server(*command, port=port, **ALONE):
        yield Served(port, path / "told")


def ways(client: Client, user: str) -> list[str]:
    """Every path that creates runs."""
    thread = client.json("POST", "/threads", {}, user)["thread_id"]
    return [f"{above}/runs{how}" for above in ("", f"/threads/{thread}") for how in ("", "/wait", "/stream")]


def asking(value: str = "hi", **more: Any) -> dict[str, Any]:
    return {"assistant_id": "support", "input": {"value": value}, **more}


@pytest.mark.parametrize(
    ("user", "status", "reason", "retry"),
    [("eve", 402, "not paid", None), ("mallory", 429, "too many", "7")],
)
def test_a_refusal_reaches_whoever_asks(served: Served, user: str, status: int, reason: str, retry: str | None) -> None:
    paths = ways(served.client, user)
    for path in paths:
        forged = {"configurable": {"langgraph_auth_user_id": "ada", "user_id": "ada"}}
        found = served.client.ask("POST", path, asking(config=forged), user)
        assert (found.status, json.loads(found.text), found.retry_after) == (status, {"detail": reason}, retry), path
    batch = served.client.ask("POST", "/runs/batch", [asking(), asking()], user)
    assert (batch.status, json.loads(batch.text), batch.retry_after) == (status, {"detail": reason}, retry)
    told = served.told(user)
    assert [one[0] for one in told] == ["before"] * (len(paths) + 2)
    thread = paths[-1].split("/")[2]
    assert served.client.json("GET", f"/threads/{thread}", None, user)["status"] == "idle"
    assert served.client.json("GET", f"/threads/{thread}/runs", None, user) == []


def test_what_was_decided_is_not_asked_again(served: Served) -> None:
    for path in ways(served.client, "ada"):
        assert served.client.ask("POST", path, asking(), "ada").status == 200
    told = served.told("ada", until=12)
    before = [one for one in told if one[0] == "before"]
    after = [one for one in told if one[0] == "after"]
    assert sorted(one[1] for one in before) == sorted(one[1] for one in after)
    assert {(one[3], one[4], one[5], one[6]["value"]) for one in after} == {("support", "success", "pro", "hi!")}
    assert {one[3] for one in before} == {"support"}


def test_a_batch_of_which_one_is_refused_begins_no_run(served: Served) -> None:
    found = served.client.ask("POST", "/runs/batch", [asking(), asking("refuse me"), asking()], "bob")
    assert (found.status, json.loads(found.text)) == (403, {"detail": "not that"})
    accepted = served.client.json("POST", "/runs/batch", [asking(), asking()], "bob")
    assert len(accepted) == 2
    told = served.told("bob", until=7)
    assert sorted(one[0] for one in told) == ["after", "after", *["before"] * 5]
    assert {one[1] for one in told if one[0] == "after"} == {one["run_id"] for one in accepted}


def test_interrupts_resumption_and_failures(served: Served) -> None:
    client, user = served.client, "carl"
    thread = client.json("POST", "/threads", {}, user)["thread_id"]
    client.json("POST", f"/threads/{thread}/runs/wait", asking("ask"), user)
    resumed = {"assistant_id": "support", "command": {"resume": "yes"}}
    assert client.json("POST", f"/threads/{thread}/runs/wait", resumed, user)["value"] == "yes"
    client.ask("POST", f"/threads/{thread}/runs/wait", asking("fail"), user)
    told = served.told(user, until=6)
    assert [(one[0], one[4] if one[0] == "after" else one[-1]) for one in told if one[0] != "before"] == [
        ("after", "interrupted"),
        ("after", "success"),
        ("error", "ValueError"),
    ]


def test_a_run_that_is_cancelled(served: Served) -> None:
    client, user = served.client, "dora"
    thread = client.json("POST", "/threads", {}, user)["thread_id"]
    run = client.json("POST", f"/threads/{thread}/runs", asking("wait"), user)["run_id"]
    served.began()
    assert client.ask("POST", f"/threads/{thread}/runs/{run}/cancel?wait=true", {}, user).status in (200, 202, 204)
    told = served.told(user, until=2)
    assert told[1:] == [["error", run, user, "CancelledError"]]


def test_a_cron_whose_runs_are_refused_goes_on(served: Served) -> None:
    """Its schedule is in the server's hands: it looks for due ones every few seconds."""
    client, user = served.client, "eve"
    known = len(served.told(user))
    cron = client.json("POST", "/runs/crons", asking(schedule="* * * * * *"), user)["cron_id"]
    try:
        told = served.told(user, until=known + 2, seconds=30)[known:]
    finally:
        assert client.ask("DELETE", f"/runs/crons/{cron}", None, user).status in (200, 204)
    assert {(one[0], one[3]) for one in told} == {("before", "support")}
    assert len({one[1] for one in told}) == len(told)


def test_a_refusal_reaches_a_client_of_event_streams(served: Served) -> None:
    client, user = served.client, "eve"
    thread = client.json("POST", "/threads", {}, user)["thread_id"]
    asked = {"id": 1, "method": "run.start", "params": asking()}
    found = client.json("POST", f"/threads/{thread}/commands", asked, user)
    assert (found["type"], found["message"]) == ("error", "not paid")


def test_the_doctor_does_not_import_it(tmp_path: Path) -> None:
    """It cannot be imported before it is started."""
    ran = Folder(tmp_path).run(*SPANHOOK, "doctor", "--require", "langgraph_api")
    assert ran.returncode == 0, ran.stderr
    assert "ready: " in ran.stdout
