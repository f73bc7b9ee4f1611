"""Calls of the model, as far as the program reports them: it makes them itself, and asks nobody.

A message names its input tokens, but of its output only what the model's API tells at the start of a stream. The exact
sums come with the result of a turn: what its messages lack is counted with the last of them.
"""

import asyncio
import re
from collections.abc import Mapping
from contextvars import Context
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.errors import HookError
from spanhook.instrument.claude_agent_sdk.lasting import Lasting
from spanhook.instrument.claude_agent_sdk.turns import MESSAGES, PROVIDER, body_of
from spanhook.instrument.layers import CLAUDE_MODEL
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Editing,
    Kwargs,
    Message,
    Opening,
    Reading,
    Request,
    Usage,
    exact_text,
)


class Answer:
    """One call of the model.

    Args:
        model: The model, as far as it is known before it answers.
        asked: What the program has sent to it last.

    Attributes:
        message: Its answer, as on the wire; the content grows by blocks.
        used: What it used, once that is read.
        rest: What the turn used besides what its messages say, by model.
    """

    def __init__(self, model: str, asked: Any) -> None:
        self.model, self.asked = model, asked
        self.message: dict[str, Any] = {}
        self.used: Usage | None = None
        self.rest: Mapping[str, Usage] = {}

    @property
    def message_id(self) -> str:
        return str(self.message.get("id") or "")

    @property
    def answered_by(self) -> str:
        return exact_text(self.message.get("model") or self.model)

    def hear(self, message: Mapping[str, Any]) -> None:
        """Take the next blocks of the message."""
        content = [*self.message.get("content", ()), *(message.get("content") or ())]
        usage = self.message.get("usage") or message.get("usage")
        self.message = {**message, "content": content, "usage": usage}


_VERSION = re.compile(r"(\[\w+\]|-\d{8})+$")
"""What names of models may end with: the size of a window, and a date."""


def same_model(one: str, other: str) -> bool:
    """Whether two names are those of one model."""
    return _VERSION.sub("", one) == _VERSION.sub("", other)


def answer_start(answer: Answer, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.GEN_AI_PROVIDER_NAME: PROVIDER}
    if answer.model:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = answer.model
    return attributes


def answer_request(answer: Answer, _args: Args, _kwargs: Kwargs) -> Request:
    """What the program has sent last; the rest of the conversation is its own."""
    if answer.asked is None:
        return Request(model=answer.model)
    return Request(messages=MESSAGES.request(body_of(answer.asked)).messages, model=answer.model)


def answer_response(answer: Answer) -> tuple[Attributes, Usage | None]:
    attributes, used = MESSAGES.response(answer.message)
    for model, more in answer.rest.items():
        used = used or Usage()
        used.add(more)
        if len(answer.rest) > 1 and not same_model(answer.answered_by, model):
            used.apart = (*used.apart, (model, more))
    answer.used = used
    return attributes, used


def answer_output(answer: Any) -> list[Message]:
    return MESSAGES.output(answer.message) if isinstance(answer, Answer) else []


def no_answer(_answer: Answer, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise HookError("the program Claude Code calls the model itself; its calls can be neither answered nor rewritten")


ANSWER = Adapter(
    kind="llm.call",
    layer=CLAUDE_MODEL,
    span_kind=SpanKind.CLIENT,
    start=answer_start,
    reading=Reading(request=answer_request, response=answer_response, output=answer_output),
    editing=Editing(answer=no_answer),
    traits=frozenset(("made_elsewhere",)),
)


class Thread:
    """The calls of one conversation with the model, one after the other: the program's own, or one of its agents'.

    Args:
        opening: Opens their operations.

    Attributes:
        lasting: The operation of the call that goes on.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self.lasting: Lasting | None = None
        self._heard: set[str] = set()

    @property
    def answer(self) -> Answer | None:
        """The call that goes on."""
        return None if self.lasting is None else self.lasting.instance

    async def begin(self, answer: Answer, context: Context) -> BaseException | None:
        """The program is about to call the model; returns why the gates refuse that, or ``None``."""
        await self.end()
        lasting = Lasting(self._opening, ANSWER, answer, (), context)
        if not await lasting.begin():
            return lasting.error
        self.lasting = lasting
        return None

    def is_new(self, message: Mapping[str, Any]) -> bool:
        """Whether a message is one of a call that is not known yet."""
        answer, told = self.answer, str(message.get("id") or "")
        return told not in self._heard and (answer is None or bool(answer.message))

    def hear(self, message: Mapping[str, Any]) -> None:
        """The model has answered, or its answer goes on."""
        answer, told = self.answer, str(message.get("id") or "")
        self._heard.add(told)
        if answer is not None and answer.message_id in ("", told):
            answer.hear(message)

    async def end(self, *, shown: bool = True) -> Answer | None:
        """The call is over; returns it if the model has answered. If its answer is not ``shown``, it may have."""
        lasting, self.lasting = self.lasting, None
        if lasting is None:
            return None
        answer: Answer = lasting.instance
        await lasting.end(None if answer.message or not shown else asyncio.CancelledError())
        return answer if answer.message else None
