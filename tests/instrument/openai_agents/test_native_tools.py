"""Shells, patches, computers and custom tools: what a refused or rewritten call does on this machine."""

from typing import Any

import agents
import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries import openai_agents_tools as tools
from spanhook.cli.conformance.libraries.openai_agents_ways import Run
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.openai_agents.scripted import Way, both_ways, go, told

MADE: dict[str, Any] = {
    "shell": tools._shell,
    "plain shell": tools._sync_shell,
    "local shell": tools._local_shell,
    "patch": tools._patch,
    **({"custom": tools._custom} if hasattr(agents, "CustomTool") else {}),
}
kinds = pytest.mark.parametrize("make", MADE.values(), ids=MADE)


def refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not on this machine")

    return hooks


def running(way: Way, made: Run) -> Any:
    made.session.close()
    return go(way, made.agent)


@kinds
@both_ways
def test_a_refused_call_does_nothing_and_the_model_is_told_why(way: Way, make: Any) -> None:
    body = Body()
    with recorder(refusing()) as seen:
        result = running(way, make(body))
    assert body.runs == 0
    assert "not on this machine" in str(result.to_input_list())
    assert result.final_output == "All done."
    assert [status for kind, _, status in told(seen) if kind == "tool.execute"] == ["rejected"]


@both_ways
def test_a_refused_computer_ends_the_run(way: Way) -> None:
    """The SDK has no words for a computer that does not obey: only screenshots."""
    body = Body()
    with recorder(refusing()), pytest.raises(Reject, match="not on this machine"):
        running(way, tools._computer(body))
    assert body.runs == 0


@both_ways
def test_names_and_arguments(way: Way) -> None:
    hooks = Hooks()
    found: dict[str, Any] = {}

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        found[op.name] = dict(op.request.arguments)

    with recorder(hooks):
        for make in (tools._shell, tools._local_shell, tools._patch, tools._computer):
            running(way, make(Body()))
    assert found["shell"]["commands"] == ["ls"]
    assert found["local_shell"] == {"command": ["ls"], "env": {}}
    assert found["apply_patch"] == {"type": "update_file", "path": "tea.md", "diff": "+tea"}
    assert found["computer"] == {"actions": [{"type": "type", "text": "tea"}]}


@both_ways
def test_rewritten_commands(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def other(op: Operation) -> None:
        op.replace(arguments={"commands": ["pwd"]})

    with recorder(hooks):
        running(way, tools._shell(body))
    assert body.seen == [["pwd"]]


@pytest.mark.parametrize("changes", [{"type": "delete_file"}, {"mode": "w"}])
@both_ways
def test_a_patch_stays_of_its_sort(way: Way, changes: Any) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("tool.execute")
    def other(op: Operation) -> None:
        op.replace(arguments=changes)

    with recorder(hooks):
        running(way, tools._patch(body))
    assert body.runs == 0


def test_executors_and_editors_stay_what_they_are() -> None:
    editor = tools.Editor(Body())

    async def execute(_request: Any) -> str:
        return ""

    with recorder():
        patch, shell = agents.ApplyPatchTool(editor), agents.ShellTool(execute)
        assert isinstance(patch.editor, tools.Editor)
        assert shell.executor == execute
    assert patch.editor is editor
    assert shell.executor is execute
