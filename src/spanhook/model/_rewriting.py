"""Rewrites calls: a hook asks in common terms, the call is made in the library's own."""

from typing import Any, NamedTuple

from spanhook.errors import HookError
from spanhook.model._arrival import check
from spanhook.model._kinds import REWRITABLE
from spanhook.model.adapter import Adapter
from spanhook.model.arguments import Args, Kwargs
from spanhook.model.copying import copied
from spanhook.model.failures import error_message
from spanhook.model.request import Change


class Rewritten(NamedTuple):
    """A call as a hook has rewritten it."""

    args: Args
    kwargs: Kwargs
    fields: tuple[str, ...]
    """What changed, as fields of ``Change``."""
    model: str


def rewritten(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    """The arguments of a call after ``change``; no part of them is shared with anybody.

    Raises:
        HookError: Calls of this kind, or this part of them, cannot be rewritten, or the rewritten call does not say
            what was asked for.
    """
    if adapter.editing.rewrite is None or adapter.kind not in REWRITABLE:
        raise HookError(f"op.replace() cannot rewrite {adapter.kind!r}; it can rewrite {', '.join(sorted(REWRITABLE))}")
    fields = change.fields()
    foreign = [name for name in fields if name not in adapter.editing.takes]
    if foreign or not fields:
        takes = ", ".join(f"{name}=" for name in sorted(adapter.editing.takes))
        given = ", ".join(f"{name}=" for name in foreign) or "nothing"
        raise HookError(f"op.replace() was given {given}; {adapter.kind} of {adapter.layer} takes {takes}")
    change = Change(**{name: copied(getattr(change, name)) for name in fields})
    try:
        made = adapter.editing.rewrite(instance, args, kwargs, change)
    except Exception as error:
        if any(isinstance(one, str) for one in change.messages or ()):  # which some text models take
            raise HookError(
                "op.replace(messages=) was given text: a message is a mapping with `parts`, or with `content` that is "
                'text, such as {"role": "user", "parts": [{"type": "text", "content": "..."}]}'
            ) from error
        if isinstance(error, HookError | ValueError | TypeError):  # what it says of what the call cannot take
            raise
        raise HookError(f"{adapter.layer} could not rewrite the call: {error_message(error)}") from error
    if type(made) is not tuple or len(made) != 2:
        raise HookError(f"{adapter.layer} could not rewrite the call: its rewrite returned no arguments and keywords")
    args, kwargs = made
    check(adapter, instance, args, kwargs, change)
    return args, kwargs
