"""Exceptions that are at once a rejection and an exception of a library's own."""

from types import new_class
from typing import Any

from spanhook.errors import Reject, bare
from spanhook.model.copying import pass_circumstances

_MADE = "_spanhook_native"
"""The attribute of a class of rejections with the classes made of it; so they are freed with it."""


def joined(reject: Reject, own: BaseException) -> Reject:
    """An exception that is both, with the attributes of both; the rejection's own come first.

    Returns:
        The rejection itself if its class cannot be combined with the other one.
    """
    cls = _both(type(reject), type(own))
    if cls is None:
        return reject
    made = bare(cls, reject.args)
    vars(made).update(vars(own))
    made.__setstate__(reject.__getstate__())
    pass_circumstances(reject, made)
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
            kinds = (type(refusal), type(own))  # new_class chooses between them, unless neither derives from the other
            related = issubclass(*kinds) or issubclass(*reversed(kinds))
            metaclass = {} if related else {"metaclass": new_class("_Both", kinds)}
            cls: Any = new_class(refusal.__name__, (refusal, own), metaclass, lambda space: space.update(names))
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
