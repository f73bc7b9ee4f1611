"""How a library's calls are read: the pure functions that an instrumentor supplies.

Nothing here knows spans, hooks or metrics. Every function of an adapter takes ``(instance, args, kwargs)`` as the
library's function received them, so that nothing is allocated for a call that nobody inspects.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.model._kinds import kinds
from spanhook.model.arguments import Args, Attributes, Kwargs
from spanhook.model.editing import AS_GIVEN, Editing, Receiving
from spanhook.model.nesting import ALONE, Nesting
from spanhook.model.reading import NOTHING_READ, CallContext, Reading
from spanhook.model.streaming import Streaming
from spanhook.semconv import Kind

Trait = Literal["block", "boundary", "hosts", "made_elsewhere", "on_demand", "pools"]
"""What is peculiar to a call.

- ``block``: a block of the application's code, which cannot be skipped: even if a hook answered, the block runs and the
  chain continues after it.
- ``boundary``: it serves a request from elsewhere, such as another process: what refuses it or ends its run leaves it
  as ``rejected`` says, and is never raised into what serves other requests too.
- ``hosts``: agents that this agent hands over to run inside its operation, not after it.
- ``made_elsewhere``: another program makes the call, and tells this one of it: what gates refuse may have been made
  anyway, so the refusal is only attempted, and the call is counted as far as it is reported. What is known of that at
  its start is read from its instance.
- ``on_demand``: an operation only if a hook applies to its kind, or the settings ask for every step.
- ``pools``: parts of it run in threads of a pool, to which the library does not pass the call's context on.
"""

_RUNS = frozenset[Kind](("run", "agent.invoke", "agent.delegate"))
"""Kinds of which a call may be made again inside itself, in an override or another method, for something else."""

#: What a span's name begins with, by kind, unless the adapter gives another ``gen_ai.operation.name``.
OPERATION_NAMES: Mapping[Kind, str] = {
    "run": "invoke_workflow",
    "agent.invoke": "invoke_agent",
    "agent.lifecycle": "create_agent",
    "agent.delegate": "delegate_agent",
    "llm.call": "chat",
    "tool.execute": "execute_tool",
    "workflow.step": "workflow_step",
    "retrieval.query": "retrieval",
    "embeddings.create": "embeddings",
    "memory.store": "upsert_memory",
    "iteration": "iteration",
    "job": "job",
    "cron.execute": "cron",
}

#: The start attribute with the name of an operation, by kind: what ``names=`` filters by.
TARGET_KEYS: Mapping[str, str] = {
    "run": semconv.GEN_AI_WORKFLOW_NAME,
    "agent.invoke": semconv.GEN_AI_AGENT_NAME,
    "agent.lifecycle": semconv.GEN_AI_AGENT_NAME,
    "agent.delegate": semconv.GEN_AI_AGENT_NAME,
    "llm.call": semconv.GEN_AI_REQUEST_MODEL,
    "tool.execute": semconv.GEN_AI_TOOL_NAME,
    "retrieval.query": semconv.RETRIEVER_NAME,
    "embeddings.create": semconv.GEN_AI_REQUEST_MODEL,
    "workflow.step": semconv.STEP_NAME,
    "memory.store": semconv.MEMORY_NAMESPACE,
    "request": semconv.HTTP_ROUTE,
    "mcp.resource.read": semconv.MCP_RESOURCE_URI,
    "mcp.prompt.get": semconv.GEN_AI_PROMPT_NAME,
}

#: The start attribute that names the span, if it is a different one: a namespace may hold user ids, and there are any
#: number of addresses.
NAMING_KEYS: Mapping[str, str] = {
    "retrieval.query": semconv.GEN_AI_DATA_SOURCE_ID,
    "memory.store": "",
    "mcp.resource.read": "",
}


class Described(NamedTuple):
    """The description of calls that are alike.

    Attributes:
        attributes: Their start attributes, to be copied.
        plain: Whether the SDK accepts them as they are.
        name: The name of their spans.
    """

    attributes: Attributes
    plain: bool
    name: str


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """What calls of one sort are, how they are read and, if a hook asks for it, changed.

    Attributes:
        kind: The kind of operation; docs/hooks.md says what comes from each, and what hooks may do to it.
        start: Attributes known before the call; ``None`` means "this is no operation, pass through".
        watch: What ``start`` depends on, as a hashable value: calls with equal values are described once. ``None`` for
            a call that is not like others.
        vary: Adds start attributes that ``watch`` does not cover; returns whether any may have to be made encodable.
        layer: Which library's view of the operation this is, e.g. ``langchain``: the declaration's ``layer``, and what
            follows a dot if it has several; see ``transport_of``.
        span_kind: The kind of its spans.
        verb: What span names begin with, and the ``gen_ai.operation.name`` if the conventions have it; if empty, the
            kind's word in ``OPERATION_NAMES``.
        method: What span names begin with instead, for calls that have conventions of their own.
        named_by: The start attribute that names the span, if it differs from the one for its kind.
        context: Whom a call is for, and what else the application told the library; ``None`` if nothing.
        follows: Further operations that follow from the call's result or exception, which it is also given; see
            ``Following``.
        reading: How what goes into a call and comes out of it is read.
        editing: How a call is changed, answered and refused.
        streaming: How results that are streams are read; ``None`` if none are.
        nesting: How calls lie in each other that are one operation.
        receiving: How hooks see what the framework makes of a tool's arguments; ``None`` if they see what was sent.
        traits: What is peculiar to it.
    """

    kind: Kind
    start: Callable[[Any, Args, Kwargs], Attributes | None]
    watch: Callable[[Any, Args, Kwargs], Hashable | None] | None = None
    vary: Callable[[Attributes, Any, Args, Kwargs], bool] | None = None
    layer: str = ""
    span_kind: SpanKind = SpanKind.INTERNAL
    verb: str = ""
    method: str = ""
    named_by: str = ""
    context: CallContext | None = None
    follows: Callable[[Any, Args, Kwargs, Any, BaseException | None], Iterable["Following"]] | None = None
    reading: Reading = NOTHING_READ
    editing: Editing = AS_GIVEN
    streaming: Streaming | None = None
    nesting: Nesting = ALONE
    receiving: Receiving | None = None
    traits: frozenset[Trait] = frozenset()
    target_key: str = field(init=False)
    naming_key: str = field(init=False)
    reenters: bool = field(init=False)
    prepares: bool = field(init=False)
    may_stream: bool = field(init=False)
    known: "dict[Hashable, Described]" = field(init=False, default_factory=dict["Hashable", "Described"], compare=False)

    def __post_init__(self) -> None:
        if self.kind not in kinds():
            raise ValueError(f"an adapter of {self.layer} has the unknown kind {self.kind!r}: hooks would not see it")
        target = TARGET_KEYS.get(self.kind, semconv.OPERATION_NAME)
        object.__setattr__(self, "target_key", target)
        object.__setattr__(self, "verb", self.verb or OPERATION_NAMES.get(self.kind, self.kind))
        object.__setattr__(self, "naming_key", self.named_by or NAMING_KEYS.get(self.kind, target))
        is_run = self.kind in _RUNS or (self.kind == "tool.execute" and self.nesting.carries is None)
        object.__setattr__(self, "reenters", is_run and not self.nesting.is_framework and "block" not in self.traits)
        object.__setattr__(self, "prepares", self.editing.prepare is not None or self.editing.onward is not None)
        object.__setattr__(self, "may_stream", self.streaming is not None and self.streaming.stream_of is not None)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Where a request comes from that this process serves.

    Attributes:
        carrier: What came with it that may contain a trace context, as text.
        sender: What was current where it was sent from, if that was in this process and is known.
    """

    carrier: Mapping[str, Any]
    sender: Any = None


@dataclass(frozen=True, slots=True)
class Following:
    """An operation without duration that follows from how a call ended, such as a hand-off.

    It is gated before the call's outcome is passed on. If it is refused, the call's result becomes what its adapter's
    ``rejected`` returns, or the rejection is raised; further ones are skipped.

    Attributes:
        adapter: How it is read.
        instance: What it is read from.
    """

    adapter: Adapter
    instance: Any
