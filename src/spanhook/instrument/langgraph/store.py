"""Writes to LangGraph's memory store; reading it is no operation."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import PutOp, SearchOp

from spanhook import semconv
from spanhook.instrument.langgraph.transport import Item, handed_over, item, made, passes_on, sought, waits
from spanhook.model import Adapter, Args, Attributes, Change, Editing, Kwargs, Reading, Request, Within

_PUT = ("namespace", "key", "value", "index")
_MORE = ("ttl",)


def _named(args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """The written values by name, with index and lifetime options if given."""
    return {**dict(zip(_PUT, args, strict=False)), **kwargs}


def _where(namespace: Iterable[str]) -> str:
    return "/".join(namespace)


# ----------------------------------------------------------------------------------------------- one item


def _item(args: Args, kwargs: Kwargs) -> Item:
    given = _named(args, kwargs)
    return item(given["namespace"], given["key"])


def _passed_on(store: Any, args: Args, kwargs: Kwargs) -> bool:
    written = _item(args, kwargs)
    if not passes_on(frozenset((written,))):
        return False
    waits(store, written)
    return True


def putting(store: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    return None if _passed_on(store, args, kwargs) else PUT


def deleting(store: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    return None if _passed_on(store, args, kwargs) else DELETE


def put_prepare(store: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    written = _item(args, kwargs)
    made(frozenset((written,)))
    waits(store, written)
    return args, kwargs


def put_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {semconv.MEMORY_NAMESPACE: _where(_named(args, kwargs)["namespace"])}


def delete_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {**put_start(instance, args, kwargs), semconv.GEN_AI_OPERATION_NAME: "delete_memory"}


def put_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = _named(args, kwargs)
    return Request(arguments=given, inputs=given.get("value"))


def put_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return _rewrite(args, kwargs, change, (*_PUT, *_MORE))


def delete_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return _rewrite(args, kwargs, change, _PUT[:2])


def _rewrite(args: Args, kwargs: Kwargs, change: Change, takes: Sequence[str]) -> tuple[Args, Kwargs]:
    new = _named(args, kwargs)
    if change.arguments is not None:
        unknown = change.arguments.keys() - {*takes, *new}
        if unknown:
            raise ValueError(f"a write has no {sorted(map(str, unknown))}; op.replace(arguments=) takes {list(takes)}")
        new.update(change.arguments)
        new["namespace"] = tuple(new["namespace"])
    if change.inputs is not None:
        new["value"] = change.inputs
    by_position = tuple(new[name] for name in _PUT[: len(args)])
    by_name = {name: value for name, value in new.items() if name not in _PUT[: len(args)]}
    return (*by_position, *args[len(_PUT) :]), {**kwargs, **by_name}


# ----------------------------------------------------------------------------------------------- batches


def _ops(args: Args, kwargs: Kwargs) -> Sequence[Any] | None:
    """The operations of a batch; ``None`` for an iterator, which only the store may consume."""
    ops = args[0] if args else kwargs["ops"]
    return ops if isinstance(ops, list | tuple) else None


def _items(args: Args, kwargs: Kwargs) -> frozenset[Item]:
    """Where a batch writes; for an iterator, what identifies it."""
    ops = _ops(args, kwargs)
    if ops is None:
        return frozenset(((id(args[0] if args else kwargs["ops"]),),))
    return frozenset(item(op.namespace, op.key) for op in ops if isinstance(op, PutOp))


def batching(store: Any, args: Args, kwargs: Kwargs) -> Adapter | Within | None:
    """The adapter for batches with writes that were not gated before."""
    behalf = handed_over(store, _ops(args, kwargs) or ())
    if behalf is not None:
        return behalf
    written = _items(args, kwargs)
    return BATCH if written and not passes_on(written) else None


def batch_prepare(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    made(_items(args, kwargs))
    return args, kwargs


def batch_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {semconv.MEMORY_NAMESPACE: ",".join(sorted(batch_names(instance, args, kwargs) or ()))}


def batch_names(_instance: Any, args: Args, kwargs: Kwargs) -> frozenset[str] | None:
    """The namespaces written to; ``None`` for an iterator, where they cannot be known."""
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
        raise ValueError(f"the batch writes {len(puts)} items; op.replace(inputs=[...]) needs the same number")
    for index, given in zip(puts, items, strict=True):
        new: Mapping[str, Any] = given
        ops[index] = ops[index]._replace(namespace=tuple(new["namespace"]), key=new["key"], value=new["value"])
    return (ops,), {}


# ----------------------------------------------------------------------------------------------- searches


def search_start(store: Any, args: Args, kwargs: Kwargs) -> None:
    """No operation; but what a batching store does for it, such as embeddings, is done on behalf of the searcher."""
    query = kwargs.get("query")
    if query:
        waits(store, sought(SearchOp(args[0], query=query)))


_PARTS: Mapping[str, Any] = {"kind": "memory.store", "layer": "langgraph.store"}
_WRITES = frozenset(("arguments", "inputs"))
PUT = Adapter(
    **_PARTS,
    start=put_start,
    reading=Reading(request=put_request),
    editing=Editing(rewrite=put_rewrite, takes=_WRITES, prepare=put_prepare),
)
DELETE = Adapter(
    **_PARTS,
    start=delete_start,
    reading=Reading(request=put_request),
    editing=Editing(rewrite=delete_rewrite, takes=frozenset(("arguments",)), prepare=put_prepare),
)
BATCH = Adapter(
    **_PARTS,
    start=batch_start,
    reading=Reading(names=batch_names, request=batch_request),
    editing=Editing(rewrite=batch_rewrite, takes=_WRITES, prepare=batch_prepare),
)
SEARCH = Adapter(**_PARTS, start=search_start)
