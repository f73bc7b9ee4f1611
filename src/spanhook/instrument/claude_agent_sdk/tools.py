"""Tools that the program uses, and agents that it starts by one: how they are read, and what hooks may change."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from spanhook import semconv
from spanhook.errors import HookError
from spanhook.instrument.claude_agent_sdk.turns import PROVIDER, turn_rewrite
from spanhook.instrument.wire import encoded, text_of
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Editing,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Request,
    current_record,
    exact_text,
    in_order,
)

AGENT_TOOLS = frozenset(("Agent", "Task"))
"""The tool that starts an agent, by its newer and its older name."""
DEFAULT_AGENT = "general-purpose"
_MCP = "mcp__"


class Use:
    """One use of a tool.

    Args:
        name: The tool's name, as the program has it.
        call_id: The id of the model's call.
        local: Its server is in this process.

    Attributes:
        result: What it returned.
        failed: Whether it failed instead.
    """

    def __init__(self, name: str, call_id: str, *, local: bool = False) -> None:
        self.name, self.call_id, self.local = name, call_id, local
        self.result: Any = None
        self.failed = False

    @property
    def at_server(self) -> str:
        """The name that a tool of an MCP server has there; empty for other tools."""
        return self.name.removeprefix(_MCP).partition("__")[2] if self.name.startswith(_MCP) else ""


def tool_start(use: Use, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: use.name, semconv.GEN_AI_TOOL_TYPE: "function"}
    if use.call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = use.call_id
    return attributes


def tool_names(use: Use, _args: Args, _kwargs: Kwargs) -> frozenset[str]:
    """A tool's name, and the one that it has at its server."""
    return frozenset(one for one in (use.name, use.at_server) if one)


def tool_request(_use: Use, args: Args, _kwargs: Kwargs) -> Request:
    return Request(arguments=dict(args[0]), inputs=args[0])


def tool_rewrite(_use: Use, _args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    return (dict(given or {}),), kwargs


def tool_carries(_use: Use, args: Args, _kwargs: Kwargs) -> Carried:
    return [in_order(dict(args[0]))]


def tool_output(result: Any) -> list[Message]:
    said = result.result if isinstance(result, Use) else result
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": encoded(said)}]}]


def tool_answer(use: Use, _args: Args, _kwargs: Kwargs, value: Any) -> list[Any]:
    """What the program is told by the server of a tool that is in this process."""
    if not use.local or use.failed:
        raise HookError(
            f"{use.name!r} is a tool of the program Claude Code, which executes it, so it cannot be answered for; "
            "refuse it, or replace its result in an after hook"
        )
    return as_blocks(value)


def tool_amend(result: Any, use: Use, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    """The result that the program passes on to the model instead; it has to be of the tool's own form."""
    before = result.result if isinstance(result, Use) else result
    if use.at_server:
        return as_blocks(value)
    if isinstance(value, str):
        return _with_text(before, value)
    return value


def _with_text(before: Any, text: str) -> Any:
    if isinstance(before, str):
        return text
    told: Any = before if isinstance(before, Mapping) else {}
    if isinstance(told.get("stdout"), str):
        return {**told, "stdout": text, "stderr": ""}
    raise HookError("the program takes no text for this result; replace it by a value of the same form")


def as_blocks(value: Any) -> list[Any]:
    """The content of a result, as servers of tools write it."""
    if isinstance(value, Mapping) and isinstance(value.get("content"), list):
        return cast("list[Any]", value["content"])
    told = encoded(value)
    return told if isinstance(told, list) else [{"type": "text", "text": told}]


TOOL = Adapter(
    kind="tool.execute",
    layer="claude_agent_sdk.tool",
    start=tool_start,
    reading=Reading(names=tool_names, request=tool_request, output=tool_output),
    editing=Editing(
        rewrite=tool_rewrite, takes=frozenset(("arguments", "inputs")), answer=tool_answer, amend=tool_amend
    ),
    nesting=Nesting(role="framework", carries=tool_carries),
)


def _no_answer(use: Use, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise HookError(f"the program has used {use.name!r} already; it cannot be answered in its place")


TOOL_USED = Adapter(
    kind="tool.execute",
    layer="claude_agent_sdk.used",
    start=tool_start,
    reading=Reading(names=tool_names, request=tool_request, output=tool_output),
    editing=Editing(answer=_no_answer),
    traits=frozenset(("made_elsewhere",)),
)
"""A tool that the program has used without asking, or with other arguments than it has asked for."""


# ------------------------------------------------------------------------------------------------- agents


def agent_of(given: Mapping[str, Any]) -> str:
    """The sort of agent that is to be started."""
    return exact_text(given.get("subagent_type")) or DEFAULT_AGENT


def delegation_start(_use: Use, args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: agent_of(args[0])}
    around = current_record()
    if around is not None and around.agent:
        attributes[semconv.DELEGATING_AGENT] = around.agent
    return attributes


def delegation_request(_use: Use, args: Args, _kwargs: Kwargs) -> Request:
    prompt = args[0].get("prompt")
    messages: list[Message] = [{"role": "user", "parts": [{"type": "text", "content": str(prompt)}]}]
    return Request(messages=messages, arguments=dict(args[0]), inputs=prompt)


def agent_output(result: Any) -> list[Message]:
    said = result.result if isinstance(result, Use) else result
    if isinstance(said, Mapping) and isinstance(said.get("content"), list):
        said = "".join(text_of(one.get("text")) for one in said["content"])
    return [{"role": "assistant", "parts": [{"type": "text", "content": encoded(said)}]}]


DELEGATION = Adapter(
    kind="agent.delegate",
    layer="claude_agent_sdk.delegation",
    start=delegation_start,
    reading=Reading(request=delegation_request, output=agent_output),
    editing=Editing(answer=tool_answer),
)


class Started(Use):
    """The run of an agent that was started by a tool.

    Args:
        agent: The sort of agent.
        call_id: The id of the model's call.
    """

    def __init__(self, agent: str, call_id: str) -> None:
        super().__init__(agent, call_id)


def started_start(run: Started, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: run.name}


def started_request(_run: Started, args: Args, _kwargs: Kwargs) -> Request:
    messages: list[Message] = [{"role": "user", "parts": [{"type": "text", "content": str(args[0])}]}]
    return Request(messages=messages, inputs=args[0])


STARTED = Adapter(
    kind="agent.invoke",
    layer="claude_agent_sdk.agent",
    start=started_start,
    reading=Reading(request=started_request, output=agent_output),
    editing=Editing(rewrite=turn_rewrite, takes=frozenset(("inputs", "messages")), answer=tool_answer),
)
DELEGATION_USED, STARTED_USED = (
    replace(
        one,
        layer=f"{one.layer}_used",
        editing=replace(one.editing, rewrite=None, takes=frozenset(), answer=_no_answer),
        traits=one.traits | {"made_elsewhere"},
    )
    for one in (DELEGATION, STARTED)
)
"""An agent that the program has started without asking, or with another prompt than it has asked for."""
