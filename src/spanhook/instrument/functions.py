"""Functions of the application that an SDK runs because a model asked for it, as operations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.model import ALONE, Adapter, Args, Attributes, Change, Editing, Kwargs, Message, Nesting, Reading, Request

Read = Callable[[Any, Args, Kwargs], Any]
"""Reads something from a call, given ``(instance, args, kwargs)``."""


def _nothing(_instance: Any, _args: Args, _kwargs: Kwargs) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Functions:
    """The functions that one method runs.

    Attributes:
        layer: The layer of their adapter.
        name: The function's name.
        arguments: Its arguments by name.
        with_arguments: The call with other arguments; ``None`` if these cannot be changed.
        description, call_id: What the model is told about the function, and the id of the model's call; or empty.
        output: What the function returned, given the method's result.
        answer: The method's result for what a hook answered with.
        rejected: The method's result that tells the model of a refusal; ``None`` to have it raised.
        error: The exception that the SDK tells the model of, given why the call was refused.
        fault: Why a result that the method returned is an error, as an ``error.type``; empty if it is none.
        nesting: How calls inside it are recognized.
    """

    layer: str
    name: Read
    arguments: Read
    with_arguments: Callable[[Any, Args, Kwargs, dict[str, Any]], tuple[Args, Kwargs]] | None = None
    description: Read = _nothing
    call_id: Read = _nothing
    output: Callable[[Any], Any] = lambda result: result
    answer: Callable[[Any, Args, Kwargs, Any], Any] = lambda _instance, _args, _kwargs, value: value
    rejected: Callable[[Any, Args, Kwargs, str], Any] | None = None
    error: Callable[[str], BaseException] | None = None
    fault: Callable[[Any], str] | None = None
    nesting: Nesting = ALONE

    def adapter(self) -> Adapter:
        return Adapter(
            kind="tool.execute",
            layer=self.layer,
            start=self._start,
            reading=Reading(request=self._request, output=self._messages, fault=self.fault),
            editing=Editing(
                rewrite=self._rewrite if self.with_arguments is not None else None,
                takes=frozenset(("arguments",)) if self.with_arguments is not None else frozenset(),
                answer=self.answer,
                rejected=None if self.rejected is None else self._rejected,
                native_error=None if self.error is None else self._native_error,
            ),
            nesting=self.nesting,
        )

    def _start(self, instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
        attributes: Attributes = {
            semconv.GEN_AI_TOOL_NAME: self.name(instance, args, kwargs),
            semconv.GEN_AI_TOOL_TYPE: "function",
        }
        for key, read in (
            (semconv.GEN_AI_TOOL_CALL_ID, self.call_id),
            (semconv.GEN_AI_TOOL_DESCRIPTION, self.description),
        ):
            value = read(instance, args, kwargs)
            if value and isinstance(value, str):
                attributes[key] = value
        return attributes

    def _request(self, instance: Any, args: Args, kwargs: Kwargs) -> Request:
        given = self.arguments(instance, args, kwargs)
        return Request(
            arguments=dict(cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else {"input": given}
        )

    def _rewrite(self, instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
        assert self.with_arguments is not None
        return self.with_arguments(instance, args, kwargs, dict(change.arguments or {}))

    def _messages(self, result: Any) -> list[Message]:
        return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": self.output(result)}]}]

    def _rejected(self, instance: Any, args: Args, kwargs: Kwargs, reason: str) -> Any:
        assert self.rejected is not None
        return self.rejected(instance, args, kwargs, told(reason))

    def _native_error(self, _instance: Any, _args: Args, _kwargs: Kwargs, reject: Reject) -> BaseException:
        assert self.error is not None
        return self.error(told(reject.reason))


def told(reason: str) -> str:
    """What a model is told of a refusal."""
    return f"Tool call rejected: {reason}"
