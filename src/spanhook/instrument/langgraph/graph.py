"""Graphs: one invocation is one ``agent.invoke``, however it was started."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langgraph import types

from spanhook import semconv
from spanhook.instrument.langchain_core.messages import read, rewrite, system_of, to_message, with_system
from spanhook.instrument.langchain_core.results import output_message
from spanhook.instrument.langgraph import announcing
from spanhook.instrument.langgraph.agents import agent_id, agent_name, config, graph_identity, metadata
from spanhook.instrument.langgraph.handoffs import graph_handoffs
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Change,
    Editing,
    EndDetails,
    InnerCalls,
    Kwargs,
    Message,
    Reading,
    Record,
    Request,
    Streaming,
    copied,
    copied_dataclass,
    copies,
    current,
    current_record,
    first,
    with_first,
)

PROVIDER = "langgraph"

copies(types.Command, types.Interrupt)(copied_dataclass)
if hasattr(types, "GraphOutput"):  # not in LangGraph 1.0
    copies(types.GraphOutput)(copied_dataclass)


@copies(types.Send)
def copied_send(send: Any) -> Any:
    """A packet for a node, which is not a dataclass in every version."""
    twin = copy.copy(send)
    object.__setattr__(twin, "arg", copied(send.arg))
    return twin


def graph_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: agent_name(instance, args, kwargs),
    }
    assistant = agent_id(instance, args, kwargs)
    if assistant:
        attributes[semconv.GEN_AI_AGENT_ID] = assistant
    return attributes


def _input_messages(given: Any) -> Sequence[BaseMessage] | None:
    """The messages in a graph's input, if its state has messages."""
    messages = given.get("messages") if isinstance(given, Mapping) else None
    if messages is None:
        return None
    return convert_to_messages(messages if isinstance(messages, list) else [messages])


def graph_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = first(args, kwargs, "input")
    messages = [to_message(message) for message in _input_messages(given) or ()]
    return Request(messages=messages, system=system_of(messages), inputs=given)


def graph_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = first(args, kwargs, "input")
    if change.inputs is not None:
        given = change.inputs
    if change.messages is not None or change.system is not None:
        messages = _input_messages(given)
        if messages is None:
            raise ValueError("this graph's input has no messages; use op.replace(inputs=...)")
        new: Any = change.messages
        messages = rewrite(messages, new) if new is not None else list(messages)
        if change.system is not None:
            messages = with_system(messages, change.system)
        given = {**given, "messages": messages}
    return with_first(args, kwargs, "input", given)


def graph_output(result: Any) -> list[Message]:
    messages = result.get("messages") if isinstance(result, Mapping) else None
    if not messages or not isinstance(messages[-1], BaseMessage):
        return []
    return [output_message(messages[-1])]


def loop_left(instance: Any, _args: Args, _kwargs: Kwargs, suppressed: Any) -> None:
    """A graph's loop has ended: keep its output, which a stream's chunks may not contain.

    LangGraph ends a run that was interrupted as if it had succeeded; ``suppressed`` says that it was.
    """
    op = current_record()
    if op is None or op.kind != "agent.invoke":
        return
    op.result = getattr(instance, "output", None)
    if suppressed:
        op.part(EndDetails).left = "interrupted"


def graph_answer(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """The final state for a hook's answer; text becomes the last message if the graph's state has messages."""
    messages = _input_messages(first(args, kwargs, "input"))
    if isinstance(value, str) and messages is not None:
        return {"messages": [*messages, AIMessage(content=value)]}
    return value


def graph_chunks(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterator[Any]:
    """The final state, once for every stream mode that can express it."""
    state = graph_answer(instance, args, kwargs, value)
    mode = kwargs.get("stream_mode") or instance.stream_mode
    modes = list(mode) if isinstance(mode, list | tuple) else [mode]
    subgraphs = bool(kwargs.get("subgraphs"))
    payloads = {"values": state, "updates": {"spanhook": state}}
    for one in modes:
        if one not in payloads:
            continue
        if kwargs.get("version") == "v2":
            part: Any = {"type": one, "ns": (), "data": payloads[one]}
            yield {**part, "interrupts": ()} if one == "values" else part
        elif isinstance(mode, list):
            yield ((), one, payloads[one]) if subgraphs else (one, payloads[one])
        else:
            yield ((), payloads[one]) if subgraphs else payloads[one]


def invoke_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What ``invoke`` would have returned: the final state, or the chunks of another stream mode."""
    mode = kwargs.get("stream_mode", "values")
    if mode != "values":
        return list(graph_chunks(instance, args, {**kwargs, "stream_mode": mode}, value))
    state = graph_answer(instance, args, kwargs, value)
    if kwargs.get("version") == "v2":
        output = getattr(types, "GraphOutput", None)  # LangGraph 1.0 has only one version
        return state if output is None else output(value=state)
    return state


def graph_announce(instance: Any, args: Args, kwargs: Kwargs, state: Any, is_async: bool) -> Any:
    return announcing.run(
        instance, args, kwargs, state, lambda: graph_chunks(instance, args, kwargs, state), is_async=is_async
    )


def invoke_announce(instance: Any, args: Args, kwargs: Kwargs, result: Any, is_async: bool) -> Any:
    output = getattr(types, "GraphOutput", None)
    state = result.value if output is not None and isinstance(result, output) else result
    stream = announcing.run(instance, args, kwargs, state, lambda: iter(()), is_async=is_async)
    return announcing.whole(stream, result, is_async=is_async)


LAYER, INVOKE_LAYER = "langgraph", "langgraph.invoke"
GRAPH = Adapter(
    kind="agent.invoke",
    layer=LAYER,
    start=graph_start,
    context=CallContext(identity=graph_identity, metadata=metadata, config=config),
    reading=Reading(request=graph_request, message=read, output=graph_output, system_in_messages=True),
    editing=Editing(
        rewrite=graph_rewrite,
        takes=frozenset(("inputs", "messages", "system")),
        answer=graph_answer,
        announce=graph_announce,
    ),
    streaming=Streaming(answer_chunks=graph_chunks),
    follows=graph_handoffs,
)
INVOKE = replace(
    GRAPH,
    layer=INVOKE_LAYER,
    editing=replace(GRAPH.editing, answer=invoke_answer, announce=invoke_announce),
    streaming=None,
)


def streamed(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of a stream; ``None`` if ``invoke`` begins with it, whose operation it is then."""
    op = current.get()
    if type(op) is not Record or op.adapter.layer != INVOKE_LAYER or op.instance is not instance or op.inner.opened:
        return GRAPH
    op.part(InnerCalls).opened = True
    return None if op.called and not op.ended else GRAPH
