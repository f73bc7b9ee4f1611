"""Runs of agents: their spans and usage, refused and rewritten ones, unfinished ones, agents inside others."""

import asyncio
import threading
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import ASK, Way, all_ways, go, refusing, run, scripted, told

ADDING: Any = ([("add", {"a": 1, "b": 2})], "It is 3.")


def adding(body: Body | None = None) -> Agent[Any, Any]:
    agent = Agent(scripted(body, *ADDING), name="helper", instructions="Be brief.")

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add numbers."""
        return a + b

    return agent


# ------------------------------------------------------------------------------------------------ spans


@all_ways
def test_one_operation_each(way: Way) -> None:
    with recorder() as seen:
        assert go(way, adding()) == "It is 3."
    assert told(seen) == [
        ("llm.call", "scripted", "success"),
        ("tool.execute", "add", "success"),
        ("llm.call", "scripted", "success"),
        ("agent.invoke", "helper", "success"),
    ]
    (root,) = seen.tree()
    assert [child["name"] for child in root["children"]] == ["chat scripted", "execute_tool add", "chat scripted"]
    assert root["name"] == "invoke_agent helper"
    assert root["attributes"]["gen_ai.provider.name"] == "pydantic_ai"


def test_usage_is_that_of_its_calls() -> None:
    with recorder() as seen:
        go(run, adding())
    used = seen.operations[-1].usage
    assert (used.input_tokens, used.output_tokens, used.llm_calls, used.tool_calls) == (20, 10, 2, 1)
    assert (used.cache_read_tokens, used.reasoning_tokens) == (8, 4)


def test_the_variable_names_an_agent_without_a_name() -> None:
    """As the library has it, also of a block, which it finds through the frames of its callers."""

    async def block() -> None:
        helper = Agent(scripted())
        await helper.run(ASK)
        finder = Agent(scripted())
        async with finder.iter(ASK) as going:
            async for _ in going:
                pass

    with recorder() as seen:
        asyncio.run(block())
    assert [op.name for op in seen.operations if op.kind == "agent.invoke"] == ["helper", "finder"]


def test_nothing_stays_current() -> None:
    async def both() -> None:
        agent = adding()
        async with agent.iter(ASK) as going:
            async for _ in going:
                pass
        await Agent(scripted(), name="other").run(ASK)

    with recorder() as seen:
        asyncio.run(both())
    assert [root["name"] for root in seen.tree()] == ["invoke_agent helper", "invoke_agent other"]


# ------------------------------------------------------------------------------------------------ refused


@all_ways
def test_a_refused_run_does_nothing(way: Way) -> None:
    body = Body()
    with recorder(refusing("agent.invoke")) as seen, pytest.raises(Reject, match="not now"):
        go(way, adding(body))
    assert body.runs == 0
    assert told(seen) == [("agent.invoke", "helper", "rejected")]


def test_a_refused_run_in_its_own_loop() -> None:
    body = Body()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            adding(body).run_sync(ASK)
        except BaseException as error:
            raised.append(error)
        finally:
            asyncio.get_event_loop_policy().get_event_loop().close()  # pyright: ignore[reportDeprecated]

    with recorder(refusing("agent.invoke")):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert [type(one) for one in raised] == [Reject]
    assert body.runs == 0


@all_ways
def test_a_result_that_is_refused(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.after("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not that")

    with recorder(hooks), pytest.raises(Reject, match="not that"):
        go(way, adding(body))
    assert body.runs == 2


@all_ways
def test_a_run_that_is_ended_from_inside(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("enough", scope="run")

    with recorder(hooks) as seen, pytest.raises(Reject, match="enough"):
        go(way, adding(body))
    assert body.runs == 1
    assert told(seen)[-1] == ("agent.invoke", "helper", "rejected")


# ------------------------------------------------------------------------------------------------ requests


@all_ways
def test_a_rewritten_prompt(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("agent.invoke")
    def rewrite(op: Operation) -> None:
        op.replace(inputs="Greet her.")

    with recorder(hooks):
        go(way, Agent(scripted(body), name="helper"))
    assert body.seen[0][0].parts[0].content == "Greet her."


def test_a_run_cannot_be_answered(caplog: pytest.LogCaptureFixture) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("agent.invoke")
    def answer(op: Operation) -> None:
        op.respond("hello")

    with recorder(hooks), pytest.raises(Reject):
        go(run, Agent(scripted(body), name="helper"))
    assert body.runs == 0
    assert "cannot be answered" in caplog.text


# ------------------------------------------------------------------------------------------------ results


class City(BaseModel):
    name: str


@all_ways
def test_a_typed_output(way: Way) -> None:
    seen: list[Any] = []
    hooks = Hooks()

    @hooks.after("agent.invoke")
    def look(op: Operation) -> None:
        seen.append(op.result)

    agent = Agent(scripted(None, [("final_result", {"name": "Rome"})]), name="helper", output_type=City)
    with recorder(hooks) as found:
        assert go(way, agent) == City(name="Rome")
    assert [one.output for one in seen] == [City(name="Rome")]
    assert told(found)[-1] == ("agent.invoke", "helper", "success")


def test_a_run_that_is_left_early() -> None:
    async def leave() -> None:
        async with adding().iter(ASK) as going:
            async for _ in going:
                break

    with recorder() as seen:
        asyncio.run(leave())
    assert told(seen)[-1] == ("agent.invoke", "helper", "abandoned")


def test_a_run_that_its_block_ends_with_an_error() -> None:
    async def leave() -> None:
        async with adding().iter(ASK):
            raise ZeroDivisionError("mine")

    with recorder() as seen, pytest.raises(ZeroDivisionError, match="mine"):
        asyncio.run(leave())
    assert told(seen) == [("agent.invoke", "helper", "error")]


def test_a_block_that_is_never_left() -> None:
    async def drop() -> None:
        context = adding().iter(ASK)
        await context.__aenter__()

    with recorder() as seen:
        asyncio.run(drop())
    assert [op.kind for op in seen.operations] == ["agent.invoke"]


def test_a_cancelled_run() -> None:
    started = asyncio.Event()

    async def cancel() -> None:
        agent = Agent(scripted(None, [("wait", {})]), name="helper")

        @agent.tool_plain
        async def wait() -> None:
            started.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(agent.run(ASK))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder() as seen:
        asyncio.run(cancel())
    ended = sorted(told(seen)[-2:])
    assert ended == [("agent.invoke", "helper", "cancelled"), ("tool.execute", "wait", "cancelled")]


# ------------------------------------------------------------------------------------------------ identity, delegation


@dataclass
class Deps:
    user_id: Any
    tenant_id: str
    thread_id: str


@pytest.mark.parametrize("user", ["ann", 7, UUID(int=7)])
def test_identity_comes_from_dependencies_and_the_conversation(user: Any) -> None:
    agent = Agent(scripted(), name="helper", deps_type=Deps)
    with recorder() as seen:
        asyncio.run(agent.run(ASK, deps=Deps(user, "acme", "s1")))
    identity = seen.operations[0].identity
    assert (identity.user_id, identity.tenant_id, identity.session_id) == (str(user), "acme", "s1")


@all_ways
def test_an_agent_inside_a_tool(way: Way) -> None:
    inner = Agent(scripted(None, "found"), name="inner")
    outer = Agent(scripted(None, [("ask", {})], "done"), name="outer")

    @outer.tool_plain
    async def ask() -> str:
        return (await inner.run("Find it.")).output

    with recorder() as seen:
        go(way, outer)
    (root,) = seen.tree()
    tool = next(child for child in root["children"] if child["name"] == "execute_tool ask")
    assert [child["name"] for child in tool["children"]] == ["invoke_agent inner"]
    assert seen.operations[-1].usage.llm_calls == 3
