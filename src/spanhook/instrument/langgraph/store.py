"""What is written to LangGraph's memory store; reading it is no operation."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import PutOp

from spanhook import semconv
from spanhook.shape import Args, Attributes, Change, Kwargs, Request, Shape

LAYER = "langgraph.store"
_PUT = ("namespace", "key", "value")


def _named(args: Args, kwargs: Kwargs) -> dict[str, Any]:
    return {**dict(zip(_PUT, args, strict=False)), **{name: kwargs[name] for name in _PUT if name in kwargs}}


def _where(namespace: Iterable[str]) -> str:
    return "/".join(namespace)


def put_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {semconv.MEMORY_NAMESPACE: _where(_named(args, kwargs)["namespace"])}


def delete_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {**put_start(instance, args, kwargs), semconv.GEN_AI_OPERATION_NAME: "delete_memory"}


def put_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = _named(args, kwargs)
    return Request(arguments=given, inputs=given.get("value"))


def put_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    new = _named(args, kwargs)
    if change.arguments is not None:
        new.update(change.arguments)
    if change.inputs is not None:
        new["value"] = change.inputs
    by_position = tuple(new[name] for name in _PUT[: len(args)])
    by_name = {name: value for name, value in new.items() if name not in _PUT[: len(args)]}
    return (*by_position, *args[len(_PUT) :]), {**kwargs, **by_name}


def _ops(args: Args, kwargs: Kwargs) -> Sequence[Any] | None:
    """What a batch consists of; ``None`` for an iterator, which must be left to the store."""
    ops = args[0] if args else kwargs["ops"]
    return ops if isinstance(ops, list | tuple) else None


def writes(instance: Any, args: Args, kwargs: Kwargs) -> Shape | None:
    """Batches with something written; what a store's own background task passes on was gated when it was put."""
    task = getattr(instance, "_task", None)
    if task is not None and _current_task() is task:
        return None
    ops = _ops(args, kwargs)
    return BATCH if ops is None or any(isinstance(op, PutOp) for op in ops) else None


def _current_task() -> Any:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def batch_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {semconv.MEMORY_NAMESPACE: ",".join(sorted(batch_names(instance, args, kwargs) or ()))}


def batch_names(_instance: Any, args: Args, kwargs: Kwargs) -> frozenset[str] | None:
    """The namespaces written to; those in an iterator are not to be known."""
    ops = _ops(args, kwargs)
    if ops is None:
        return None
    return frozenset(_where(op.namespace) for op in ops if isinstance(op, PutOp))


def batch_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    ops = _ops(args, kwargs)
    puts = [op for op in ops or () if isinstance(op, PutOp)]
    items = [{"namespace": op.namespace, "key": op.key, "value": op.value} for op in puts]
    return Request(arguments={"items": items}, inputs=items)


def batch_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    items: Any = change.inputs if change.inputs is not None else (change.arguments or {}).get("items")
    ops = list(_ops(args, kwargs) or ())
    puts = [index for index, op in enumerate(ops) if isinstance(op, PutOp)]
    if not isinstance(items, list | tuple) or len(items) != len(puts):
        raise ValueError(f"the batch writes {len(puts)} items; op.replace(inputs=[...]) needs as many")
    for index, item in zip(puts, items, strict=True):
        new: Mapping[str, Any] = item
        ops[index] = ops[index]._replace(namespace=tuple(new["namespace"]), key=new["key"], value=new["value"])
    return (ops,), {}


def _shape(**parts: Any) -> Shape:
    return Shape(
        kind="memory.store",
        layer=LAYER,
        transport_of=frozenset((LAYER,)),  # `put` ends in `batch` of the same store
        same_instance=True,
        **parts,
    )


_WRITES = frozenset(("arguments", "inputs"))
PUT = _shape(start=put_start, request=put_request, rewrite=put_rewrite, takes=_WRITES)
DELETE = _shape(start=delete_start, request=put_request, rewrite=put_rewrite, takes=frozenset(("arguments",)))
BATCH = _shape(start=batch_start, names=batch_names, request=batch_request, rewrite=batch_rewrite, takes=_WRITES)
