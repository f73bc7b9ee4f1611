"""What telemetry says about an exception while content is off: its type, status and code, and where it was raised.

An exception's message may quote content, such as the arguments that a validator refused.
"""

import copy
import logging
import re
import traceback
from collections.abc import Iterator
from typing import Any, cast

from spanhook.errors import HookError
from spanhook.model.encoding import encodable

_CODE = re.compile(r"[A-Za-z][\w.-]{0,63}")
_MAX_CAUSES = 10
_CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
_DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"


def words(error: BaseException) -> str:
    """The exception's message, even if its ``__str__`` fails."""
    try:
        return str(error)
    except Exception:
        return "(it cannot be printed)"


def error_message(error: BaseException) -> str:
    """Its message, with its class unless that is one that says what cannot be done, rather than that code is wrong."""
    says = isinstance(error, HookError | ValueError | TypeError)
    return words(error) if says else f"{type(error).__name__}: {words(error)}"


def described(error: BaseException, *, in_full: bool) -> str:
    """The name of its class with its message, or with the provider's HTTP status and error code."""
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
    """A traceback with its causes; unless ``in_full``, with the exceptions' names but not their messages."""
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
    """The exception and its causes, each with the text that links it to the one before."""
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
    """A text in full, for standard error and the process's own logs.

    Attributes:
        in_short: The same without exception messages, for telemetry that leaves the process.
    """

    __slots__ = ("in_short",)

    in_short: str

    @classmethod
    def of(cls, full: str, short: str) -> "Said":
        said = cls(full)
        said.in_short = short
        return said


def raised_in(error: BaseException, package: str) -> bool:
    """Whether an exception was raised by a module of a package, or created there and not raised."""
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__", "")).split(".")[0] == package


def disclosed(text: str, in_full: bool) -> str:
    """A text as it leaves the process: in full, or without exception messages."""
    if isinstance(text, Said):
        text = str(text) if in_full else text.in_short  # a plain str, because exporters check attribute types
    return encodable(text)


def added(text: str, more: str) -> str:
    """A text with ``more`` appended, in full and in short."""
    return Said.of(text + more, text.in_short + more) if isinstance(text, Said) else text + more


def without_words(record: logging.LogRecord) -> logging.LogRecord:
    """A log record with the exceptions' names and where they were raised, but not their messages."""
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
    """An exception of the same name without a message, raised in the same place."""
    kind = type(error)
    made = type(kind.__name__, (Exception,), {"__module__": kind.__module__, "__qualname__": kind.__qualname__})()
    return made.with_traceback(error.__traceback__)


def exception_name(error: BaseException) -> str:
    """The value of ``error.type``: the qualified name of the exception's class."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
