"""An application on Aegra, served for real, and a client of it."""

import http.client
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.commands import SPANHOOK, Folder
from tests.ports import free_port

GRAPH = """
import asyncio
from typing import Annotated, TypedDict
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

class State(TypedDict):
    messages: Annotated[list, add_messages]

usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
model = FakeMessagesListChatModel(responses=[AIMessage("hello", usage_metadata=usage)])

async def answer(state):
    said = state["messages"][-1].content
    with open("began", "a") as began:
        began.write(said + "\\n")
    while said in ("ask", "ask again"):
        said = interrupt("go on?")
    if said == "slow" and open("began").read().count(said) == 1:
        await asyncio.sleep(60)
    if said == "fail":
        raise ValueError("out of paper")
    return {"messages": [await model.ainvoke(said)]}

graph = StateGraph(State).add_node("answer", answer).set_entry_point("answer").compile()
"""

AUTH = """
from langgraph_sdk import Auth

auth = Auth()

@auth.authenticate
async def authenticate(headers):
    named = headers.get("x-user") or headers.get(b"x-user") or b"ada"
    name = named.decode() if isinstance(named, bytes) else named
    return {"identity": name, "display_name": name.title(), "org_id": "acme", "permissions": ["run"], "plan": "gold"}
"""

HOOKS = """
import asyncio
import json
import os
import spanhook
from spanhook import Hooks, Reject
from spanhook.runs import RunHooks

hooks = RunHooks(timeout=60)
inner = Hooks()
spanhook.instrument(inner)

@inner.before("llm.call")
def models(op):
    if op.identity.user_id == "stopped":
        raise Reject("no more models", scope="run")

def text(given):
    # what the last message says, or what answers a thread that waits
    messages = (given or {}).get("messages") or [{"content": (given or {}).get("resume")}]
    return str(messages[-1]["content"])

def told(name, ctx, **more):
    said = {"hook": name, "pid": os.getpid(), "run": ctx.run_id, "thread": ctx.thread_id, "graph": ctx.graph_id}
    said |= {"assistant": ctx.assistant_id, "user": ctx.user.identity, "org": ctx.user.org_id}
    said |= {"plan": getattr(ctx.user, "plan", None), "input": ctx.input, "metadata": dict(ctx.metadata)}
    said |= {"config": ctx.config}
    with open("told", "a") as file:
        file.write(json.dumps({**said, **more}, default=str) + "\\n")

@hooks.before_run
async def gate(ctx):
    told("before", ctx)
    ctx.metadata["asked"] = True
    if ctx.user.identity == "eve":
        raise hooks.RejectRun("not paid", 402)
    if ctx.user.identity == "mallory":
        reject = hooks.RejectRun("too many", 429)
        reject.retry_after = 7
        raise reject
    if ctx.user.identity == "later" and os.path.exists("closed"):
        raise hooks.RejectRun("closed now", 403)
    if ctx.user.identity == "broken":
        raise LookupError("no such table")
    said = text(ctx.input)
    while said.endswith("in the end") and not os.path.exists("decide"):
        await asyncio.sleep(0.05)
    if said.startswith("forbidden"):
        raise hooks.RejectRun("not that", 403)
    if ctx.user.identity == "sometimes" and ctx.input.get("resume", "yes") != "yes":
        raise Reject(ctx.input["resume"])

@inner.after("run", "agent.invoke", "llm.call")
def operations(op):
    with open("operations", "a") as file:
        file.write(f"{op.kind} {op.name} {op.root.kind} {op.identity.run_id}\\n")

@hooks.after_run
async def ended(ctx):
    told("after", ctx, status=ctx.status, output=ctx.output, usage=ctx.extras.get("usage_metadata"))

@hooks.on_run_error
async def failed(ctx):
    told("error", ctx, error=ctx.error, type=ctx.error_type)
"""

CONFIG = {"graphs": {"agent": "./graph.py:graph"}, "auth": {"path": "./auth.py:auth"}}
QUICK = {"CRON_POLL_INTERVAL_SECONDS": "1", "CRON_ALLOW_SECONDS_SCHEDULE": "true", "LOG_LEVEL": "WARNING"}
"""Settings of Aegra's that make it do soon what it does from time to time."""
TRACED = {"OTEL_CONSOLE_EXPORT": "true"}
"""Settings of Aegra's that make it use OpenInference."""
BROKER = {
    "REDIS_BROKER_ENABLED": "true",
    "WORKER_COUNT": "1",
    "REAPER_INTERVAL_SECONDS": "1",
    "STUCK_PENDING_THRESHOLD_SECONDS": "1",
    "LEASE_DURATION_SECONDS": "3",
    "HEARTBEAT_INTERVAL_SECONDS": "1",
}


@dataclass(frozen=True)
class Answer:
    """A response.

    Attributes:
        status, text: Its status and body.
        retry_after: The header ``Retry-After``, if there is one.
    """

    status: int
    text: str
    retry_after: str | None

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Application:
    """An application that is served.

    Attributes:
        folder: Where it runs, and leaves what it tells.
        port: Where it listens.
        process: Its process.
    """

    def __init__(self, folder: Folder, port: int, process: "subprocess.Popen[bytes]") -> None:
        self.folder, self.port, self.process = folder, port, process

    def ask(self, method: str, path: str, body: Any = None, *, user: str = "ada") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {"Content-Type": "application/json", "X-User": user}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return Answer(response.status, response.read().decode(), response.getheader("retry-after"))
        finally:
            connection.close()

    def post(self, path: str, body: Any = None, *, user: str = "ada") -> Answer:
        return self.ask("POST", path, body or {}, user=user)

    def thread(self, user: str = "ada") -> str:
        return self.post("/threads", {}, user=user).json["thread_id"]

    def told(self, hook: str = "", run: str = "") -> list[dict[str, Any]]:
        """What its hooks have told."""
        return [
            one for one in map(json.loads, self._lines("told")) if hook in ("", one["hook"]) and run in ("", one["run"])
        ]

    def began(self) -> list[str]:
        """What its graph was given."""
        return self._lines("began")

    def operations(self) -> list[list[str]]:
        """The kind, name, outermost kind and run of each operation that was not refused and has ended."""
        return [line.split() for line in self._lines("operations")]

    def _lines(self, name: str) -> list[str]:
        path = self.folder.path / name
        return path.read_text().splitlines() if path.exists() else []

    def status(self, thread: str, user: str = "ada") -> str:
        return self.ask("GET", f"/threads/{thread}", user=user).json["status"]

    def run(self, thread: str, run: str, user: str = "ada") -> Any:
        return self.ask("GET", f"/threads/{thread}/runs/{run}", user=user).json

    def forget(self) -> None:
        for name in ("told", "began", "operations", "decide", "closed"):
            (self.folder.path / name).unlink(missing_ok=True)


def eventually(true: Callable[[], Any], seconds: float = 30.0) -> Any:
    """What ``true`` returns once that is something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not so after {seconds} s")


def has(module: str) -> bool:
    """Whether the installed version has a module."""
    return (
        importlib.util.find_spec("aegra_api") is not None
        and importlib.util.find_spec(f"aegra_api.{module}") is not None
    )


def said(text: str, **more: Any) -> dict[str, Any]:
    """The body of a request for a run."""
    return {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": text}]}, **more}


def resumed(answer: str) -> dict[str, Any]:
    """The body of a request that answers what a thread waits for."""
    return {"assistant_id": "agent", "command": {"resume": answer}}


def application(path: Path, hooks: str = HOOKS) -> Folder:
    folder = Folder(path).write(graph=GRAPH, auth=AUTH, hooks=hooks)
    folder.file("aegra.json", json.dumps(CONFIG))
    return folder


@contextmanager
def served(folder: Folder, postgres: int, redis: str = "", **env: str) -> Generator[Application]:
    """The application in ``folder``, with the broker if ``redis`` is the address of one."""
    server = (sys.executable, "-m", "uvicorn", "aegra_api.main:app")
    command = (*SPANHOOK, "run", "--hooks", "hooks.py:hooks", "--require", "aegra,langgraph", "--", *server)
    broker = {**BROKER, "REDIS_URL": redis} if redis else {}
    with serving(folder, command, postgres, **{**broker, **env}) as app:
        yield app


@contextmanager
def serving(folder: Folder, command: Sequence[str], postgres: int, **env: str) -> Generator[Application]:
    """The application that a command serves in ``folder``."""
    port = free_port()
    address = ("--host", "127.0.0.1", "--port", str(port))
    with folder.server(*command, *address, port=port, **{**databases(postgres), **env}) as process:
        yield Application(folder, port, process)


def databases(postgres: int) -> dict[str, str]:
    """Settings of Aegra's for the server on this port of this machine, and for tests."""
    return {
        "POSTGRES_HOST": "127.0.0.1",
        "POSTGRES_PORT": str(postgres),
        "POSTGRES_DB": "postgres",
        "POSTGRES_PASSWORD": "-",
        "AUTH_TYPE": "custom",
        **QUICK,
    }
