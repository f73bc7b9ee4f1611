"""LangGraph's own server, in memory: it hands every write to memory on to an inner store, in a task of its own.

It is installed in an environment of its own, since it wants other versions of what it shares with the rest.
"""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.commands import SPANHOOK, Folder
from tests.instrument.langgraph_api.serving import ALONE, AUTH, Client, dev
from tests.ports import free_port

HOOKS = """
import json
from spanhook import Hooks, Reject

hooks = Hooks()

@hooks.before("memory.store", "embeddings.create", "agent.invoke")
def known_users_only(op):
    if not op.identity.user_id or op.identity.tenant_id:
        raise Reject("who are you?", status_code=401)

@hooks.after("memory.store", "embeddings.create", "agent.invoke")
@hooks.on_error("memory.store", "embeddings.create", "agent.invoke")
def tell(op):
    about = [op.kind, op.name, op.status, op.agent, op.identity.user_id, op.root.kind]
    with open("told", "a") as told:
        told.write(json.dumps(about) + "\\n")
"""
GRAPH = """
from langchain_core.embeddings import Embeddings
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph

class Meaning(Embeddings):
    def embed_documents(self, texts):
        return [[float(len(text)), 1.0] for text in texts]

    def embed_query(self, text):
        return [float(len(text)), 1.0]

    # The store's own task must not wait for a thread: nodes that wait for that task may have them all.
    async def aembed_documents(self, texts):
        return self.embed_documents(texts)

    async def aembed_query(self, text):
        return self.embed_query(text)

embed = Meaning()

def first(state):
    user = state["messages"][-1].text
    get_store().put(("sync", user), "k", {"text": user})
    return {}

async def second(state):
    user = state["messages"][-1].text
    await get_store().aput(("async", user), "k", {"text": user})
    await get_store().aput(("gone", user), "k", {"text": user}, index=False)
    await get_store().adelete(("gone", user), "k")
    found = await get_store().asearch(("async", user), query="who?")
    return {"messages": [("ai", found[0].value["text"])]}

builder = StateGraph(MessagesState)
builder.add_node("first", first)
builder.add_node("second", second)
builder.add_edge(START, "first")
builder.add_edge("first", "second")
graph = builder.compile()
"""
CONFIG = {
    "dependencies": ["."],
    "graphs": {"support": "./graph.py:graph"},
    "auth": {"path": "./auth.py:auth"},
    "store": {"index": {"embed": "./graph.py:embed", "dims": 2, "fields": ["text"]}},
}
USERS = [f"user {number}" for number in range(6)]


def ask(port: int, user: str) -> Any:
    """Run the graph as a user who claims to be another."""
    body = {
        "assistant_id": "support",
        "input": {"messages": [{"role": "user", "content": user}]},
        "context": {"user_id": "somebody else", "tenant_id": "another"},
    }
    return Client(port).json("POST", "/runs/wait", body, user)


@pytest.mark.parametrize("way_in", ["spanhook run", "instrument"])
def test_every_write_is_gated_once_and_for_the_user_who_signed_in(way_in: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path).write(hooks=HOOKS, auth=AUTH)
    added = "" if way_in == "spanhook run" else "\nimport spanhook, hooks\nspanhook.instrument(hooks.hooks)\n"
    folder.write(graph=GRAPH + added).file("langgraph.json", json.dumps(CONFIG))
    port = free_port()
    command = dev(port, "--n-jobs-per-worker", "6")
    if way_in == "spanhook run":
        command = (*SPANHOOK, "run", "--hooks", "hooks.py:hooks", "--", *command)
    with folder.server(*command, port=port, **ALONE):
        with ThreadPoolExecutor(len(USERS)) as at_once:
            answers = list(at_once.map(lambda user: ask(port, user), USERS))
        kept = Client(port).json("POST", "/store/items/search", {"namespace_prefix": ["async"]}, "nobody")
    assert [answer["messages"][-1]["content"] for answer in answers] == USERS
    assert sorted(one["value"]["text"] for one in kept["items"]) == USERS
    ended = Counter(tuple(json.loads(line)) for line in (tmp_path / "told").read_text().splitlines())
    expected = Counter[tuple[Any, ...]]()
    for user in USERS:
        expected["agent.invoke", "support", "success", "support", user, "run"] = 1
        for namespace, writes in (("sync", 1), ("async", 1), ("gone", 2)):
            written = ("memory.store", f"{namespace}/{user}", "success", "support", user, "run")
            expected[written] = writes
    assert Counter({one: count for one, count in ended.items() if one[0] != "embeddings.create"}) == expected
    # What is written at once is embedded at once, for one of those who wait.
    embedded = {one[2:] for one in ended if one[0] == "embeddings.create"}
    assert embedded <= {("success", "support", user, "run") for user in USERS}
    assert embedded
