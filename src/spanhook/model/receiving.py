"""Where the body of a call begins, once its framework has validated the arguments: an entry of a table of points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spanhook.model.adapter import Args, Attributes, Kwargs


@dataclass(frozen=True, kw_only=True)
class Receiver:
    """A method that is the body of calls: it receives what the framework has made of their arguments.

    Gates look once more there, if that is not what they were shown; see ``spanhook.engine``.

    Attributes:
        module, name: The method of the base class, as in ``Point``; it is wrapped in the subclasses that override it,
            while there are hooks.
        receipt: How its arguments are read, as ``module:NAME`` of a ``Receipt``.
        wanted: Called with the plans by kind; returns whether there are hooks for such calls, as ``module:function``.
            It must not import the library, whose import may be in progress.
    """

    module: str
    name: str
    receipt: str
    wanted: str
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a library's body receives its arguments.

    Attributes:
        untouched: Called with ``(shown, args, kwargs)``; returns whether the body certainly receives what gates were
            shown. It runs for every call, so it only compares identities.
        arguments: Called with ``(instance, args, kwargs, shown)``; returns what the body receives, by the names that
            hooks read, in the form of ``shown``.
        visible: Called with ``(instance, arguments)``; returns these without what the framework injects.
        validated: Called with ``(instance, args, kwargs, inputs, attributes)``: the arguments with which the body is
            called instead if hooks have rewritten the call, whose request has these inputs. It has the framework
            validate them, and may raise what that raises.
        answered: Called with ``(instance, result)``; returns what the body would have returned for an answer by a hook,
            which the adapter has brought into the form of the call's result.
    """

    untouched: Callable[[Any, Args, Kwargs], bool]
    arguments: Callable[[Any, Args, Kwargs, Any], Any]
    visible: Callable[[Any, Any], Any]
    validated: Callable[[Any, Args, Kwargs, Any, Attributes], tuple[Args, Kwargs]]
    answered: Callable[[Any, Any], Any]
