"""Hooks for whole runs: who may run which agent, how often, an audit log, and what each run used.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
python run_hooks.py
"""

import asyncio
import logging
import sys
from collections import Counter
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from openai import AsyncOpenAI

import spanhook
from spanhook.runs import RejectRun, RunContext, RunHooks

hooks = RunHooks()
audit = logging.getLogger("audit")

PAID_AGENTS = {"research-agent"}
SUBSCRIBED = {"ann"}
MOST_RUNS = 2
runs: Counter[str] = Counter()


# Gates: once one refuses a run, no further one is called.


@hooks.before_run
async def limit_runs(ctx: RunContext) -> None:
    runs[ctx.user.identity] += 1
    if runs[ctx.user.identity] > MOST_RUNS:
        raise hooks.RejectRun("Too many runs", status_code=429)


@hooks.before_run
async def paid_agents_for_subscribers(ctx: RunContext) -> None:
    if ctx.graph_id in PAID_AGENTS and ctx.user.identity not in SUBSCRIBED:  # here you would ask your database
        raise hooks.RejectRun("Active subscription required", status_code=402)


# An audit log: every run that starts has a line for its start and one for its end.


@hooks.before_run
async def log_start(ctx: RunContext) -> None:
    audit.info("started: %s for %s in %s", ctx.graph_id, ctx.user.identity, ctx.thread_id)


@hooks.after_run
async def log_end(ctx: RunContext) -> None:
    audit.info("ended: %s as %s", ctx.graph_id, ctx.status)


@hooks.on_run_error
async def log_error(ctx: RunContext) -> None:
    audit.info("failed: %s with %s", ctx.graph_id, ctx.error_type)


# Independent hooks: if one of these fails, that is logged, and the others still run.


@hooks.after_run
async def report_usage(ctx: RunContext) -> None:
    for model, used in ctx.extras.get("usage_metadata", {}).items():
        audit.info("used: %d tokens of %s by %s", used["total_tokens"], model, ctx.user.identity)


@hooks.after_run
@hooks.on_run_error
async def notify(ctx: RunContext) -> None:
    if ctx.status != "success":
        raise ConnectionError("here you would page somebody")


# The application, which does not know about the hooks.

client = AsyncOpenAI()


async def answer(state: MessagesState) -> Any:
    question = str(state["messages"][-1].content)
    if not question:
        raise ValueError("nothing was asked")
    reply = await client.responses.create(model="gpt-4o-mini", input=question)
    return {"messages": [("assistant", reply.output_text)]}


def agent(name: str) -> Any:
    graph: Any = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(name=name)


async def ask(name: str, user: str, question: str) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": f"{user}-1", "user_id": user}}
    try:
        said = await agent(name).ainvoke({"messages": [("user", question)]}, config)
        print(f"{user}: {said['messages'][-1].text}")
    except RejectRun as refusal:
        print(f"{user}: {refusal.message} ({refusal.status_code})")
    except ValueError as error:
        print(f"{user}: {error}")


async def main() -> None:
    await ask("small-talk", "bob", "hello")
    await ask("research-agent", "bob", "Is water wet?")
    await ask("research-agent", "ann", "Is water wet?")
    await ask("small-talk", "ann", "")
    await ask("small-talk", "ann", "hello")


if __name__ == "__main__":
    audit.addHandler(logging.StreamHandler(sys.stdout))
    audit.setLevel(logging.INFO)
    spanhook.instrument(hooks)
    asyncio.run(main())
