"""A small session with two tools and an agent, hooks and a permission callback: with spanhook and without."""

from importlib import import_module
from typing import Any

import anyio
import pytest

from spanhook import Hooks
from spanhook.cli.conformance.libraries.claude_agent_sdk_ways import options, sdk, server
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder

from .scripted import OTHER, Script, bash, hook, nested, use

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
    "Stop",
)


class Application:
    """A session that uses a tool of the program, one of its own, and an agent."""

    def __init__(self) -> None:
        self.told, self.permitted, self.given = list[Any](), list[Any](), list[Any]()

        @sdk.tool("add", "Add two numbers.", {"first": int, "second": int})
        async def add(args: dict[str, Any]) -> dict[str, Any]:
            self.given.append(args)
            return {"content": [{"type": "text", "text": str(args["first"] + args["second"])}]}

        agent: dict[str, Any] = {"description": "look", "prompt": OTHER, "subagent_type": "general-purpose"}
        both = bash("echo hi", "toolu_1"), use("mcp__here__add", "toolu_2", first=2, second=3)
        self.line = Script(
            Reply(calls=both),
            Reply(calls=(bash("exit 3", "toolu_3"),)),
            Reply(calls=(use("Agent", "toolu_4", **agent, run_in_background=False),)),
            agent=(Reply(calls=(bash("echo inner", "toolu_5"),)),),
        )
        self.servers = {"here": sdk.create_sdk_mcp_server("here", tools=[add])}

    async def permit(self, name: str, given: Any, _context: Any) -> Any:
        self.permitted.append((name, given))
        return sdk.PermissionResultAllow()

    def options(self, **given: Any) -> Any:
        heard = {event: [sdk.HookMatcher(hooks=[hook(self.told)])] for event in EVENTS}
        return options(
            self.line,
            mcp_servers=self.servers,
            hooks=heard,
            can_use_tool=self.permit,
            permission_mode="default",
            settings="{}",
            **given,
        )

    async def run(self, **given: Any) -> Any:
        found: list[Any] = []
        async with sdk.ClaudeSDKClient(self.options(**given)) as client:
            await client.query("hello")
            found += [message async for message in client.receive_response()]
        return found


def shown(message: Any) -> Any:
    """A message, without what differs each time."""
    content = getattr(message, "content", None)
    subtype = getattr(message, "subtype", "")
    blocks = [type(one).__name__ for one in content] if isinstance(content, list) else content
    return type(message).__name__, subtype, blocks, getattr(message, "parent_tool_use_id", None)


def outcome(application: Application, messages: list[Any]) -> Any:
    result = messages[-1]
    told = sorted(repr(one) for one in application.told if str(one[3]).startswith("toolu_"))  # others have other ids
    events = sorted({one[0] for one in application.told})
    lasting = sorted(map(repr, (shown(one) for one in messages if not isinstance(one, sdk.SystemMessage))))
    sums = result.result, result.is_error, result.num_turns, result.usage["output_tokens"], result.total_cost_usd
    return (
        lasting,
        told,
        events,
        sorted(map(repr, application.permitted)),
        application.given,
        len(application.line),
        sums,
    )


@BACKENDS
def test_what_comes_of_it_is_the_same_as_without(backend: str) -> None:
    def run() -> Any:
        application = Application()
        return outcome(application, anyio.run(application.run, backend=backend))

    without = run()
    hooks = Hooks()
    hooks.before("*")(lambda op: None)
    hooks.after("*")(lambda op: None)
    with recorder(hooks):
        assert run() == without


@BACKENDS
def test_spans(backend: str) -> None:
    application = Application()
    with recorder(Hooks()) as seen:
        anyio.run(application.run, backend=backend)
    turn, chat = "invoke_agent claude", "chat claude-haiku-4-5"
    handed, agent = "delegate_agent general-purpose", "invoke_agent general-purpose"
    assert sorted(nested(seen)) == sorted(
        [
            (turn, ""),
            *[(chat, turn)] * 4,
            *[("execute_tool Bash", turn)] * 2,
            ("execute_tool mcp__here__add", turn),
            (handed, turn),
            (agent, handed),
            *[(chat, agent)] * 2,
            ("execute_tool Bash", agent),
        ]
    )
    used = [op.usage for op in seen.operations if op.name == "claude"]
    assert [one.total_tokens for one in used] == [application.line.tokens]


def test_events_of_hooks_that_the_application_asks_for() -> None:
    async def main() -> list[str]:
        application = Application()
        found = await application.run(include_hook_events=True)
        return sorted(one.hook_event_name for one in found if isinstance(one, sdk.HookEventMessage))

    without = anyio.run(main)
    with recorder(Hooks()):
        assert anyio.run(main) == without


def test_two_sessions_at_once_are_told_apart() -> None:
    applications = Application(), Application()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for one in applications:
                group.start_soon(one.run)

    with recorder(Hooks()) as seen:
        anyio.run(main)
    turns = [op for op in seen.operations if op.name == "claude"]
    assert [op.usage.total_tokens for op in turns] == [one.line.tokens for one in applications]
    assert [op.usage.tool_calls for op in turns] == [4, 4]


def test_nothing_is_left_behind() -> None:
    query: Any = import_module("claude_agent_sdk._internal.query").Query
    before = {name: vars(query)[name] for name in ("__init__", "receive_messages", "stream_input")}
    with recorder(Hooks()):
        anyio.run(Application().run)
    assert {name: vars(query)[name] for name in before} == before
    assert server().port
