"""Rejections that are at once the library's own exceptions, so that the handlers of an application know them."""

from types import new_class
from typing import Any

from spanhook.diagnostics import internal
from spanhook.engine._own_adapters import LAYER as OWN
from spanhook.errors import Reject, bare
from spanhook.model import Adapter, Record

_MADE = "_spanhook_native"
"""The attribute of a class of rejections with the classes made of it; so they are freed with it."""


def native(op: Record, reject: Reject) -> Reject:
    """What is raised for a rejection of ``op``: the rejection, and the library's own exception if it has one."""
    make = op.adapter.native_error
    if make is None or not _is_of(op, reject):
        return reject
    try:
        own = make(op.instance, op.args, op.kwargs, reject)
    except Exception as error:
        internal.report("extract.native_error", error)
        return reject
    return reject if own is None else joined(reject, own)


def _is_of(op: Record, reject: Reject) -> bool:
    """Whether ``op`` itself was refused, and not something inside it, and its caller is not a framework's model.

    That would turn the library's exception into one of its own, which is no rejection any more.
    """
    around = op.parent
    if around is not None and around.kind == op.kind and not around.ended and _is_framework(around.adapter, op):
        return False
    return op.decided or not op.called or reject is op.root.latch


def _is_framework(adapter: Adapter, op: Record) -> bool:
    return adapter.model_layer and adapter.layer not in (OWN, op.adapter.layer)


def joined(reject: Reject, own: BaseException) -> Reject:
    """An exception that is both, with the attributes of both; the rejection's own come first.

    Returns:
        The rejection itself if its class cannot be combined with the other one.
    """
    cls = _both(type(reject), type(own))
    if cls is None:
        return reject
    made = bare(cls, reject.args)
    made.__dict__.update(vars(own))
    made.__setstate__(reject.__getstate__())
    made.__traceback__, made.__cause__ = reject.__traceback__, reject.__cause__
    made.__context__, made.__suppress_context__ = reject.__context__, reject.__suppress_context__
    return made


def _both(refusal: type[Reject], own: type[BaseException]) -> type[Reject] | None:
    """The class of rejections that are also ``own``; created once for each pair."""
    if issubclass(refusal, own):
        return None
    refusal = getattr(refusal, "_refusal", refusal)
    made: dict[type, type[Reject]] | None = vars(refusal).get(_MADE)
    if made is None:
        made = {}
        setattr(refusal, _MADE, made)
    if own not in made:
        names = _names(refusal, own)
        try:
            cls: Any = new_class(refusal.__name__, (refusal, own), exec_body=lambda space: space.update(names))
        except TypeError:  # of two built-in exceptions or metaclasses that do not go together
            return None
        made.setdefault(own, cls)
    return made[own]


def _names(refusal: type[Reject], own: type[BaseException]) -> dict[str, Any]:
    """What a class has so that it looks like the rejection's."""

    def reduced(error: Reject) -> tuple[Any, ...]:
        return _restored, (refusal, own, error.args), error.__getstate__()

    return {
        "__module__": refusal.__module__,
        "__qualname__": refusal.__qualname__,
        "__doc__": refusal.__doc__,
        "__str__": refusal.__str__,
        "__repr__": refusal.__repr__,
        "__reduce__": reduced,
        "_refusal": refusal,
    }


def _restored(refusal: type[Reject], own: type[BaseException], args: tuple[Any, ...]) -> Reject:
    return bare(_both(refusal, own) or refusal, args)
