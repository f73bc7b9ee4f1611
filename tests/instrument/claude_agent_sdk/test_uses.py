"""Tools of the program itself: asked about before they run, and their results after."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.claude_agent_sdk_ways import options, sdk
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder

from .scripted import Script, ask, bash, decisions, hook, result, statuses, use, wrote

PATIENCE = 30.0


def refusing(text: str, **given: Any) -> Hooks:
    """A gate that refuses tools whose input has this text."""
    hooks = Hooks()

    @hooks.before("tool.execute", timeout=PATIENCE)
    def refuse(op: Operation) -> None:
        if text in repr(op.request.arguments):
            raise Reject("not this one", **given)

    return hooks


def test_a_refused_tool_does_not_run_and_the_model_is_told(tmp_path: Path) -> None:
    where = tmp_path / "trace"
    line = Script(Reply(calls=(bash(wrote(where)),)))
    with recorder(refusing("trace")) as seen:
        found = result(ask(line))
    assert not where.exists()
    assert found.result == "all done"
    assert "not this one" in line.told("toolu_1")
    assert statuses(seen, "tool.execute") == ["rejected"]
    assert statuses(seen, "agent.invoke") == ["success"]


@pytest.mark.parametrize(
    "given",
    [
        {"settings": json.dumps({"disableAllHooks": True})},
        {"permission_mode": "acceptEdits", "allowed_tools": ["Bash"]},
        {"settings": json.dumps({"permissions": {"allow": ["Bash(*)"]}})},
    ],
    ids=["hooks off", "allowed", "allowed by settings"],
)
def test_no_setting_lets_a_refused_tool_run(tmp_path: Path, given: dict[str, Any]) -> None:
    where = tmp_path / "trace"
    with recorder(refusing("trace")):
        ask(Script(Reply(calls=(bash(wrote(where)),))), **given)
    assert not where.exists()


def test_of_tools_used_at_once_only_the_refused_one_does_not_run(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    line = Script(Reply(calls=(bash(wrote(one), "toolu_1"), bash(wrote(other), "toolu_2"))))
    with recorder(refusing("other")) as seen:
        ask(line)
    assert one.exists()
    assert not other.exists()
    assert "not this one" in line.told("toolu_2")
    assert line.told("toolu_1") == "wrote"
    assert sorted(statuses(seen, "tool.execute")) == ["rejected", "success"]


def test_a_refusal_of_the_run_stops_it(tmp_path: Path) -> None:
    where = tmp_path / "trace"
    line = Script(Reply(calls=(bash(wrote(where)),)))
    with recorder(refusing("trace", scope="run", status_code=402)) as seen, pytest.raises(Reject) as refused:
        ask(line)
    assert refused.value.status_code == 402
    assert not where.exists()
    assert len(line) == 1  # the model is not asked again
    assert statuses(seen, "agent.invoke") == ["rejected"]


def test_input_is_rewritten(tmp_path: Path) -> None:
    hooks, where = Hooks(), tmp_path / "other"

    @hooks.before("tool.execute", timeout=PATIENCE)
    def elsewhere(op: Operation) -> None:
        op.replace(arguments={**op.request.arguments, "command": wrote(where)})

    with recorder(hooks):
        ask(Script(Reply(calls=(bash(wrote(tmp_path / "trace")),))))
    assert where.exists()
    assert not (tmp_path / "trace").exists()


def test_rewritten_input_is_no_permission(tmp_path: Path) -> None:
    hooks, where = Hooks(), tmp_path / "other"
    hooks.before("tool.execute", timeout=PATIENCE)(lambda op: op.replace(arguments={"command": wrote(where)}))
    line = Script(Reply(calls=(bash("echo hi"),)))
    with recorder(hooks) as seen:
        ask(line, permission_mode="dontAsk")
    assert not where.exists()
    assert line.told("toolu_1") is not None
    assert statuses(seen, "tool.execute") == ["error"]


# ------------------------------------------------------------------------------------------------- results


def test_a_result_is_replaced_by_text(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.after("tool.execute", timeout=PATIENCE)(lambda op: op.respond("nothing to see"))
    line = Script(Reply(calls=(bash(wrote(tmp_path / "trace")),)))
    with recorder(hooks):
        ask(line)
    assert line.told("toolu_1") == "nothing to see"


def test_a_refused_result_does_not_get_to_the_model(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.after("tool.execute", timeout=PATIENCE, priority=50)
    def refuse(_op: Operation) -> None:
        raise Reject("secret")

    line = Script(Reply(calls=(bash("echo 12345"),)))
    with recorder(hooks):
        ask(line)
    assert "12345" not in line.told("toolu_1")
    assert "secret" in line.told("toolu_1")
    (tmp_path / "file").write_text("12345")
    line = Script(Reply(calls=(use("Read", file_path=str(tmp_path / "file")),)))
    with recorder(hooks), pytest.raises(Reject, match="secret"):  # its result has a form of its own
        ask(line)
    assert len(line) == 1


def test_what_fails_has_failed() -> None:
    with recorder(Hooks()) as seen:
        ask(Script(Reply(calls=(bash("exit 3"),))))
    assert statuses(seen, "tool.execute") == ["error"]


def test_a_tool_of_the_program_cannot_be_answered_in_its_place(tmp_path: Path) -> None:
    hooks, where = Hooks(), tmp_path / "trace"
    hooks.before("tool.execute", timeout=PATIENCE)(lambda op: op.respond("made up"))
    line = Script(Reply(calls=(bash(wrote(where)),)))
    with recorder(hooks) as seen:
        ask(line)
    assert not where.exists()
    assert "made up" not in line.told("toolu_1")
    assert decisions(seen, "tool.execute") == ["error"]


# ------------------------------------------------------------------------------------------------- the application's own


@pytest.mark.parametrize("pause", [0.0, 0.2], ids=["fast", "slow"])
def test_what_hooks_of_the_application_make_of_an_input_is_what_gates_see(tmp_path: Path, pause: float) -> None:
    where, told = tmp_path / "trace", list[Any]()

    async def rewrite(given: Any, call_id: Any, context: Any) -> Any:
        await anyio.sleep(pause)
        told.append(given["tool_input"]["command"])
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": wrote(where)}}}

    matchers = [sdk.HookMatcher(hooks=[rewrite]), sdk.HookMatcher(matcher="Bash", hooks=[hook(told)])]
    with recorder(refusing("trace")):
        ask(Script(Reply(calls=(bash("echo hi"),))), hooks={"PreToolUse": matchers})
    assert not where.exists()
    assert len(told) == 2


def test_what_a_permission_callback_makes_of_an_input_is_gated_too(tmp_path: Path) -> None:
    where, told = tmp_path / "trace", list[Any]()

    async def permit(_name: str, given: dict[str, Any], _context: Any) -> Any:
        told.append(dict(given))
        given["command"] = wrote(where)  # in place
        return sdk.PermissionResultAllow()

    line = Script(Reply(calls=(bash(wrote(tmp_path / "first")),)))
    with recorder(refusing("trace")) as seen:
        ask(line, permission_mode="default", can_use_tool=permit, settings="{}")
    assert told
    assert not where.exists()
    assert "not this one" in line.told("toolu_1")
    assert statuses(seen, "tool.execute") == ["cancelled", "rejected"]


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_tool_whose_input_a_permission_callback_changes_is_one_call(tmp_path: Path, phase: str) -> None:
    hooks, where = Hooks(), tmp_path / "trace"

    @getattr(hooks, phase)("tool.execute", timeout=PATIENCE)
    def check(op: Operation) -> None:
        if phase == "after" and "trace" in repr(op.request.arguments):
            raise Reject("not this result")

    async def permit(_name: str, given: dict[str, Any], _context: Any) -> Any:
        return sdk.PermissionResultAllow(updated_input={**given, "command": wrote(where)})

    line = Script(Reply(calls=(bash("echo hi"),)))
    with recorder(hooks) as seen:
        ask(line, permission_mode="default", can_use_tool=permit, settings='{"permissions": {"ask": ["Bash(*)"]}}')
    assert where.exists()
    assert ("not this result" if phase == "after" else "wrote") in line.told("toolu_1")
    (turn,) = [op for op in seen.operations if op.kind == "agent.invoke"]
    assert turn.usage.tool_calls == 1
    assert [op.called for op in seen.operations if op.kind == "tool.execute"] == [False, True]


def test_what_the_application_denies_is_no_operation(tmp_path: Path) -> None:
    where = tmp_path / "trace"
    deny = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}
    with recorder(Hooks()) as seen:
        ask(
            Script(Reply(calls=(bash(wrote(where)),))),
            hooks={"PreToolUse": [sdk.HookMatcher(hooks=[hook([], deny)])]},
        )
    assert not where.exists()
    assert statuses(seen, "tool.execute") == []


def test_the_options_of_the_application_stay_as_they_are() -> None:
    matcher = sdk.HookMatcher(matcher="Bash", hooks=[hook([])])
    given = options(Script(), hooks={"PreToolUse": [matcher]})
    before = {event: list(matchers) for event, matchers in given.hooks.items()}

    async def main() -> None:
        async for _ in sdk.query(prompt="hello", options=given):
            pass

    with recorder(Hooks()):
        anyio.run(main)
    assert given.hooks == before
    assert matcher.hooks == before["PreToolUse"][0].hooks


# ------------------------------------------------------------------------------------------------- around the question


def test_input_that_a_command_of_the_settings_rewrites_is_refused_once_it_has_run(tmp_path: Path) -> None:
    """The program asks all hooks at once, and takes the answer that comes last."""
    where = tmp_path / "trace"
    told = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": wrote(where)}}}
    (tmp_path / "answer").write_text(json.dumps(told))
    command = {"type": "command", "command": f"sleep 0.5; cat {tmp_path / 'answer'}"}
    settings = json.dumps({"hooks": {"PreToolUse": [{"matcher": "", "hooks": [command]}]}})
    line = Script(Reply(calls=(bash("echo hi"),)))
    with recorder(refusing("trace")) as seen, pytest.raises(Reject, match="not this one"):
        ask(line, settings=settings)
    assert where.exists()
    assert len(line) == 1
    assert decisions(seen, "tool.execute") == ["attempted"]


Program: Any = import_module("claude_agent_sdk._internal.transport.subprocess_cli").SubprocessCLITransport


class Deaf(Program):
    """A transport of the application's own, by which the program learns of no hook."""

    async def write(self, data: str) -> None:
        said = json.loads(data)
        if said.get("request", {}).get("subtype") == "initialize":
            said["request"].pop("hooks")
            data = json.dumps(said) + "\n"
        await super().write(data)


def test_a_tool_that_runs_unasked_is_refused_once_it_has_run(tmp_path: Path) -> None:
    where = tmp_path / "trace"
    line = Script(Reply(calls=(bash(wrote(where)),)))

    async def main() -> None:
        given = options(line)
        async for _ in sdk.query(prompt="hello", options=given, transport=Deaf(prompt="", options=given)):
            pass

    with recorder(refusing("trace")) as seen, pytest.raises(Reject, match="not this one"):
        anyio.run(main)
    assert where.exists()
    assert decisions(seen, "tool.execute") == ["attempted"]
    assert statuses(seen, "agent.invoke") == ["rejected"]
