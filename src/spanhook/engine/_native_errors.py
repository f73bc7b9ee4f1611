"""Rejections that are at once the library's own exceptions, so that the handlers of an application know them."""

from spanhook.diagnostics import internal
from spanhook.engine._own_adapters import LAYER as OWN
from spanhook.errors import Reject
from spanhook.model import Adapter, Record, joined


def native(op: Record, reject: Reject) -> Reject:
    """What is raised for a rejection of ``op``: the rejection, and the library's own exception if it has one."""
    make = op.adapter.editing.native_error
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
    return op.decided.refused or not op.called or reject is op.run.stop


def _is_framework(adapter: Adapter, op: Record) -> bool:
    return adapter.nesting.is_framework and adapter.layer not in (OWN, op.adapter.layer)
