"""Hooks on requests to LangGraph's own server, in memory: a refusal reaches the client with its status and reason."""

import json
from pathlib import Path

from tests.commands import SPANHOOK, Folder
from tests.instrument.langgraph_api.serving import ALONE, AUTH, Answer, Client, dev
from tests.instrument.langgraph_api.test_writes import GRAPH
from tests.ports import free_port

HOOKS = """
import json
from spanhook import Hooks, Reject

hooks = Hooks()

@hooks.before("request", body=True)
def quota(op):
    with open("told", "a") as told:
        told.write(json.dumps([op.name, op.request.method, op.identity.user_id, len(op.request.body) > 0]) + "\\n")
    if op.identity.user_id == "eve":
        raise Reject("not paid", status_code=402)
    if op.identity.user_id == "mallory":
        raise Reject("too many", status_code=429, retry_after=7)

@hooks.before("agent.invoke")
def never(op):
    with open("told", "a") as told:
        told.write(json.dumps(["agent", op.identity.user_id]) + "\\n")
"""
CONFIG = {
    "dependencies": ["."],
    "graphs": {"support": "./graph.py:graph"},
    "auth": {"path": "./auth.py:auth"},
    "store": {"index": {"embed": "./graph.py:embed", "dims": 2, "fields": ["text"]}},
}


def test_a_refusal_reaches_the_client(tmp_path: Path) -> None:
    folder = Folder(tmp_path).write(hooks=HOOKS, auth=AUTH, graph=GRAPH)
    folder.file("langgraph.json", json.dumps(CONFIG))
    port = free_port()
    command = dev(port)
    client = Client(port)
    body = {"assistant_id": "support", "input": {"messages": [{"role": "user", "content": "hi"}]}}
    with folder.server(*SPANHOOK, "run", "--hooks", "hooks.py:hooks", "--", *command, port=port, **ALONE):
        thread = client.json("POST", "/threads", {}, "ada")["thread_id"]
        ways = [*(f"{above}/runs{how}" for above in ("", f"/threads/{thread}") for how in ("", "/wait", "/stream"))]
        for way in ways:
            assert client.ask("POST", way, body, "eve") == Answer(402, '{"detail":"not paid"}', None)
            assert client.ask("POST", way, body, "mallory") == Answer(429, '{"detail":"too many"}', "7")
        answer = client.ask("POST", "/runs/wait", body, "ada")
        assert (answer.status, "hi" in answer.text) == (200, True)
    told = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    assert [one for one in told if one[0] == "agent"] == [["agent", "ada"]]
    assert ["/threads/{thread_id}/runs/stream", "POST", "eve", True] in told
