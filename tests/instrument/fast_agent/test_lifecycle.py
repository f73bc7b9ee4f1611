"""The starts and shutdowns of fast-agent's agents: its own hooks run once, inside the operations that hooks gate."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import Event, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.fast_agent_ways import (
    AgentConfig,
    AgentsAsToolsAgent,
    PassthroughLLM,
    ToolAgent,
    agent_tool,
    context,
)
from spanhook.cli.conformance.subject import Body

pytestmark = pytest.mark.anyio

CARD_HOOKS = """
import json
from pathlib import Path

async def note(ctx):
    told = {"agent": ctx.agent_name, "id": id(ctx.agent), "hook": ctx.hook_type}
    with Path(__file__).with_name("marks.jsonl").open("a") as marks:
        marks.write(json.dumps(told) + "\\n")

async def fail(ctx):
    raise ValueError("it is broken")
"""


@pytest.fixture
def card(tmp_path: Path) -> Path:
    (tmp_path / "hooks.py").write_text(CARD_HOOKS)
    return tmp_path / "agent.md"


def marks(card: Path) -> list[dict[str, Any]]:
    found = card.with_name("marks.jsonl")
    return [json.loads(line) for line in found.read_text().splitlines()] if found.exists() else []


def config(card: Path, name: str = "helper", **hooks: str) -> Any:
    lifecycle = hooks or {"on_start": "hooks.py:note", "on_shutdown": "hooks.py:note"}
    return AgentConfig(name, "Be brief.", lifecycle_hooks=lifecycle, source_path=card, use_history=False)


def agent_with(card: Path, **hooks: str) -> Any:
    return ToolAgent(config(card, **hooks), (), context())


def watch(hooks: Hooks, card: Path) -> list[tuple[str, str, int]]:
    """What hooks see of lives, and how many of the card's hooks have run by then."""
    seen: list[tuple[str, str, int]] = []

    @hooks.before("agent.lifecycle", priority=500)
    def before(op: Operation) -> None:
        seen.append(("before", op.request.inputs["hook_type"], len(marks(card))))

    @hooks.after("agent.lifecycle")
    def after(op: Operation) -> None:
        seen.append(("after", op.request.inputs["hook_type"], len(marks(card))))

    return seen


async def test_a_cards_hooks_run_once_inside_the_operations(hooks: Hooks, card: Path) -> None:
    seen = watch(hooks, card)
    spanhook.instrument(hooks)
    agent = agent_with(card)
    await agent.initialize()
    assert agent.initialized
    await agent.shutdown()
    await agent.shutdown()
    assert [mark["hook"] for mark in marks(card)] == ["on_start", "on_shutdown"]
    assert seen == [
        ("before", "on_start", 0),
        ("after", "on_start", 1),
        ("before", "on_shutdown", 1),
        ("after", "on_shutdown", 2),
    ]


async def test_agents_without_hooks_start_and_shut_down_too(hooks: Hooks, card: Path) -> None:
    seen = watch(hooks, card)
    spanhook.instrument(hooks)
    agent = ToolAgent(AgentConfig("helper"), (), context())
    await agent.initialize()
    await agent.shutdown()
    assert [(phase, hook) for phase, hook, _ in seen if phase == "before"] == [
        ("before", "on_start"),
        ("before", "on_shutdown"),
    ]


async def test_a_refused_start_is_raised_and_runs_nothing(hooks: Hooks, card: Path) -> None:
    @hooks.before("agent.lifecycle", names={"helper"})
    def refuse(_op: Operation) -> None:
        raise Reject("Not today", status_code=429)

    spanhook.instrument(hooks)
    agent = agent_with(card)
    with pytest.raises(Reject, match="Not today"):
        await agent.initialize()
    assert not agent.initialized
    assert marks(card) == []


@pytest.mark.parametrize("phase", ["before", "after"])
@pytest.mark.parametrize("scope", ["operation", "run"])
async def test_a_refused_shutdown_takes_place_once(hooks: Hooks, card: Path, scope: Any, phase: str) -> None:
    @getattr(hooks, phase)("agent.lifecycle", when=lambda op: op.request.inputs["hook_type"] == "on_shutdown")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today", scope=scope)

    spanhook.instrument(hooks)
    agent = agent_with(card)
    await agent.initialize()
    await agent.shutdown()
    assert not agent.initialized
    assert [mark["hook"] for mark in marks(card)] == ["on_start", "on_shutdown"]


async def test_errors_of_a_cards_hooks_are_the_librarys(hooks: Hooks, card: Path) -> None:
    ended: list[str] = []

    def note(event: Event) -> None:
        ended.append(event.status)

    for phase in ("post", "error"):
        hooks.on(f"agent.lifecycle.{phase}", note)
    spanhook.instrument(hooks)
    agent = agent_with(card, on_start="hooks.py:fail")
    with pytest.raises(Exception, match="on_start"):
        await agent.initialize()
    other = agent_with(card, on_shutdown="hooks.py:fail")
    await other.initialize()
    await other.shutdown()
    assert not other.initialized
    assert hooks.flush(60.0)
    assert ended == ["error", "success", "success"]


class Meeting(PassthroughLLM):
    """Answers once as many of its kind are asked as meet."""

    def __init__(self, barrier: asyncio.Barrier, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._barrier = barrier

    async def _apply_prompt_provider_specific(self, multipart_messages: Any, *args: Any, **kwargs: Any) -> Any:
        await asyncio.wait_for(self._barrier.wait(), 10)
        return await super()._apply_prompt_provider_specific(multipart_messages, *args, **kwargs)


class Calling(PassthroughLLM):
    """Calls the other agent once, as a tool."""

    async def _apply_prompt_provider_specific(self, multipart_messages: Any, *args: Any, **kwargs: Any) -> Any:
        if not multipart_messages[-1].tool_results:
            message = multipart_messages[-1].model_copy(deep=True)
            message.content[0].text = '***CALL_TOOL agent__finder {"message": "tea"}'
            multipart_messages = [*multipart_messages[:-1], message]
        return await super()._apply_prompt_provider_specific(multipart_messages, *args, **kwargs)


async def test_two_concurrent_clones_have_lives_of_their_own(hooks: Hooks, card: Path) -> None:
    lives: list[tuple[str, str]] = []
    runs: list[str] = []

    @hooks.before("agent.lifecycle")
    def note(op: Operation) -> None:
        lives.append((op.name, op.request.inputs["hook_type"]))

    @hooks.after("agent.invoke")
    def ran(op: Operation) -> None:
        runs.append(op.name)

    spanhook.instrument(hooks)
    both = asyncio.Barrier(2)
    child: Any = ToolAgent(config(card, "finder"), (), context())

    def meeting(agent: Any, **given: Any) -> Any:
        return Meeting(both, **given)

    def calling(agent: Any, **given: Any) -> Any:
        return Calling(**given)

    await child.attach_llm(meeting)
    parent: Any = AgentsAsToolsAgent(AgentConfig("parent", "Ask.", use_history=False), [child], context=context())
    await parent.attach_llm(calling)
    assert await asyncio.gather(parent.send("one"), parent.send("two")) == ["tea", "tea"]
    clones = [mark for mark in marks(card) if mark["agent"] != "finder"]
    by_id: dict[int, list[str]] = {}
    for mark in clones:
        by_id.setdefault(mark["id"], []).append(mark["hook"])
    assert len(by_id) == 2
    assert list(by_id.values()) == [["on_start", "on_shutdown"]] * 2
    assert sorted(hook for name, hook in lives if name != "finder") == ["on_shutdown"] * 2 + ["on_start"] * 2
    assert runs.count("parent") == 2
    assert len(runs) == 4


async def test_a_clone_whose_start_is_refused_is_told_to_the_model(hooks: Hooks) -> None:
    @hooks.before("agent.lifecycle", names={"finder[1]"}, when=lambda op: op.request.inputs["hook_type"] == "on_start")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    spanhook.instrument(hooks)
    body = Body()
    assert await agent_tool(body).send('***CALL_TOOL agent__finder {"message": "tea"}') == "Spawn failed: Not today"
    assert body.runs == 0
