"""Hand-offs: a ``Command`` leaves an agent's graph for the enclosing graph, which continues with another agent.

Commands belong to LangGraph, which LangChain does not require, so they are recognized by their shape. If a hand-off is
refused, the tool that asked for it returns an error result, so that its model can go on; see also
``langgraph.handoffs``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage, ToolMessage, convert_to_messages

from spanhook import semconv
from spanhook.instrument.langchain_core.control import PARENT
from spanhook.instrument.langchain_core.messages import to_message
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Editing,
    Following,
    Kwargs,
    Reading,
    Record,
    Request,
    current_record,
)

UNNAMED = "LangGraph"
"""LangGraph's default name for graphs."""

_END = "__end__"

Target = tuple[str, Any]
"""A node of the enclosing graph, and its input."""


def targets(command: Any) -> list[Target]:
    """The nodes of the enclosing graph that a command goes to; none if it only ends the current graph."""
    goto = command.goto
    found: list[Target] = []
    for one in goto if isinstance(goto, list | tuple) else (goto,):
        node, given = (one, command.update) if isinstance(one, str) else (getattr(one, "node", ""), one)
        if node and node != _END:
            found.append((node, given))
    return found


@dataclass(frozen=True, slots=True)
class Handoff:
    """One hand-off.

    Attributes:
        targets: Its targets.
        tool: The tool that asked for it, if one did.
        call_id: The id of the tool call.
    """

    targets: Sequence[Target]
    tool: str = ""
    call_id: str = ""


# ----------------------------------------------------------------------------------------------- finding hand-offs

_asked: "WeakKeyDictionary[Record, list[str]]" = WeakKeyDictionary()
"""The nodes that tools asked for and were allowed, by the agent the tools belong to."""


def tool_handoffs(
    instance: Any, _args: Args, kwargs: Kwargs, result: Any, error: BaseException | None
) -> Iterable[Following]:
    """The hand-offs that a tool call asks for."""
    call_id = kwargs.get("tool_call_id")
    if call_id is None or error is not None or isinstance(result, str | ToolMessage):
        return ()
    commands = [one for one in (result if isinstance(result, list | tuple) else (result,)) if _leaves(one)]
    agent = _agent(current_record())
    if not commands or agent is None or "|" not in _namespace(kwargs):
        return ()  # without an enclosing graph, nothing takes it
    return _ask(agent, [Handoff(targets(one), instance.name, call_id) for one in commands])


def _ask(agent: Record, handoffs: Iterable[Handoff]) -> Iterator[Following]:
    for handoff in handoffs:
        if handoff.targets:
            yield Following(DELEGATE, handoff)
            _asked.setdefault(agent, []).extend(node for node, _ in handoff.targets)


def not_asked(found: Sequence[Target]) -> list[Target]:
    """The targets of a command leaving the current agent that none of its tools asked for.

    LangGraph copies and combines the commands that tools return, so only the node identifies them.
    """
    agent = current_record()
    asked = _asked.get(agent, ()) if agent is not None else ()
    return [one for one in found if one[0] not in asked]


def _leaves(result: Any) -> bool:
    return type(result).__name__ == "Command" and result.graph == PARENT


def _agent(op: Record | None) -> Record | None:
    while op is not None and op.kind != "agent.invoke":
        op = op.parent
    return op


def _namespace(kwargs: Kwargs) -> str:
    """The namespace in which a tool runs: a segment for each nested graph."""
    config = kwargs.get("config") or {}
    return (config.get("configurable") or {}).get("checkpoint_ns") or ""


# ----------------------------------------------------------------------------------------------- reading hand-offs


def explicit_name(graph: Any) -> str:
    """The name that a graph was given; empty if it has only the default name."""
    name = graph.name
    return name if name and name != UNNAMED else ""


def _agent_names(handoff: Handoff) -> list[str]:
    """The names of the target agents: of the graph in the node, if it was given a name, else of the node."""
    agent = _agent(current_record())
    team = _agent(agent.parent) if agent is not None else None
    nodes = getattr(team.instance, "nodes", None) if team is not None else None
    names: list[str] = []
    for target, _ in handoff.targets:
        inside = getattr((nodes or {}).get(target), "subgraphs", ())
        names.append((explicit_name(inside[0]) if len(inside) == 1 else "") or target)
    return list(dict.fromkeys(names))


def delegate_start(handoff: Handoff, _args: Args, _kwargs: Kwargs) -> Attributes:
    around = current_record()
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: "langgraph",
        semconv.GEN_AI_AGENT_NAME: ",".join(_agent_names(handoff)),
        semconv.DELEGATING_AGENT: around.agent if around is not None else "",
    }
    if handoff.call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = handoff.call_id
    return attributes


def delegate_names(handoff: Handoff, _args: Args, _kwargs: Kwargs) -> frozenset[str]:
    """The names of the target agents, and of their nodes."""
    return frozenset((*_agent_names(handoff), *(node for node, _ in handoff.targets)))


def delegate_request(handoff: Handoff, _args: Args, _kwargs: Kwargs) -> Request:
    """What is handed over."""
    payloads = [getattr(given, "arg", given) for _, given in handoff.targets]
    messages: list[BaseMessage] = []
    for payload in payloads:
        told = payload.get("messages") if isinstance(payload, Mapping) else None
        messages += convert_to_messages(told if isinstance(told, list) else [told] if told is not None else [])
    return Request(
        messages=[to_message(message) for message in messages],
        inputs=payloads[0] if len(payloads) == 1 else payloads,
    )


def delegate_rejected(handoff: Handoff, _args: Args, _kwargs: Kwargs, reason: str) -> ToolMessage | None:
    """The error result that tells the model why, if a tool call asked for the hand-off."""
    if not handoff.call_id:
        return None
    return ToolMessage(
        content=f"Hand-off to {', '.join(_agent_names(handoff))} rejected: {reason}",
        name=handoff.tool,
        tool_call_id=handoff.call_id,
        status="error",
    )


def delegate_answer(_handoff: Handoff, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a hand-off cannot be answered, only refused")


DELEGATE = Adapter(
    kind="agent.delegate",
    layer="langchain.handoff",
    start=delegate_start,
    reading=Reading(names=delegate_names, request=delegate_request),
    editing=Editing(rejected=delegate_rejected, answer=delegate_answer),
)
