"""What telemetry tells of an exception while content is off: its type, status and code, and where it was raised.

An exception's own words may quote what it was about, such as the arguments that a validator refused.
"""

import copy
import logging
import re
import traceback
from collections.abc import Iterator
from typing import Any, cast

from spanhook.model.encoding import encodable

_CODE = re.compile(r"[A-Za-z][\w.-]{0,63}")
_MAX_CAUSES = 10
_CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
_DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"


def words(error: BaseException) -> str:
    """The exception's own text, whatever its class makes of being asked."""
    try:
        return str(error)
    except Exception:
        return "(it cannot be printed)"


def described(error: BaseException, *, in_full: bool) -> str:
    """The name of its class with its own words, or with the HTTP status and the code that a provider has given it."""
    name = type(error).__name__
    if in_full:
        return f"{name}: {words(error)}"
    status, code = _attribute(error, "status_code"), _attribute(error, "code")
    said = [name]
    if type(status) is int and 100 <= status <= 599:
        said.append(str(status))
    if type(code) is str and _CODE.fullmatch(code):
        said.append(code)
    return " ".join(said)


def _attribute(error: BaseException, name: str) -> Any:
    try:
        return getattr(error, name, None)
    except Exception:
        return None


def stack(error: BaseException, *, in_full: bool) -> str:
    """A traceback with its causes; unless ``in_full``, exceptions are named there and say nothing."""
    if not in_full:
        return "".join(_stack(error))
    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # one of them cannot be printed
        return "".join(_stack(error))


def _stack(error: BaseException) -> Iterator[str]:
    for one, joined in reversed(list(_chain(error))):
        if one.__traceback__ is not None:
            yield "Traceback (most recent call last):\n"
            yield from traceback.format_tb(one.__traceback__)
        yield f"{_named(one)}\n"
        yield joined


def _chain(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """The exception and what led to it, each with the words that join it to the one before."""
    seen: set[int] = set()
    at, joined = error, ""
    while at is not None and id(at) not in seen and len(seen) < _MAX_CAUSES:
        seen.add(id(at))
        yield at, joined
        if at.__cause__ is not None:
            at, joined = at.__cause__, _CAUSED
        else:
            at, joined = None if at.__suppress_context__ else at.__context__, _DURING


def _named(error: BaseException) -> str:
    name = exception_name(error)
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return f"{name}: {', '.join(map(_named, group.exceptions))}"
    return name


class Said(str):
    """A text in full, for standard error and whoever reads the process's own logs.

    Attributes:
        in_short: The same without the words of exceptions, for what leaves the process.
    """

    __slots__ = ("in_short",)

    in_short: str

    @classmethod
    def of(cls, full: str, short: str) -> "Said":
        said = cls(full)
        said.in_short = short
        return said


def raised_in(error: BaseException, package: str) -> bool:
    """Whether an exception was raised by a module of a package, or made there and not raised."""
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__", "")).split(".")[0] == package


def disclosed(text: str, in_full: bool) -> str:
    """A text as it leaves the process: in full, or without the words of exceptions."""
    if isinstance(text, Said):
        text = str(text) if in_full else text.in_short  # plain, as what takes apart an attribute's type wants it
    return encodable(text)


def added(text: str, more: str) -> str:
    """A text with more behind it, in full and in short."""
    return Said.of(text + more, text.in_short + more) if isinstance(text, Said) else text + more


def without_words(record: logging.LogRecord) -> logging.LogRecord:
    """A log record in which exceptions are named and say nothing, with where they were raised."""
    twin = copy.copy(record)
    if isinstance(record.args, tuple):
        twin.args = tuple(_without_words(one) for one in record.args)
    if record.exc_info and record.exc_info[1] is not None:
        error = _silent(record.exc_info[1])
        twin.exc_info = type(error), error, error.__traceback__
    twin.exc_text = None
    return twin


def _without_words(argument: object) -> object:
    if isinstance(argument, BaseException):
        return _named(argument)
    return disclosed(argument, in_full=False) if isinstance(argument, str) else argument


def _silent(error: BaseException) -> BaseException:
    """An exception of the same name that says nothing, raised in the same place."""
    kind = type(error)
    made = type(kind.__name__, (Exception,), {"__module__": kind.__module__, "__qualname__": kind.__qualname__})()
    return made.with_traceback(error.__traceback__)


def exception_name(error: BaseException) -> str:
    """The value of ``error.type``: the qualified name of the exception's class."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
