"""Operations of the application's own code: as decorators, whose calls are like those of any library, and as blocks.

This is the public interface; ``_own_blocks`` and ``_own_functions`` drive blocks and functions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

from spanhook.engine._own_adapters import FIELDS, LAYER, NOTHING, Own
from spanhook.engine._own_blocks import OperationBlock
from spanhook.engine._own_functions import Decorated, driver
from spanhook.engine._own_usage import add_usage
from spanhook.engine.lifecycle import registry
from spanhook.errors import ConfigurationError, OperationError
from spanhook.model import Args, Kwargs, add_kind, current_record, kinds, made
from spanhook.semconv import Kind

F = TypeVar("F", bound=Callable[..., Any])


def register_kind(kind: str) -> str:
    """Register a kind of operation for the application's own code; hooks may be bound to it from then on.

    Args:
        kind: Lower-case words separated by dots, such as ``billing.charge``.

    Returns:
        The kind.

    Raises:
        ConfigurationError: The name is not valid, or there are too many kinds: each becomes a value of metric
            attributes.
    """
    add_kind(kind)
    registry.rebuild()
    return kind


def operation(
    kind: str,
    name: str = "",
    *,
    request: Mapping[str, Any] | None = None,
    provider: str = "",
    model: str = "",
) -> OperationBlock:
    """Make the application's own code an operation, gated, traced and counted like those of libraries.

    Use it as a ``with`` or ``async with`` block, which gives an ``OwnOperation`` and raises a refusal on entry; or as a
    decorator of a function, coroutine function, generator or async generator.

    Args:
        kind: One of spanhook's kinds, or one given to ``register_kind``.
        name: The tool, agent or model; hooks' ``names=`` filter by it. Defaults to a decorated function's own name.
        request: A block's request: a mapping with ``messages``, ``system``, ``arguments`` or ``inputs``. Hooks may
            rewrite it, and the block reads it from ``op.request``.
        provider: The provider in the conventions' terms, such as ``openai``; used to look up prices.
        model: The requested model, if it is not ``name``.

    Raises:
        ConfigurationError: The kind is unknown, or the request is not valid.
    """
    given = _checked(kind, name, provider, model)
    made.add(kind)
    return OperationBlock(given, Own(given, name, provider, model), _request(request))


def function_driver(kind: Kind, name: str, function: Any) -> Callable[[Any, Any, Args, Kwargs], Any]:
    """What a wrapper calls, with ``(wrapped, instance, args, kwargs)``, to make each call of a function an operation.

    Args:
        kind: The kind of operation.
        name: The tool or agent; defaults to the function's own name.
        function: The function as its module or class has it.

    Raises:
        ConfigurationError: It is no function, or is decorated as an operation.
    """
    if isinstance(function, Decorated):
        raise ConfigurationError("it is decorated as an operation; bind it or decorate it, not both")
    made.add(kind)
    return driver(function, kind, Own(kind, name), unbound=isinstance(function, staticmethod))


def operation_for(
    kind: str,
    name: str,
    *,
    request: Mapping[str, Any] | None,
    ids: Mapping[str, str] = NOTHING,
    facts: Any = None,
    verb: str = "",
    attributes: Mapping[str, Any] = NOTHING,
) -> OperationBlock:
    """``operation`` for code that makes blocks for others.

    Args:
        kind: The kind of operation.
        name: What it works on.
        request: What the block is asked for.
        ids: Known ids of the operation: keys of ``Identity``.
        facts: Further information for hooks: ``facts`` of the operation's ``instance``.
        verb: What its span's name begins with; empty for the kind's own word.
        attributes: Further attributes that the span has from its start.
    """
    block = operation(kind, name, request=request)
    own = block._own
    own.ids, own.facts, own.verb = ids, facts, verb
    own.attributes.update(attributes)
    return block


_SORTS = (
    ("messages", Sequence, "a list of messages"),
    ("system", str, "a string"),
    ("arguments", Mapping, "a mapping by name"),
)


def _checked(kind: Any, name: Any, provider: Any, model: Any) -> Kind:
    if kind not in kinds():
        raise ConfigurationError(
            f"unknown kind {kind!r}; expected one of {', '.join(kinds())}, or a kind of your own: "
            f"call spanhook.register_kind({kind!r}) first"
        )
    for label, value in (("name", name), ("provider", provider), ("model", model)):
        if not isinstance(value, str):
            raise ConfigurationError(f"spanhook.operation({label}={value!r}): expected a string")
    return cast("Kind", kind)


def _request(given: Any) -> Mapping[str, Any] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"request={given!r}: expected a mapping with {', '.join(FIELDS)}")
    request = cast("Mapping[str, Any]", given)
    for field in request:
        if field not in FIELDS:
            raise ConfigurationError(f"request= has unknown field {field!r}; expected {', '.join(FIELDS)}")
    for field, sort, expected in _SORTS:
        value = request.get(field)
        if value is not None and not isinstance(value, sort):
            raise ConfigurationError(f"request= has {field}={value!r}, expected {expected}")
    return dict(request)


@overload
def tool(given: F, /) -> F: ...


@overload
def tool(given: str = "", /) -> Callable[[F], F]: ...


def tool(given: Any = "", /) -> Any:
    """Decorate a function as a tool: ``operation("tool.execute")``, with its arguments by name.

    Args:
        given: The function, or the tool's name; defaults to the function's name.
    """
    return _decorator("tool.execute", given)


@overload
def agent(given: F, /) -> F: ...


@overload
def agent(given: str = "", /) -> Callable[[F], F]: ...


def agent(given: Any = "", /) -> Any:
    """Decorate a function as an agent: ``operation("agent.invoke")``.

    Args:
        given: The function, or the agent's name; defaults to the function's name.
    """
    return _decorator("agent.invoke", given)


def _decorator(kind: Kind, given: Any) -> Any:
    if isinstance(given, str):
        return operation(kind, given)
    return operation(kind)(given)


def record_usage(
    *,
    input_tokens: int = 0,
    output_tokens: int = 0,
    cache_read_tokens: int = 0,
    cache_write_tokens: int = 0,
    reasoning_tokens: int = 0,
    cost_usd: float | None = None,
    model: str = "",
    finish_reason: str = "",
) -> None:
    """Report the usage of a model call from inside a decorated function; see ``OwnOperation.record_usage``.

    Raises:
        OperationError: The innermost operation of the application's own code is not a model call, or there is none.
    """
    op = current_record()
    while op is not None and (op.adapter.layer != LAYER or op.accounted):
        op = op.parent
    if op is None:
        raise OperationError(
            "record_usage() was called outside any operation of the application's own code; call it inside one"
        )
    counts = (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens)
    add_usage(op, counts, cost_usd, model=model, finish_reason=finish_reason)
