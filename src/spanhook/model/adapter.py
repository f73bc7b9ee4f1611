"""How a library's calls are read: the pure functions that an instrumentor supplies.

Nothing here knows spans, hooks or metrics. Every function of an adapter takes ``(instance, args, kwargs)`` as the
library's function received them, so that nothing is allocated for a call that nobody inspects.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.model.arguments import Args, Attributes, Kwargs
from spanhook.model.failures import exception_name
from spanhook.model.request import Change, Message, Request
from spanhook.model.streaming import Streaming
from spanhook.model.usage import Source, Usage
from spanhook.semconv import Kind

Coerced = Literal["exact", "twice", "as sent"]
"""How gates see what a framework makes of a tool's arguments: where the body receives it, by having them validated once
more than the framework does, or not at all.
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


def nothing(_result: Any) -> tuple[Attributes, Usage | None]:
    """The response of a call that reports nothing about itself."""
    return {}, None


def no_messages(_result: Any) -> list[Message]:
    """The output messages of a call without any."""
    return []


def plain_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    """An answer that is passed on as the hook gave it."""
    return value


def same_name(model: str) -> str:
    """A model's name that is read as it is written."""
    return model


def empty_request(_instance: Any, _args: Args, _kwargs: Kwargs) -> Request:
    """The request of a call whose arguments have no common terms."""
    return Request()


@dataclass(frozen=True, kw_only=True)
class CallContext:
    """Whom a call is for, and what else the application told the library of it.

    Attributes:
        identity: Ids the library knows: keys of ``Identity``.
        authenticates: A server authenticated the user among these ids: arguments of calls inside do not say otherwise.
        metadata: Further facts about the call; ``op.extras["metadata"]``.
        config: The configuration for the call; ``op.extras["config"]``.
    """

    identity: Callable[[Any, Args, Kwargs], Mapping[str, str]] | None = None
    authenticates: bool = False
    metadata: Callable[[Any, Args, Kwargs], Mapping[str, Any]] | None = None
    config: Callable[[Any, Args, Kwargs], Mapping[str, Any]] | None = None


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
    """How calls of one sort are read and, if a hook asks for it, changed.

    Attributes:
        kind: The kind of operation.
        layer: Which library's view of the operation this is, e.g. ``langchain``; see ``transport_of``.
        start: Attributes known before the call; ``None`` means "this is no operation, pass through".
        watch: What ``start`` depends on, as a hashable value: calls with equal values are described once. ``None`` for
            a call that is not like others.
        vary: Adds start attributes that ``watch`` does not cover; returns whether any may have to be made encodable.
        response: End attributes and usage of a result.
        source: How certain the counts are that it reads: those of a client are in the provider's bytes.
        mark: Returns an id of a result's content, which shows whether another call already produced it.
        names: All names that one call works on, if there may be several; ``None`` if they cannot be known.
        request: The normalized request; only called when a hook or content capture needs it.
        message: Reads a message that a hook gave in the library's own form.
        output: A result's messages in role/parts form.
        rewrite: New ``(args, kwargs)`` for a ``Change``; ``None`` if the library's call cannot be rewritten.
        takes: The fields of a ``Change`` that ``rewrite`` supports; it is never given others.
        bare_model: How a request reads that a hook gave another model, if the name says more than the model.
        answer: The library's own result for a value that a hook answered with.
        announce: Makes a call that a hook answered by the library's own code, with the answer in place of what its body
            does, so that the library tells its listeners, such as callbacks, of it. Given the call, its result and
            whether it is async, it returns what such a call returns: the result, an awaitable or a stream; ``None`` if
            nobody can be told.
        amend: ``answer`` for a value that replaces a result, which comes first, if it depends on that.
        rejected: The library's own error *result* for a rejection, or its own exception, which is raised; ``None`` to
            have the rejection raised.
        native_error: The library's own exception for a rejection, which is raised as both; ``None`` if it has none.
        refusal: The rejection that the library has made an exception of its own of; that is raised as both.
        boundary: This serves a request from elsewhere, such as another process: what refuses it or ends its run leaves
            it as ``rejected`` says, and is never raised into what serves other requests too.
        fault: Why a result that was returned is an error, as an ``error.type``; empty if it is none. ``after`` hooks
            decide about such a result as about any other.
        context: Whom a call is for, and what else the application told the library; ``None`` if nothing.
        streaming: How results that are streams are read; ``None`` if none are.
        prepare: Makes spanhook's own last changes to a call, such as requesting a stream's usage.
        repeat: The call to make in place of one that has failed because of what ``prepare`` changed, and what to call
            if that succeeds; ``None`` if it has failed for another reason.
        coerced: How gates see what the framework makes of a tool's arguments, if it makes anything of them.
        shown: What hooks were shown of a tool's arguments, copied just before the call is made; for calls whose body
            receives what the framework makes of that, see ``Receiver``.
        received: The call with the arguments that its body receives.
        received_later: Whether the call is sure to reach its body through a ``Receiver``, so that hooks which act once
            may wait for that.
        onward: Puts the trace context, as text, into a request that leaves the process, or that the library reads it
            from.
        failure: What a failed call reports nevertheless, such as the usage of an answer that could not be parsed.
        follows: Further operations that follow from the call's result or exception, which it is also given; see
            ``Following``.
        model_layer: This is a framework's view of a model or tool: a call directly inside it that carries its request,
            such as a client's, is its transport; see ``absorption``.
        relays: With ``model_layer``: it passes on what it is asked for, as a client does, and so may itself be the
            transport of another library's call.
        carries: What identifies the request in its transport: the last text of each prompt, or arguments.
        goes_on: Whether calls on this instance may continue in another of its methods; unset if they always may. What
            such a call carries is noted before the gates run, which takes time in proportion to its length.
        transport_of: Layers of the same library whose operation absorbs this call if it directly encloses it, on the
            same instance, and carries the same.
        defaults: Defaults of omitted arguments, which the request then contains.
        block: This is a block of the application's code, which cannot be skipped: even if a hook answered, the block
            runs and the chain continues after it.
        system_in_messages: The request's ``system`` is also in its messages.
        verb: What span names begin with, and the ``gen_ai.operation.name`` if the conventions have it; if empty, the
            kind's word in ``OPERATION_NAMES``.
        method: What span names begin with instead, for calls that have conventions of their own.
        named_by: The start attribute that names the span, if it differs from the one for its kind.
        hosts: Agents that this agent hands over to run inside its operation, not after it.
        pools: Parts of it run in threads of a pool, to which the library does not pass the call's context on.
        made_elsewhere: Another program makes the call, and tells this one of it: what gates refuse may have been made
            anyway, so the refusal is only attempted, and the call is counted as far as it is reported. What is known of
            that at its start is read from its instance.
        on_demand: An operation only if a hook applies to its kind, or the settings ask for every step.
    """

    kind: Kind
    start: Callable[[Any, Args, Kwargs], Attributes | None]
    watch: Callable[[Any, Args, Kwargs], Hashable | None] | None = None
    vary: Callable[[Attributes, Any, Args, Kwargs], bool] | None = None
    layer: str = ""
    span_kind: SpanKind = SpanKind.INTERNAL
    response: Callable[[Any], tuple[Attributes, Usage | None]] = nothing
    source: Source = "framework"
    mark: Callable[[Any], Any] | None = None
    names: Callable[[Any, Args, Kwargs], frozenset[str] | None] | None = None
    request: Callable[[Any, Args, Kwargs], Request] = empty_request
    message: Callable[[Any], Message] | None = None
    output: Callable[[Any], list[Message]] = no_messages
    rewrite: Callable[[Any, Args, Kwargs, Change], tuple[Args, Kwargs]] | None = None
    takes: frozenset[str] = frozenset()
    bare_model: Callable[[str], str] = same_name
    answer: Callable[[Any, Args, Kwargs, Any], Any] = plain_answer
    announce: Callable[[Any, Args, Kwargs, Any, bool], Any] | None = None
    amend: Callable[[Any, Any, Args, Kwargs, Any], Any] | None = None
    rejected: Callable[[Any, Args, Kwargs, str], Any] | None = None
    native_error: Callable[[Any, Args, Kwargs, Reject], BaseException | None] | None = None
    refusal: Callable[[BaseException], Reject | None] | None = None
    boundary: bool = False
    fault: Callable[[Any], str] | None = None
    context: CallContext | None = None
    error_type: Callable[[BaseException], str] = exception_name
    streaming: Streaming | None = None
    prepare: Callable[[Any, Args, Kwargs], tuple[Args, Kwargs]] | None = None
    repeat: Callable[[Any, Args, Kwargs, BaseException], tuple[Args, Kwargs, Callable[[], object]] | None] | None = None
    coerced: Coerced = "as sent"
    shown: Callable[[Any, Args, Kwargs], Any] | None = None
    received: Callable[[Any, Args, Kwargs, Any], tuple[Args, Kwargs]] | None = None
    received_later: Callable[[Any, Args, Kwargs], bool] | None = None
    onward: Callable[[Any, Args, Kwargs, Mapping[str, str]], tuple[Args, Kwargs]] | None = None
    failure: Callable[[Any, Args, Kwargs, BaseException], tuple[Attributes, Usage | None]] | None = None
    follows: Callable[[Any, Args, Kwargs, Any, BaseException | None], Iterable["Following"]] | None = None
    model_layer: bool = False
    relays: bool = False
    carries: Callable[[Any, Args, Kwargs], list[str | None]] | None = None
    goes_on: Callable[[Any], bool] | None = None
    transport_of: frozenset[str] = frozenset()
    defaults: Callable[[Any], Mapping[str, Any]] | None = None
    block: bool = False
    system_in_messages: bool = False
    verb: str = ""
    method: str = ""
    named_by: str = ""
    hosts: bool = False
    pools: bool = False
    made_elsewhere: bool = False
    on_demand: bool = False
    target_key: str = field(init=False)
    naming_key: str = field(init=False)
    reenters: bool = field(init=False)
    prepares: bool = field(init=False)
    may_stream: bool = field(init=False)
    known: "dict[Hashable, Described]" = field(init=False, default_factory=dict["Hashable", "Described"], compare=False)

    def __post_init__(self) -> None:
        target = TARGET_KEYS.get(self.kind, semconv.OPERATION_NAME)
        object.__setattr__(self, "target_key", target)
        object.__setattr__(self, "verb", self.verb or OPERATION_NAMES.get(self.kind, self.kind))
        object.__setattr__(self, "naming_key", self.named_by or NAMING_KEYS.get(self.kind, target))
        is_run = self.kind in _RUNS or (self.kind == "tool.execute" and self.carries is None)
        object.__setattr__(self, "reenters", is_run and not self.model_layer and not self.block)
        object.__setattr__(self, "prepares", self.prepare is not None or self.onward is not None)
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
