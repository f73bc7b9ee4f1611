"""Rewrites every text of a request that an operation can express, and says which field it was in."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from spanhook.errors import HookError, Reject
from spanhook.hooks.pii_redaction._messages import Texts, redacted
from spanhook.hooks.pii_redaction._values import changed
from spanhook.model import MEDIA_ROOT, Operation

Change = Callable[[str], str]
_ITEM = {"namespace", "key", "value"}


def rewrite(op: Operation, change: Change, together: Texts, reason: Callable[[], str]) -> None:
    """Rewrite a request, field by field; what one field says of another is read again after each.

    Args:
        op: The operation, before its call.
        change: Redacts one text, or returns it as it is.
        together: Redacts texts that are read as one.
        reason: What the decision says, asked after each field.

    Raises:
        Reject: The request cannot be read.
        HookError: The call cannot express the rewritten request.
    """
    _check_readable(op)
    for field, new in _fields(op, change, together):
        try:
            op.replace(**{field: new}, reason=reason())
        except HookError:
            if field != "inputs" or not op.request.messages:
                raise
            op.replace(messages=new, reason=reason())  # messages of the library's own, with fields that no other has


def search(op: Operation, change: Change, together: Texts) -> None:
    """Call ``change`` with every text of a request, up to the first field in which something would change.

    Raises:
        Reject: The request cannot be read.
    """
    _check_readable(op)
    for _ in _fields(op, change, together):
        return


def _fields(op: Operation, change: Change, together: Texts) -> Iterator[tuple[str, Any]]:
    """The fields of a request that are to be replaced, each with its new value."""
    messages = op.request.messages
    if messages and (new := redacted(messages, change, together)) != messages:
        yield "messages", new
    system = op.request.system
    if system and (text := change(system)) != system:
        yield "system", text
    inputs = op.request.inputs
    arguments = op.request.arguments
    if op.kind == "memory.store" and inputs is not None:
        written = _written(inputs, change)
        if written is not inputs:
            yield "inputs", written
        return
    if arguments:
        place = None if op.kind == "tool.execute" else MEDIA_ROOT  # a model writes these
        new_arguments = changed(arguments, change, place)
        if new_arguments is not arguments:
            yield "arguments", new_arguments
    if inputs is not None and (not arguments or op.kind == "llm.call"):
        new_inputs = changed(inputs, change)
        if new_inputs is not inputs:
            yield "inputs", new_inputs


def _written(inputs: Any, change: Change) -> Any:
    """What is written to a store: the values, not where they are kept."""
    items = cast("list[Any]", inputs) if isinstance(inputs, list) else []
    if not items or not all(isinstance(one, dict) and {*cast("dict[str, Any]", one)} >= _ITEM for one in items):
        return changed(inputs, change)
    made = [{**one, "value": changed(one["value"], change)} for one in items]
    same = all(new["value"] is one["value"] for new, one in zip(made, items, strict=True))
    return items if same else made


def _check_readable(op: Operation) -> None:
    if op.kind == "memory.store" and op.request.inputs == [] and op.request.arguments == {"items": []}:
        raise Reject("A batch given as an iterator cannot be redacted; give a list", status_code=422)
