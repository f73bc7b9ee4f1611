"""Turns of LiteLLM's harnesses, which run an agent.

The agent of a harness may be in this process, such as LiteLLM's own loop, or be a program. LiteLLM serves models to
such a program, from this process: these calls belong to the turn that is running. Deep Agents is a graph of LangGraph,
which is gated as that.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from spanhook import semconv
from spanhook.identity import ByIdentity
from spanhook.instrument.identities import ids_in
from spanhook.instrument.signatures import Signature
from spanhook.instrument.wire import messages_in, one_prompt, text_in
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Change,
    Editing,
    EndDetails,
    Kwargs,
    Message,
    Reading,
    Record,
    Request,
    Streaming,
    Usage,
    Within,
    current_record,
    exact_text,
)

PROVIDER = "litellm"
TURN_CALL = Signature("prompt", "control", "interactive")


def said_by(text: Any, role: str = "assistant") -> list[Message]:
    """Text as messages in role/parts form."""
    return [{"role": role, "parts": [{"type": "text", "content": text}]}] if isinstance(text, str) and text else []


def text_of(value: Any, expected: str) -> str:
    """The text of an answer: text, or messages in role/parts form.

    Raises:
        TypeError: It is neither; ``expected`` says what is.
    """
    return text_in(part for message in messages_in(value, expected, key="parts") for part in message["parts"])


# ------------------------------------------------------------------------------------------------- turns of a harness


def turn_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of a turn; ``None`` for one of Deep Agents."""
    return None if _harness(instance) == "deepagents" else TURN


def _harness(session: Any) -> str:
    return str(getattr(session.ctx.harness, "value", session.ctx.harness))


def turn_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: _harness(instance)}


def turn_identity(instance: Any, _args: Args, _kwargs: Kwargs) -> Mapping[str, str]:
    """User and tenant of what the application gave the session; the session's own id."""
    found = ids_in((instance.ctx.metadata,))
    found["session_id"] = found["session_id"] or exact_text(instance.ctx.session_id)
    return {name: value for name, value in found.items() if value}


def turn_metadata(instance: Any, _args: Args, _kwargs: Kwargs) -> Mapping[str, Any]:
    return dict(instance.ctx.metadata or {})


def turn_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    prompt = TURN_CALL.given(args, kwargs, "prompt")
    return Request(messages=said_by(prompt, "user"), system=str(instance.ctx.instructions or ""), inputs=prompt)


def turn_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    prompt = TURN_CALL.given(args, kwargs, "prompt") if change.inputs is None else change.inputs
    if change.messages is not None:
        prompt = text_of(one_prompt(change.messages), "a prompt is text or messages")
    return TURN_CALL.having(args, kwargs, prompt=prompt)


def turn_answer(instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    from litellm.harness.types import Result
    from litellm.harness.types import Usage as Used

    if isinstance(value, Result):
        return value
    return Result(
        text=text_of(value, "a turn's answer is a Result, text or messages"),
        output=None,
        files=[],
        events=[],
        usage=Used(),
        cost=0.0,
        stop_reason="done",
        session_id=instance.ctx.session_id,
    )


def turn_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    from litellm.harness.types import Done

    result = turn_answer(instance, args, kwargs, value)
    instance.record(result)
    return (Done(result),)


def turn_output(result: Any) -> list[Message]:
    return said_by(getattr(result, "text", None))


def turn_fault(result: Any) -> str:
    """Why a turn has ended before its agent was done; one that the application cancelled has not failed."""
    reason = getattr(result, "stop_reason", "done")
    return "" if reason in ("done", "cancelled") else str(reason)


class Turn:
    """The events of a turn, of which the last has its result."""

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self._result: Any = None
        self._op = current_record()

    def add(self, chunk: Any) -> bool:
        result = getattr(chunk, "result", None)
        if hasattr(result, "stop_reason"):
            self._result, self.complete = result, True
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        """Nothing is reported here but how it has ended: tokens are counted by the model calls inside."""
        op = self._op
        if op is not None and self._result is not None:
            op.result = self._result
            if self._result.stop_reason == "cancelled":
                op.part(EndDetails).left = "cancelled"
        return {}, None

    def result(self) -> Any:
        return self._result


TURN = Adapter(
    kind="agent.invoke",
    layer="litellm.turn",
    start=turn_start,
    context=CallContext(identity=turn_identity, metadata=turn_metadata),
    reading=Reading(request=turn_request, output=turn_output, fault=turn_fault),
    editing=Editing(rewrite=turn_rewrite, takes=frozenset(("inputs", "messages")), answer=turn_answer),
    streaming=Streaming(chunks=Turn, answer_chunks=turn_events),
)


# ---------------------------------------------------------------------------------- models that a turn's program calls

_TURNS = ByIdentity[Any, Record]()
"""The running turn of each endpoint by which a program calls models."""


def turn_begins(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Note which turn is running."""
    op, endpoint = current_record(), instance.ctx.endpoint
    if op is not None and endpoint is not None:
        _TURNS[endpoint] = op
    return args, kwargs


def served(instance: Any, _args: Args, _kwargs: Kwargs) -> Within | None:
    """A model call of a turn's program, which arrives in a task of the endpoint's own."""
    op = _TURNS.get(instance)
    return None if op is None or op.ended else Within(op)
