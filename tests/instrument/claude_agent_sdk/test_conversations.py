"""Agents that the program starts: hand-offs, their runs, and what happens in their conversations."""

from pathlib import Path
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.claude_agent_sdk_ways import sdk
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder

from .scripted import OTHER, Script, ask, bash, nested, result, statuses, use, wrote

PATIENCE = 30.0


def starting(*turns: Reply, background: bool = False) -> Script:
    asked: dict[str, Any] = {"description": "look", "prompt": OTHER, "subagent_type": "general-purpose"}
    call = use("Agent", "toolu_agent", **asked, run_in_background=background)
    return Script(Reply(calls=(call,)), agent=turns)


def test_an_agent_is_a_delegation_with_a_run_in_it(tmp_path: Path) -> None:
    line = starting(Reply(calls=(bash(wrote(tmp_path / "trace"), "toolu_inner"),)))
    with recorder(Hooks()) as seen:
        ask(line)
    run, handed = "invoke_agent general-purpose", "delegate_agent general-purpose"
    found = nested(seen)
    assert (handed, "invoke_agent claude") in found
    assert (run, handed) in found
    assert ("execute_tool Bash", run) in found
    assert ("chat claude-haiku-4-5", run) in found
    assert ("execute_tool Agent", "invoke_agent claude") not in found
    (turn,) = [op for op in seen.operations if op.name == "claude"]
    assert turn.usage.total_tokens == line.tokens


def test_tools_of_an_agent_are_gated(tmp_path: Path) -> None:
    hooks, where, agents = Hooks(), tmp_path / "trace", list[Any]()

    @hooks.before("tool.execute", timeout=PATIENCE)
    def refuse(op: Operation) -> None:
        agents.append(op.agent)
        raise Reject("not by agents")

    with recorder(hooks):
        ask(starting(Reply(calls=(bash(wrote(where), "toolu_inner"),))))
    assert not where.exists()
    assert agents == ["general-purpose"]


def test_a_refused_agent_is_not_started() -> None:
    for kind in ("agent.delegate", "agent.invoke"):
        hooks, line = Hooks(), starting()

        @hooks.before(kind, names={"general-purpose"}, timeout=PATIENCE)
        def refuse(_op: Operation) -> None:
            raise Reject("alone")

        with recorder(hooks) as seen:
            assert result(ask(line)).result == "all done"
        assert "alone" in line.told("toolu_agent")
        assert len(line) == 2
        assert statuses(seen, kind)[0] == "rejected"


def test_what_an_agent_is_asked_is_rewritten() -> None:
    hooks, line = Hooks(), starting()
    rewritten = f"{OTHER} But quickly."
    hooks.before("agent.invoke", names={"general-purpose"}, timeout=PATIENCE)(lambda op: op.replace(inputs=rewritten))
    with recorder(hooks):
        ask(line)
    assert any("But quickly." in repr(seen.body["messages"][0]) for seen in line)


@pytest.mark.parametrize("kind", ["agent.delegate", "agent.invoke"])
def test_what_a_permission_callback_has_an_agent_asked_is_gated_too(kind: Any) -> None:
    hooks, line = Hooks(), starting()

    @hooks.before(kind, names={"general-purpose"}, timeout=PATIENCE)
    def refuse(op: Operation) -> None:
        if "secret" in repr(op.request.messages):
            raise Reject("no secrets")

    async def permit(_name: str, given: dict[str, Any], _context: Any) -> Any:
        return sdk.PermissionResultAllow(updated_input={**given, "prompt": f"{OTHER} secret"})

    ask_for = '{"permissions": {"ask": ["Agent", "Task"]}}'
    with recorder(hooks) as seen:
        ask(line, permission_mode="default", can_use_tool=permit, settings=ask_for)
    assert "no secrets" in line.told("toolu_agent")
    assert not any("secret" in repr(one.body["messages"][0]) for one in line)
    assert statuses(seen, "agent.delegate") == ["cancelled", "rejected"]


def test_an_agent_in_the_background_is_gated_after_the_turn(tmp_path: Path) -> None:
    hooks, where = Hooks(), tmp_path / "trace"

    @hooks.before("tool.execute", timeout=PATIENCE)
    def refuse(_op: Operation) -> None:
        raise Reject("not by agents")

    line = starting(Reply(calls=(bash(f"sleep 1; {wrote(where)}", "toolu_inner"),)), background=True)
    with recorder(hooks) as seen:
        ask(line)
    assert not where.exists()
    assert statuses(seen, "tool.execute") == ["rejected"]
    runs = [op for op in seen.operations if op.kind == "agent.invoke"]
    assert {op.name for op in runs} == {"claude", "general-purpose"}
    assert sum(value for _, value in seen.metrics()["spanhook.usage.tokens"]) == line.tokens
