"""What a library's call looks like: the pure functions an instrumentor supplies.

Nothing here knows spans, hooks or metrics. Every function of an adapter takes ``(instance, args, kwargs)`` as the
library's function got them, so that nothing is allocated for a call nobody looks at.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.model.failures import exception_name
from spanhook.model.request import Change, Message, Request
from spanhook.model.usage import Usage
from spanhook.semconv import Kind

Args = tuple[Any, ...]
Kwargs = Mapping[str, Any]
Attributes = dict[str, Any]

#: What a span's name begins with, by kind, where the adapter does not give another ``gen_ai.operation.name``.
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
    "memory.store": "update_memory",
    "iteration": "iteration",
    "job": "job",
    "cron.execute": "cron",
}

#: The start attribute that names what an operation of a kind works on: what ``names=`` filters by.
TARGET_KEYS: Mapping[Kind, str] = {
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
}

#: The start attribute that names the span where that is another: a namespace may hold the ids of users.
NAMING_KEYS: Mapping[Kind, str] = {"retrieval.query": semconv.GEN_AI_DATA_SOURCE_ID, "memory.store": ""}


class Chunks(Protocol):
    """Adds up the chunks of one stream. ``add`` runs per chunk, so it keeps only what ``response`` needs.

    Attributes:
        keep: Set where somebody will ask for ``result``: a hook, or content capture.
        complete: The last chunk has come: who lets go of the stream now has not stopped early.
    """

    keep: bool

    @property
    def complete(self) -> bool: ...

    def add(self, chunk: Any) -> bool:
        """Take one chunk; false hides it from the consumer, who did not ask for it."""
        ...

    def response(self) -> tuple[Attributes, Usage | None]:
        """End attributes and usage of what has come so far."""
        ...

    def result(self) -> Any:
        """What the same call would have returned unstreamed, as far as it came."""
        ...


class Withheld(Protocol):
    """What was to leave a call otherwise than by being returned, such as to callbacks, until hooks have decided.

    ``out`` gives what is to be done about it now, one thing after the other: as it was, if the result is what the call
    gave; else as was decided. Asked again, it goes on from there.
    """

    def out(self) -> Iterator[Callable[[bool], Any]]:
        """What is to be done, each called with whether what it returns will be awaited."""
        ...


@dataclass(frozen=True, slots=True)
class Body:
    """The content of a result that whoever holds the result reads later, as a stream of bytes or never.

    Attributes:
        stream: The library's own stream of bytes: iterable, with ``close`` or ``aclose``.
        put: Puts another one in its place.
        chunks: Adds up the bytes.
        answer: The bytes for a value that a hook gave instead.
    """

    stream: Any
    put: Callable[[Any], None]
    chunks: Chunks
    answer: Callable[[Any], Iterable[Any]]


def nothing(_result: Any) -> tuple[Attributes, Usage | None]:
    """The response of a call that tells nothing about itself."""
    return {}, None


def no_messages(_result: Any) -> list[Message]:
    """The output messages of a call that has none."""
    return []


def plain_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    """An answer that is handed on as the hook gave it."""
    return value


def empty_request(_instance: Any, _args: Args, _kwargs: Kwargs) -> Request:
    """The request of a call whose arguments say nothing in common terms."""
    return Request()


def first(args: Args, kwargs: Kwargs, name: str) -> Any:
    """The first argument, however it was passed."""
    return args[0] if args else kwargs[name]


def with_first(args: Args, kwargs: Kwargs, name: str, value: Any) -> tuple[Args, Kwargs]:
    """The arguments with another first one."""
    return ((value, *args[1:]), kwargs) if args else (args, {**kwargs, name: value})


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """How calls of one sort are read and, where a hook asks for it, changed.

    Attributes:
        kind: The kind of operation.
        layer: Which library's view of the operation this is, e.g. ``langchain``; see ``transport_of``.
        start: Attributes known before the call; ``None`` means "this is no operation, pass through".
        response: End attributes and usage of a result.
        mark: The id of what a result is made of, by which one that another call has made is known.
        names: Everything that one call works on, where that may be several; ``None`` where it is not to be known.
        request: The normalized request; only called when a hook or content capture looks at it.
        message: Reads one message that a hook gave in the library's own form.
        output: A result's messages in role/parts form.
        rewrite: New ``(args, kwargs)`` for a ``Change``; ``None`` where the library's call cannot be rewritten.
        takes: The fields of a ``Change`` that ``rewrite`` knows what to do with; it is never given others.
        answer: The library's own result for a value that a hook gave instead.
        rejected: The library's own error *result* for a rejection, or ``None`` to have the rejection raised.
        identity: Ids the library knows: keys of ``Identity``.
        metadata: Further facts the application gave the library about the call; ``op.extras["metadata"]``.
        chunks: Makes the adder for a stream; ``None`` where results are no streams.
        stream_of: ``"sync"``, ``"async"`` or ``""``: which kind of stream a result is.
        answer_chunks: The library's own chunks for a value that a hook gave instead of a stream.
        body: The body of a result that ``stream_of`` names a stream, if it is one that holds unread content.
        prepare: Last changes of our own to a call that is about to be made, such as asking for a stream's usage.
        failure: What a call that failed tells all the same, such as the usage of an answer that could not be parsed.
        follows: What the call has come to besides, given also its result and what it raised; see ``Following``.
        ends_complete: A stream's operation ends with the chunk that completes it, for consumers that ask for no other.
        opaque: Steps of the stream run none of the application's code, so no context is attached around them.
        model_layer: It is a framework's view of a model or tool: a call directly inside of it that carries its request,
            such as a client's, is its transport; see ``absorption``.
        carries: What the request carries, by which its transport is known: the last text of each prompt, or arguments.
        goes_on: Whether calls on this instance may go on in another of its methods; unset where they always may. What
            such a call carries is noted before the gates, which costs as much as it is long.
        transport_of: Layers of the same library whose operation absorbs this call if it stands directly around it, on
            the very same instance, and carries the same.
        opening_of: A layer whose calls begin with this one on the same instance, which is then none of its own.
        defaults: What arguments are where the call leaves them out: the request has them all the same.
        block: It is a block of the application's code, which cannot be left out: where a hook has answered too, whoever
            drives it goes on with the chain once it is over.
        verb: What its spans' names begin with, and their ``gen_ai.operation.name`` where the conventions have that;
            what ``OPERATION_NAMES`` has for the kind unless given.
        system_in_messages: The request's ``system`` stands in its messages too.
        on_demand: An operation only where a hook is for its kind, or the settings ask for every step.
    """

    kind: Kind
    start: Callable[[Any, Args, Kwargs], Attributes | None]
    layer: str = ""
    span_kind: SpanKind = SpanKind.INTERNAL
    response: Callable[[Any], tuple[Attributes, Usage | None]] = nothing
    mark: Callable[[Any], Any] | None = None
    names: Callable[[Any, Args, Kwargs], frozenset[str] | None] | None = None
    request: Callable[[Any, Args, Kwargs], Request] = empty_request
    message: Callable[[Any], Message] | None = None
    output: Callable[[Any], list[Message]] = no_messages
    rewrite: Callable[[Any, Args, Kwargs, Change], tuple[Args, Kwargs]] | None = None
    takes: frozenset[str] = frozenset()
    answer: Callable[[Any, Args, Kwargs, Any], Any] = plain_answer
    rejected: Callable[[Any, Args, Kwargs, str], Any] | None = None
    identity: Callable[[Any, Args, Kwargs], Mapping[str, str]] | None = None
    metadata: Callable[[Any, Args, Kwargs], Mapping[str, Any]] | None = None
    error_type: Callable[[BaseException], str] = exception_name
    chunks: Callable[[Any, Args, Kwargs], Chunks] | None = None
    stream_of: Callable[[Any], str] | None = None
    answer_chunks: Callable[[Any, Args, Kwargs, Any], Iterable[Any]] | None = None
    body: Callable[[Any, Args, Kwargs, Any], Body | None] | None = None
    prepare: Callable[[Any, Args, Kwargs], tuple[Args, Kwargs]] | None = None
    failure: Callable[[Any, Args, Kwargs, BaseException], tuple[Attributes, Usage | None]] | None = None
    follows: Callable[[Any, Args, Kwargs, Any, BaseException | None], Iterable["Following"]] | None = None
    ends_complete: bool = False
    opaque: bool = False
    model_layer: bool = False
    carries: Callable[[Any, Args, Kwargs], list[str | None]] | None = None
    goes_on: Callable[[Any], bool] | None = None
    transport_of: frozenset[str] = frozenset()
    opening_of: str = ""
    defaults: Callable[[Any], Mapping[str, Any]] | None = None
    block: bool = False
    system_in_messages: bool = False
    verb: str = ""
    on_demand: bool = False
    target_key: str = field(init=False)
    naming_key: str = field(init=False)

    def __post_init__(self) -> None:
        target = TARGET_KEYS.get(self.kind, semconv.OPERATION_NAME)
        object.__setattr__(self, "target_key", target)
        object.__setattr__(self, "verb", self.verb or OPERATION_NAMES.get(self.kind, self.kind))
        object.__setattr__(self, "naming_key", NAMING_KEYS.get(self.kind, target))


@dataclass(frozen=True, slots=True)
class Following:
    """An operation that takes no time and follows from how a call has ended, such as a hand-off.

    It is gated before that end is handed on. Where it is refused, what its adapter's ``rejected`` gives takes the place
    of the call's result, or the rejection is raised; no more are asked for then.

    Attributes:
        adapter: How it reads.
        instance: What it reads from.
    """

    adapter: Adapter
    instance: Any
