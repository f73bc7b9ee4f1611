"""Redirects references to a function that were taken before it was wrapped.

A bound method kept in a table (``tools = {"search": tool.run}``) or a name imported with ``from x import f`` holds the
function object itself, and replacing the attribute does not touch it. A gate that depends on import order is useless,
so the function's own code is replaced with a jump to the wrapper, and the wrapper calls a copy with the original code.
"""

import functools
import threading
import weakref
from collections.abc import Callable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_ITERABLE_COROUTINE, CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import Any, Protocol

from spanhook.fork import after_fork
from spanhook.model import frames, shed

_TARGET = "spanhook.redirect.target"
_SORTS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE
_KEPT = "spanhook.redirect.kept"
_lock = threading.RLock()  # reentrant: the garbage collector may run meanwhile and release targets


Reached = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function to call, and its positional arguments."""


class Target(Protocol):
    """A possible destination for calls of a redirected function."""

    def reached(self, args: tuple[Any, ...]) -> Reached | None:
        """What a call with these positional arguments should call; ``None`` if it is not for this target."""
        ...


class _Redirection:
    """What the replaced code of a function calls.

    The code object refers to it, and the garbage collector does not traverse code. So nothing here may refer strongly
    to what leads back to the function, such as its class or the code: targets and the function are weak references.
    """

    def __init__(self, function: FunctionType) -> None:
        self.code = function.__code__
        self._function = weakref.ref(function)
        self._targets: tuple[weakref.ref[Target], ...] = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        for found in self._targets:
            target = found()
            reached = None if target is None else target.reached(args)
            if reached is not None:
                return reached[0](*reached[1], **kwargs)
        function: Any = self._function()  # alive, because it is being called
        plain = FunctionType(self.code, function.__globals__, function.__name__, None, function.__closure__)
        return plain(*args, **kwargs)

    def leave(self, error: BaseException) -> None:
        """Remove the frames of the jump, and of what it called, from the traceback: the function's own frame
        follows.
        """
        trace = error.__traceback__
        if not frames.stay and trace is not None:
            BaseException.with_traceback(error, trace.tb_next)
            shed(error)

    def add(self, function: FunctionType, target: Target) -> None:
        with _lock:
            self._targets = (weakref.ref(target, self._forget), *self._targets)
            if _redirection(function) is not self:
                function.__code__ = _jump(self.code, self)

    def remove(self, target: Target) -> None:
        for found in self._targets:
            if found() is target:
                self._forget(found)

    def _forget(self, gone: "weakref.ref[Target]") -> None:
        with _lock:
            self._targets = tuple(found for found in self._targets if found is not gone)
            function = self._function()
            if not self._targets and function is not None and _redirection(function) is self:
                function.__code__ = self.code


def redirect(function: FunctionType, target: Target, *, keep: bool = False) -> None:
    """Redirect calls of ``function`` itself to ``target`` while it exists; the latest target comes first.

    With ``keep``, the function itself refers to it, where the garbage collector can see it and release both together.
    """
    found = _redirection(function)
    (found if found is not None else _Redirection(function)).add(function, target)
    if keep:
        function.__dict__[_KEPT] = (*function.__dict__.get(_KEPT, ()), target)


def release(function: FunctionType, target: Target) -> None:
    """Stop redirecting to ``target``; releasing the last target restores the function's own code."""
    found = _redirection(function)
    if found is not None:
        found.remove(target)
    if _KEPT in function.__dict__:
        kept = tuple(one for one in function.__dict__.pop(_KEPT) if one is not target)
        if kept:
            function.__dict__[_KEPT] = kept


def copy_of(function: FunctionType) -> FunctionType:
    """A function with the same code, closure and metadata, which a redirection leaves alone."""
    found = _redirection(function)
    copy = FunctionType(
        function.__code__ if found is None else found.code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    if hasattr(function, "__annotate__"):  # from Python 3.14 on; annotations may refer to names that do not exist yet
        copy.__annotate__ = function.__annotate__  # type: ignore[attr-defined]
    else:
        copy.__annotations__ = function.__annotations__
    copy.__doc__ = function.__doc__
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    if type_params := getattr(function, "__type_params__", None):  # from Python 3.12 on
        copy.__type_params__ = type_params  # type: ignore[attr-defined]
    copy.__dict__.update(function.__dict__)
    copy.__dict__.pop(_KEPT, None)
    return copy


def _renew() -> None:
    global _lock
    _lock = threading.RLock()


after_fork("wrapped functions", _renew)


def _redirection(function: FunctionType) -> _Redirection | None:
    for const in function.__code__.co_consts:
        if type(const) is _Redirection:
            return const
    return None


def _jump(code: CodeType, target: Callable[..., Any]) -> CodeType:
    """Code with the signature of ``code`` that returns what ``target`` returns for the same arguments.

    Its flags mark it as a coroutine or generator function if ``code`` is one. CPython itself goes by an instruction at
    the start of the code, and everything else by the flags: so a call returns what the wrapper returns, which is the
    coroutine or generator with all its methods.
    """
    stars = code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + stars.bit_count()
    names = code.co_varnames[:count]
    jump = _template(names, code.co_posonlyargcount, code.co_argcount, code.co_kwonlyargcount, stars)
    return jump.replace(
        co_consts=tuple(target if const == _TARGET else const for const in jump.co_consts),
        # A function with free variables, such as one that uses super(), only accepts code with the same number.
        co_freevars=code.co_freevars,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
        co_flags=jump.co_flags | code.co_flags & _SORTS,
    )


_JUMP = """
def jump({taken}):
    {own}target = {target}
    try:
        return {own}target({given})
    except BaseException as {own}error:
        {own}target.leave({own}error)
        raise
"""


@functools.lru_cache(maxsize=512)
def _template(names: tuple[str, ...], first: int, positional: int, keyword: int, stars: int) -> CodeType:
    """A jump for one signature: ``names`` are the parameters' in the order of ``co_varnames``."""
    by_name = names[positional : positional + keyword]
    rest = list(names[positional + keyword :])
    taken, given = list(names[:positional]), list(names[:positional])
    if first:
        taken.insert(first, "/")
    if stars & CO_VARARGS:
        taken.append(f"*{rest[0]}")
        given.append(f"*{rest.pop(0)}")
    elif by_name:
        taken.append("*")
    taken += by_name
    given += [f"{name}={name}" for name in by_name]
    if stars & CO_VARKEYWORDS:
        taken.append(f"**{rest[0]}")
        given.append(f"**{rest[0]}")
    made: dict[str, FunctionType] = {}
    own = "spanhook_"
    while any(name.startswith(own) for name in names):
        own += "_"
    source = _JUMP.format(own=own, taken=", ".join(taken), target=repr(_TARGET), given=", ".join(given))
    exec(source, made)  # noqa: S102 - the names are those of a function's parameters
    return made["jump"].__code__
