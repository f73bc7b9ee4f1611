"""Reaching references to a function that were taken before it was wrapped.

A bound method kept in a table (``tools = {"search": tool.run}``) or a name imported with ``from x import f`` holds the
function object itself, and replacing the attribute does not touch it. A gate that depends on import order is none, so
the function's own code is exchanged for a jump to the wrapper, and the wrapper calls a copy that has the code.
"""

import warnings
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

_TARGET = "spanhook.redirect.target"


def _jump(*args: Any, **kwargs: Any) -> Any:
    target: Any = "spanhook.redirect.target"  # a constant of the code, exchanged for the function to jump to
    return target(*args, **kwargs)


def copy_of(function: FunctionType) -> FunctionType:
    """A function with the same code, closure and metadata, which a redirection leaves alone."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__
    copy.__doc__ = function.__doc__
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    if type_params := getattr(function, "__type_params__", None):  # from Python 3.12 on
        copy.__type_params__ = type_params  # type: ignore[attr-defined]
    copy.__dict__.update(function.__dict__)
    return copy


def redirect(function: FunctionType, target: Callable[..., Any]) -> Callable[[], None]:
    """Have calls of ``function`` itself go to ``target``.

    Returns:
        A function that gives it its own code back.
    """
    code = function.__code__
    jump = _jump.__code__
    consts = tuple(target if const == _TARGET else const for const in jump.co_consts)
    changed = jump.replace(
        co_consts=consts,
        # A function with free variables, such as one that uses super(), only takes code that has as many.
        co_freevars=code.co_freevars,
        co_name=code.co_name,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )
    _give(function, changed)
    return lambda: _give(function, code)


def _give(function: FunctionType, code: CodeType) -> None:
    with warnings.catch_warnings():
        # CPython warns from 3.13 on where one is the code of a coroutine function and the other is not.
        warnings.simplefilter("ignore", DeprecationWarning)
        function.__code__ = code
