"""Rebuilds operations from recorded spans, in the form in which the chain runs hooks on them.

Knows nothing of the order in which they are replayed.
"""

import asyncio
import builtins
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from spanhook import semconv
from spanhook.cli.replay.content import Content, RecordedRequest, Result, Unrecorded, missed, not_recorded
from spanhook.cli.replay.otlp import RecordedSpan
from spanhook.errors import Reject
from spanhook.model import (
    NOBODY,
    Adapter,
    Args,
    Change,
    Editing,
    EndDetails,
    Identity,
    Kwargs,
    Leaves,
    Message,
    Reading,
    Record,
    Request,
    StreamState,
    Usage,
)

_FIELDS = frozenset(("messages", "system", "arguments", "inputs", "model"))
_CONTENT = frozenset(
    (
        semconv.GEN_AI_INPUT_MESSAGES,
        semconv.GEN_AI_OUTPUT_MESSAGES,
        semconv.GEN_AI_SYSTEM_INSTRUCTIONS,
        semconv.GEN_AI_TOOL_DEFINITIONS,
        semconv.GEN_AI_TOOL_CALL_ARGUMENTS,
        semconv.GEN_AI_TOOL_CALL_RESULT,
        semconv.GEN_AI_RETRIEVAL_QUERY_TEXT,
        semconv.INPUT_VALUE,
        semconv.OUTPUT_VALUE,
    )
)
_OURS = frozenset(value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str))
_CONVENTIONS = ("gen_ai.", "spanhook.", "openai.", "mcp.", "aws.", "http.", "network.", "rpc.", "server.", "error.")


class RecordedError(Exception):
    """Stands for an exception of which only the type is recorded, and perhaps the message."""


class Replayed(Record):
    """The record of a recorded operation; while a hook runs, it can only be read as far as it was recorded."""

    content: Content
    orphan = False
    """What is around it is not recorded."""
    inside: Leaves | None = None
    """What the recorded calls inside of it have used so far."""
    _reading = False

    @property
    def error(self) -> BaseException | None:
        found: BaseException | None = _ERROR.__get__(self)
        if isinstance(found, RecordedError) and missed.get() is not None:
            not_recorded("op.error")
        return found

    @error.setter
    def error(self, value: BaseException | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _ERROR.__set__(self, value)

    @property
    def parent(self) -> Record | None:
        if self.orphan and missed.get() is not None:
            not_recorded("op.parent")
        return _PARENT.__get__(self)

    @parent.setter
    def parent(self, value: Record | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _PARENT.__set__(self, value)

    @property
    def agent(self) -> str:
        found = _AGENT.__get__(self)
        if self.orphan and not found and missed.get() is not None:
            not_recorded("op.agent")
        return found

    @agent.setter
    def agent(self, value: str) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _AGENT.__set__(self, value)

    @property
    def leaves(self) -> Leaves | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What is inside of it. Calls that hooks make now add to something else: what they used then is recorded."""
        return self.inside if self._reading else Leaves()

    @property
    def usage(self) -> Usage:
        self._reading = True
        try:
            return super().usage
        finally:
            self._reading = False

    @property
    def name(self) -> str:
        if self.adapter.target_key == semconv.GEN_AI_REQUEST_MODEL:
            return self.model
        return super().name

    @property
    def model(self) -> str:
        if missed.get() is not None and not self.content.is_original("model"):
            not_recorded("op.model before it was rewritten")
        return super().model


_ERROR, _PARENT, _AGENT = (getattr(Record, name) for name in ("error", "parent", "agent"))
"""The slots."""


# ----------------------------------------------------------------------------------------------- how it is read


def _start(_content: Content, _args: Args, _kwargs: Kwargs) -> dict[str, Any]:
    return {}


def _names(content: Content, _args: Args, _kwargs: Kwargs) -> frozenset[str]:
    """The namespaces that one call to a store works on; the names of a tool that has several."""
    return frozenset(content.names)


def _request(content: Content, _args: Args, instead: Kwargs) -> Request:
    return RecordedRequest(content, instead)


def _rewrite(_content: Content, args: Args, instead: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return args, {**instead, **{name: getattr(change, name) for name in change.fields()}}


def _output(result: Any) -> list[Message]:
    if isinstance(result, Result):
        return result.content.output()
    return [{"role": "assistant", "parts": [{"type": "text", "content": result}]}] if isinstance(result, str) else []


def _tool_output(result: Any) -> list[Message]:
    if isinstance(result, Result):
        return result.content.output()
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": result}]}]


def _fault(result: Any) -> str:
    return result.content.fault if isinstance(result, Result) else ""


_NAMED = ("memory.store", "tool.execute", "agent.delegate")


@cache
def _adapter(kind: str) -> Adapter:
    return Adapter(
        kind=cast("semconv.Kind", kind),
        layer="recording",
        start=_start,
        reading=Reading(
            names=_names if kind in _NAMED else None,
            request=_request,
            output=_tool_output if kind == "tool.execute" else _output,
            fault=_fault,
        ),
        editing=Editing(rewrite=_rewrite, takes=_FIELDS),
    )


# ----------------------------------------------------------------------------------------------- what it was


def rebuilt(span: RecordedSpan, content: Content, parent: Record | None, *, foreign: bool, orphan: bool) -> Replayed:
    """The operation of a span as it began."""
    told = {name: value for name, value in span.attributes.items() if name not in _CONTENT}
    around = cast("Replayed | None", parent)
    op = Replayed(_adapter(content.kind), told, content, (), {}, around, NOBODY, Context(), span.start_ns)
    op.content, op.foreign, op.orphan = content, foreign, orphan
    op.coverage = "best_effort" if foreign else "enforced"
    op.span = NonRecordingSpan(
        SpanContext(int(span.trace_id, 16), int(span.span_id, 16), is_remote=False, trace_flags=TraceFlags(1))
    )
    if content.kind == "agent.invoke":
        op.agent = op.name
    elif parent is not None:
        op.agent = parent.agent
    elif content.kind == "tool.execute":
        op.agent = str(told.get(semconv.GEN_AI_AGENT_NAME, ""))
    op._identity = _identity(span.attributes, op.agent)
    return op


def _identity(found: Mapping[str, Any], agent: str) -> Identity:
    def text(name: str) -> str:
        return str(found.get(name, ""))

    others = {
        name: value
        for name, value in found.items()
        if name not in _OURS and not name.startswith(_CONVENTIONS) and isinstance(value, str | bool | int | float)
    }
    session = text(semconv.SESSION_ID)
    return Identity(
        text(semconv.TENANT_ID),
        text(semconv.USER_ID),
        session,
        text(semconv.RUN_ID),
        agent,
        others or NOBODY.attributes,
    )


def finish(op: Replayed, span: RecordedSpan) -> None:
    """Let an operation end as it did: outcome, usage and times."""
    found, status = span.attributes, span.attributes.get(semconv.STATUS)
    op.called = True
    if found.get(semconv.GEN_AI_REQUEST_STREAM):
        stream, plan = op.part(StreamState), op.plan
        stream.streamed = True
        stream.buffered = plan is not None and any(bound.concerns(op) for bound in (*plan.buffers, *plan.windows))
    op.returned_ns = op.end_ns = span.end_ns
    op.end_attributes = dict(op.attributes)
    op.own_usage = usage_of(found)
    op.part(EndDetails).raw = Unrecorded("op.response.value")
    if status in ("interrupted", "abandoned"):
        op.part(EndDetails).left = status
    error = _error(span) if status in ("error", "cancelled") and not op.content.fault else None
    if status == "rejected" and semconv.DECISION not in found:  # by what is inside of it
        error = Reject(span.message or "rejected")
    if error is None:
        op.result = Result(op.content)
    op.error = error


def fault_of(span: RecordedSpan) -> str:
    """The type of an error that the call returned and did not raise; empty if there was none."""
    found = span.attributes
    returned = found.get(semconv.STATUS) == "error" and not span.message
    return str(found.get(semconv.ERROR_TYPE, "")) if returned else ""


def _error(span: RecordedSpan) -> BaseException:
    """The exception that a call raised; its own class only if that is one of Python's own."""
    name = str(span.attributes.get(semconv.ERROR_TYPE, ""))
    said = [
        one.attributes[semconv.EXCEPTION_MESSAGE] for one in span.events if semconv.EXCEPTION_MESSAGE in one.attributes
    ]
    if span.attributes.get(semconv.STATUS) == "cancelled":
        return asyncio.CancelledError()
    cls = getattr(builtins, name, None)
    if said and isinstance(cls, type) and issubclass(cls, Exception):
        try:
            error = cls(said[0])
        except TypeError:  # it takes other arguments
            pass
        else:
            return error
    return RecordedError(name, *said)


def usage_of(found: Mapping[str, Any]) -> Usage | None:
    """What a call itself has used; ``None`` if that is not recorded."""
    if semconv.GEN_AI_USAGE_INPUT_TOKENS not in found and semconv.GEN_AI_USAGE_OUTPUT_TOKENS not in found:
        return None
    used = Usage()
    used.input_tokens = used.count(found.get(semconv.GEN_AI_USAGE_INPUT_TOKENS), "input_tokens")
    used.output_tokens = used.count(found.get(semconv.GEN_AI_USAGE_OUTPUT_TOKENS), "output_tokens")
    used.cache_read_tokens = used.count(found.get(semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS), "cache_read_tokens")
    written = found.get(semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS)
    if written is None:
        written = found.get(semconv.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS)
    used.cache_write_tokens = used.count(written, "cache_write_tokens")
    used.reasoning_tokens = used.count(found.get(semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS), "reasoning_tokens")
    if found.get(semconv.USAGE_ESTIMATED):
        used.source = "estimate"
    uncounted = found.get(semconv.USAGE_UNCOUNTED)
    used.uncounted = uncounted if isinstance(uncounted, tuple) else ()
    if semconv.COST_USD in found:
        used.charge(found[semconv.COST_USD])
    if used.cost_nano is None:
        used.unpriced_tokens = used.total_tokens
    else:
        used.cost_source = "price list" if used.total_tokens else "provider"  # of an answer from a cache
    if found.get(semconv.KIND) == "llm.call":
        used.llm_calls = 1
    return used
