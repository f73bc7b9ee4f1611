"""How operations of the application's own code are read: pure functions over what was given when they were created.

A block's request is what it was given; a decorated function's request is its arguments. Nothing here knows spans or
hooks.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.engine._own_messages import back, last_text, output, to_message, to_messages, tool_output
from spanhook.engine._own_results import TEXTS, OwnChunks, as_chunks, generators, iterators, model_response
from spanhook.engine._own_signature import Parameters
from spanhook.model import (
    TARGET_KEYS,
    Adapter,
    Args,
    Attributes,
    CallContext,
    Change,
    Editing,
    Kwargs,
    Nesting,
    Reading,
    Request,
    Streaming,
    current_record,
    exact_text,
    in_order,
)
from spanhook.semconv import Kind

LAYER = "own code"
MODELS = ("llm.call", "embeddings.create")
"""Kinds that are model calls, which use tokens."""
_CLIENTS = (*MODELS, "retrieval.query", "agent.lifecycle")
"""Kinds that the conventions treat as calls to a service."""
_PROVIDED = (*MODELS, "agent.invoke", "agent.lifecycle")
"""Kinds for which the conventions ask for a provider."""
FIELDS = ("messages", "system", "arguments", "inputs")
"""The fields of a request."""
NOTHING: Mapping[str, Any] = {}


class Own:
    """An operation of the application's own code as adapters see it: passed to them as the instance.

    Attributes:
        attributes: What is known of each operation before it begins.
        names: Its names.
        parameters: The parameters of a decorated function.
        ids: For a block: keys of ``Identity`` that its author knows.
        facts: For a block: further information for hooks, from the code that made the block; any object.
        takes_answer: For a block: whether a hook's replacement for its result can be used. Unknown until the block has
            run.
        verb: For a block: what its span's name begins with; empty for its kind's own word.
    """

    __slots__ = (
        "_provider", "attributes", "facts", "ids", "kind", "model", "name", "names", "parameters", "takes_answer",
        "verb",
    )  # fmt: skip

    def __init__(self, kind: Kind, name: str, provider: str = "", model: str = "", about: str = "") -> None:
        if not type(name) is type(model) is type(provider) is str:
            name, model, provider = exact_text(name), exact_text(model), exact_text(provider)
        self.kind: Kind = kind
        self.name, self.model, self._provider = name, model, provider
        attributes: Attributes = {}
        if name:
            attributes[TARGET_KEYS.get(kind, semconv.OPERATION_NAME)] = name
        if kind in MODELS or model:
            attributes[semconv.GEN_AI_REQUEST_MODEL] = model or name
        if provider or kind in _PROVIDED:
            attributes[semconv.GEN_AI_PROVIDER_NAME] = provider or semconv.UNKNOWN_PROVIDER
        if kind == "tool.execute":
            attributes[semconv.GEN_AI_TOOL_TYPE] = "function"
            if about:
                attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = about
        self.attributes = attributes
        self.names = frozenset(one for one in (name, model) if one)
        self.parameters: Parameters | None = None
        self.ids: Mapping[str, str] = NOTHING
        self.facts: Any = None
        self.takes_answer = True
        self.verb = ""

    def of(self, parameters: Parameters, name: str, about: str) -> "Own":
        """A copy for a function of that name."""
        twin = Own(self.kind, self.name or name, self._provider, self.model, about)
        twin.parameters = parameters
        return twin


def _start(own: Own, _args: Args, _kwargs: Kwargs) -> Attributes:
    return own.attributes.copy()


def _delegate_start(own: Own, _args: Args, _kwargs: Kwargs) -> Attributes:
    """A hand-off has the agent that hands off, too."""
    around = current_record()
    return {**own.attributes, semconv.DELEGATING_AGENT: around.agent if around is not None else ""}


def _stream_start(own: Own, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {**own.attributes, semconv.GEN_AI_REQUEST_STREAM: True}


def _names(own: Own, _args: Args, _kwargs: Kwargs) -> frozenset[str]:
    return own.names


def _ids(own: Own, _args: Args, _kwargs: Kwargs) -> Mapping[str, str]:
    return own.ids


# ----------------------------------------------------------------------------------------------- blocks


def _block_request(own: Own, _args: Args, given: Kwargs) -> Request:
    return Request(
        messages=to_messages(given.get("messages")),
        system=given.get("system") or "",
        arguments=dict(given.get("arguments") or NOTHING),
        inputs=given.get("inputs"),
        model=own_model(own, given),
    )


def own_model(own: Own, given: Kwargs) -> str:
    """The requested model."""
    model = given.get("model")
    return exact_text(model) if model else own.attributes.get(semconv.GEN_AI_REQUEST_MODEL, "")


def _block_rewrite(_own: Own, args: Args, given: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    changed = {**given, **{name: getattr(change, name) for name in change.fields()}}
    if change.messages is not None:
        changed["messages"] = back(change.messages, given.get("messages"))
    return args, changed


def _block_carries(_own: Own, _args: Args, given: Kwargs) -> list[str | None]:
    return last_text(given.get("messages"))


def _block_answer(own: Own, _args: Args, _given: Kwargs, value: Any) -> Any:
    if not own.takes_answer:
        raise TypeError("the result of a `with` block can only be replaced if the block passes it to op.result_of()")
    return value


@cache
def block_adapter(kind: Kind, fields: frozenset[str], verb: str = "", *, identified: bool = False) -> Adapter:
    """The adapter of a ``with`` block that was given these fields of a request, and perhaps a ``verb`` and ids."""
    is_model = kind in MODELS
    return Adapter(
        kind=kind,
        layer=LAYER,
        span_kind=SpanKind.CLIENT if kind in _CLIENTS else SpanKind.INTERNAL,
        start=_delegate_start if kind == "agent.delegate" else _start,
        context=CallContext(identity=_ids) if identified else None,
        reading=Reading(
            response=model_response if kind == "llm.call" else None,
            names=_names,
            request=_block_request,
            message=to_message,
            output=tool_output if kind == "tool.execute" else output,
        ),
        editing=Editing(rewrite=_block_rewrite, takes=fields | {"model"} if is_model else fields, answer=_block_answer),
        streaming=Streaming(chunks=OwnChunks, answer_chunks=as_chunks, texts=TEXTS),
        verb=verb,
        nesting=Nesting(role="framework", carries=_block_carries),
        traits=frozenset(("block",)),
    )


# ----------------------------------------------------------------------------------------------- decorated functions


def _request(own: Own, args: Args, kwargs: Kwargs) -> Request:
    parameters = own.parameters
    assert parameters is not None
    arguments = parameters.arguments(args, kwargs)
    return Request(
        messages=to_messages(arguments.pop("messages")) if parameters.says("messages", arguments) else None,
        system=arguments.pop("system") or "" if parameters.says("system", arguments) else "",
        arguments=arguments,
        inputs=parameters.inputs(args, kwargs),
        model=own.attributes.get(semconv.GEN_AI_REQUEST_MODEL, ""),
    )


def _tool_request(own: Own, args: Args, kwargs: Kwargs) -> Request:
    assert own.parameters is not None
    return Request(arguments=own.parameters.arguments(args, kwargs))


def _rewrite(own: Own, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    parameters = own.parameters
    assert parameters is not None
    if change.inputs is not None:
        args, kwargs = parameters.with_inputs(change.inputs)
    arguments = parameters.arguments(args, kwargs)
    said = {name: arguments[name] for name in ("messages", "system") if parameters.says(name, arguments)}
    if change.arguments is not None:
        arguments = {**change.arguments, **said}
    if change.messages is not None:
        arguments["messages"] = back(change.messages, said.get("messages"))
    if change.system is not None:
        arguments["system"] = change.system
    return parameters.call_of(arguments)


def _tool_rewrite(own: Own, _args: Args, _kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    assert own.parameters is not None
    assert change.arguments is not None
    return own.parameters.call_of(change.arguments)


def _defaults(own: Own) -> Mapping[str, Any]:
    assert own.parameters is not None
    return own.parameters.defaults


def _tool_carries(own: Own, args: Args, kwargs: Kwargs) -> list[str | None]:
    """The tool's arguments as text, without those equal to their defaults."""
    parameters = own.parameters
    assert parameters is not None
    return [in_order(parameters.given(args, kwargs))]


def _carries(own: Own, args: Args, kwargs: Kwargs) -> list[str | None]:
    parameters = own.parameters
    assert parameters is not None
    return last_text(parameters.arguments(args, kwargs).get("messages"))


def function_adapter(kind: Kind, parameters: Parameters, *, is_stream: bool) -> Adapter:
    """The adapter of a decorated function."""
    is_model, is_tool = kind in MODELS, kind == "tool.execute"
    said = (name for name in ("messages", "system") if not is_tool and parameters.says(name, parameters.names))
    carries: Callable[[Any, Args, Kwargs], list[str | None]] = _tool_carries if is_tool else _carries
    return Adapter(
        kind=kind,
        layer=LAYER,
        span_kind=SpanKind.CLIENT if kind in _CLIENTS else SpanKind.INTERNAL,
        start=_stream_start if is_stream and kind == "llm.call" else _start,
        reading=Reading(
            response=model_response if kind == "llm.call" else None,
            names=_names if is_model else None,
            request=_tool_request if is_tool else _request,
            message=to_message,
            output=tool_output if is_tool else output,
            defaults=_defaults,
        ),
        editing=Editing(
            rewrite=_tool_rewrite if is_tool else _rewrite,
            takes=frozenset(("arguments",) if is_tool else ("arguments", "inputs", *said)),
        ),
        streaming=Streaming(
            chunks=OwnChunks, stream_of=iterators if is_model else generators, answer_chunks=as_chunks, texts=TEXTS
        ),
        nesting=Nesting(role="client" if is_tool else "framework", carries=carries),
    )
