"""Graphs of agents that hand off to each other, as supervisors and swarms are made."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.tools import InjectedState
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send


class Lines(BaseChatModel):
    """A chat model that says one line after the other: text, or the names of tools to call with no arguments."""

    lines: list[Any]

    @property
    def _llm_type(self) -> str:
        return "lines"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        line = self.lines.pop(0)
        if isinstance(line, str):
            message = AIMessage(content=line)
        else:
            calls = [{"name": name, "args": {}, "id": f"call {name}", "type": "tool_call"} for name in line]
            message = AIMessage(content="", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def transfer_to(node: str, *, with_send: bool = False) -> BaseTool:
    """A tool that hands off, with the conversation and what the model is told."""

    @tool(f"transfer_to_{node}")
    def transfer(
        state: Annotated[dict[str, Any], InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command[str]:
        """Hand off."""
        told = [*state["messages"], ToolMessage("transferred", tool_call_id=tool_call_id)]
        if with_send:
            return Command(graph=Command.PARENT, goto=[Send(node, {"messages": told})])
        return Command(graph=Command.PARENT, goto=node, update={"messages": told})

    return transfer


def member(name: str, lines: Sequence[Any], tools: Sequence[BaseTool] = (), **options: Any) -> Any:
    """An agent that says these lines."""
    return create_agent(Lines(lines=list(lines)), tools=list(tools), name=name, **options)


def asker(node: Callable[[Any], Any], name: str = "asker") -> Any:
    """A graph of one node."""
    builder: Any = StateGraph(MessagesState)
    builder.add_node("asking", node)
    builder.add_edge(START, "asking")
    return builder.compile(name=name)


def team(nodes: dict[str, Any], *, name: str = "team", retry_policy: Any = None, **options: Any) -> Any:
    """A graph of agents that starts with the first."""
    builder: Any = StateGraph(MessagesState)
    for node, agent in nodes.items():
        builder.add_node(node, agent, retry_policy=retry_policy, destinations=tuple(nodes))
    builder.add_edge(START, next(iter(nodes)))
    return builder.compile(name=name, **options)


def swarm(lines: Sequence[Any] = (("transfer_to_bob",), "I go on"), **options: Any) -> Any:
    """Alice, who hands off to Bob at once, and Bob."""
    return team(
        {"alice": member("alice", lines, [transfer_to("bob")]), "bob": member("bob", ["Bob here"])},
        **options,
    )


def hands_off(_state: Any) -> Command[str]:
    """A node that hands off to Bob without a tool."""
    return Command(graph=Command.PARENT, goto="bob", update={"messages": [("user", "over to you")]})


def asking_swarm(**options: Any) -> Any:
    """A graph that hands off to Bob without a tool, and Bob."""
    return team({"alice": asker(hands_off, name="alice"), "bob": member("bob", ["Bob here"])}, **options)
