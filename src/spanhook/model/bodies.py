"""Where the body of a call begins, once its framework has validated the arguments: an entry of a table of points."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import is_
from typing import Any

from spanhook.model.adapter import Adapter
from spanhook.model.arguments import Args, Attributes, Kwargs
from spanhook.model.request import Change, Request
from spanhook.model.table_entry import TableEntry


@dataclass(frozen=True, kw_only=True)
class Receiver(TableEntry):
    """A method that is the body of calls: it receives what the framework has made of their arguments.

    Gates look once more there, if that is not what they were shown; see ``spanhook.engine``.

    Attributes:
        module, name: The method, as in ``Point``; it is wrapped while there are hooks.
        receipt: How its arguments are read, as ``module:NAME`` of a ``Receipt``.
        wanted: Called with the plans by kind; returns whether there are hooks for such calls, as ``module:function``.
            It must not import the library, whose import may be in progress.
        overrides: It is wrapped in the subclasses that override it, and only there.
        around: For a method that validates arguments and calls the body itself: called in its place with ``(receive,
            wrapped, instance, args, kwargs)``, as ``module:function``. In place of the body it has ``receive`` awaited,
            with the body, a coroutine function, and ``(instance, args, kwargs)`` for it.
        returns: It is what validates: its result is what the body receives. The framework may call it several times for
            one call, and each result is looked at that differs from the last one.
    """

    receipt: str
    wanted: str
    overrides: bool = False
    around: str = ""
    returns: bool = False


def unknown(_instance: Any, _shown: Any, _args: Args, _kwargs: Kwargs) -> bool:
    return False


def as_it_is(_instance: Any, result: Any) -> Any:
    return result


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a library's body receives its arguments.

    Attributes:
        arguments: Called with ``(instance, args, kwargs, shown)``; returns what the body receives, by the names that
            hooks read, in the form of ``shown``; ``None`` if this is not the call's body.
        validated: Called with ``(instance, args, kwargs, request, attributes)``: the arguments with which the body is
            called instead if hooks have rewritten the call, which has this request now. It has the framework validate
            that, and may raise what that raises.
        untouched: Called with ``(instance, shown, args, kwargs)``; returns whether the body certainly receives what
            gates were shown. It runs for every call, so it only compares identities; by default values are compared.
        visible: Called with ``(instance, arguments)``; returns these without what the framework injects.
        answered: Called with ``(instance, result)``; returns what the body would have returned for an answer by a hook,
            which the adapter has brought into the form of the call's result.
        inside: The method is no body, but what a coroutine of the framework's calls between validation and body: hooks
            cannot be awaited in it, and an answer is passed to the caller around the framework.
        returns: As in the ``Receiver``.
        belongs: Called with the operation's instance and the method's; by default they have to be the same object.
    """

    arguments: Callable[[Any, Args, Kwargs, Any], Any]
    validated: Callable[[Any, Args, Kwargs, Request, Attributes], tuple[Args, Kwargs]]
    untouched: Callable[[Any, Any, Args, Kwargs], bool] = unknown
    visible: Callable[[Any, Any], Any] = as_it_is
    answered: Callable[[Any, Any], Any] = as_it_is
    inside: bool = False
    returns: bool = False
    belongs: Callable[[Any, Any], bool] = is_


def with_received(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs, arguments: Any) -> tuple[Args, Kwargs]:
    """The call with the arguments that its body receives."""
    own, rewrite = adapter.receiving.received if adapter.receiving is not None else None, adapter.editing.rewrite
    if own is not None:
        return own(instance, args, kwargs, arguments)
    assert rewrite is not None
    return rewrite(instance, args, kwargs, Change(arguments=arguments))
