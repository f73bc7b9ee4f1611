"""A turn: from a prompt that is written to the program to the result that it reports."""

from collections.abc import Mapping
from typing import Any

from spanhook import semconv
from spanhook.errors import HookError
from spanhook.instrument.formats.anthropic import Messages
from spanhook.instrument.wire import encoded
from spanhook.model import Adapter, Args, Attributes, CallContext, Change, Editing, Kwargs, Message, Reading, Request

PROVIDER = "anthropic"
NAME = "claude"
"""What the program calls its main agent."""

MESSAGES = Messages()


class Turn:
    """What is known of one turn.

    Args:
        agent: The name of the agent.
        session_id: The session's id, as far as it is known.

    Attributes:
        said: The program's report of the result.
    """

    def __init__(self, agent: str, session_id: str) -> None:
        self.agent, self.session_id = agent, session_id
        self.said: Mapping[str, Any] = {}


def turn_start(turn: Turn, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: turn.agent}
    if turn.session_id:
        attributes[semconv.GEN_AI_CONVERSATION_ID] = turn.session_id
    return attributes


def turn_identity(turn: Turn, _args: Args, _kwargs: Kwargs) -> Mapping[str, str]:
    return {"session_id": turn.session_id} if turn.session_id else {}


def body_of(content: Any) -> dict[str, Any]:
    """A prompt as a request of the model's API."""
    return {"messages": [{"role": "user", "content": content}]}


def turn_request(_turn: Turn, args: Args, _kwargs: Kwargs) -> Request:
    return Request(messages=MESSAGES.request(body_of(args[0])).messages, inputs=args[0])


def turn_rewrite(_turn: Turn, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    content = args[0] if change.inputs is None else change.inputs
    if change.messages is not None:
        body = body_of(content)
        MESSAGES.rewrite(body, Change(messages=change.messages))
        if len(body["messages"]) != 1:
            raise ValueError(f"a prompt is one message; messages= has {len(body['messages'])}")
        content = body["messages"][0]["content"]
    if not isinstance(content, str | list):
        raise TypeError(f"a prompt is text or a list of blocks, not {type(content).__name__}")
    return (content,), kwargs


def turn_response(turn: Turn) -> tuple[Attributes, None]:
    """The usage is in the calls of the model."""
    known = turn.said.get("session_id")
    return ({semconv.GEN_AI_CONVERSATION_ID: known} if isinstance(known, str) and known else {}), None


def turn_output(result: Any) -> list[Message]:
    said = result.said.get("result") if isinstance(result, Turn) else result
    return [] if said is None else [{"role": "assistant", "parts": [{"type": "text", "content": str(said)}]}]


def turn_answer(_turn: Turn, _args: Args, _kwargs: Kwargs, value: Any) -> str:
    """What the application reads in place of the program's answer."""
    told = value if isinstance(value, str) else encoded(value)
    if not isinstance(told, str):
        raise HookError(f"cannot answer a prompt with {type(value).__name__}; answer with text")
    return told


def turn_fault(result: Any) -> str:
    """Why the result is an error."""
    said = result.said if isinstance(result, Turn) else {}
    if not said.get("is_error"):
        return ""
    status = said.get("api_error_status")
    return str(status) if status else str(said.get("subtype") or "error")


TURN = Adapter(
    kind="agent.invoke",
    layer="claude_agent_sdk.turn",
    start=turn_start,
    context=CallContext(identity=turn_identity),
    reading=Reading(request=turn_request, response=turn_response, output=turn_output, fault=turn_fault),
    editing=Editing(rewrite=turn_rewrite, takes=frozenset(("inputs", "messages")), answer=turn_answer),
)
