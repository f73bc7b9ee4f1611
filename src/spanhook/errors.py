"""The exception tree: what spanhook raises, what hooks raise to refuse a call, and what stops a run or a hook."""

import sys
from abc import ABCMeta
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

from spanhook.mending import mend, report


class SpanhookError(Exception):
    """Base of everything that spanhook raises."""


class ConfigurationError(SpanhookError, ValueError):
    """Something given to spanhook cannot be used; the message names it and the fix. Commands exit with 2.

    Attributes:
        place: The line where it was given, also part of the message; empty if unknown.
    """

    def __init__(self, message: str = "", *, place: str = "") -> None:
        super().__init__(f"{message} ({place})" if place else message)
        self.place = place


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake in a configuration file.

    Attributes:
        file: The file.
        line: Its line number; 0 if unknown.
        key: The key, such as ``policies[0].with.rules[1].when``; empty for the file as a whole.
        message: What was given, what was expected, and how to fix it.
    """

    file: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class ConfigurationFileError(ConfigurationError):
    """A configuration file cannot be used. The message has its first mistake and the number of others.

    Attributes:
        mistakes: All mistakes, in the order of the file.
    """

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        first, more = self.mistakes[0], len(self.mistakes) - 1
        rest = f" (and {more} more: spanhook config check {first.file})" if more else ""
        super().__init__(f"{first}{rest}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.mistakes,)


class AgentConfigError(ConfigurationError):
    """An agent card is invalid, or its agent failed to start."""


class RequirementError(SpanhookError):
    """A library named in ``require`` is not bound, or not at a supported version. Commands exit with 3."""


class UnboundError(RequirementError, ImportError):
    """With ``Settings(strict=True)``, an agent library was imported or used that is not bound."""


class HookError(SpanhookError):
    """A hook did what its form does not allow, such as a second ``yield``."""


class ConditionError(HookError):
    """A condition could not be evaluated for an operation. What was in the operation's data is not in the message.

    Args:
        why: Such as "reads 'amount', which is not there".
        condition: Its text.
    """

    def __init__(self, why: str, condition: str = "") -> None:
        super().__init__(f"condition {condition!r} {why}" if condition else why)
        self.why, self.condition = why, condition


class StoreError(SpanhookError):
    """A store cannot be used now: it is away, busy for too long, or damaged. It may be used again later."""


class SealedError(HookError):
    """A hook tried to change an operation that it may not change, or may no longer change."""


class OperationError(SpanhookError, RuntimeError):
    """An operation in the application's own code was misused, such as entered twice."""


Scope = Literal["operation", "run"]


_Refusal = TypeVar("_Refusal")


class _Refusing(ABCMeta):
    """Creates refusals, whatever they are created with: a mistake in a refusal must not let the call pass."""

    __instancecheck__ = type.__instancecheck__  # the faster ones: nothing is registered as a refusal
    __subclasscheck__ = type.__subclasscheck__

    def __call__(cls: type[_Refusal], *args: Any, **kwargs: Any) -> _Refusal:  # pyright: ignore[reportGeneralTypeIssues]
        try:
            return type.__call__(cls, *args, **kwargs)
        except Reject:
            raise
        except Exception as error:
            reasons = (text for text in (*args, kwargs.get("reason")) if isinstance(text, str))
            made = cast("_Refusal", unmade(cast("type[Reject]", cls), next(reasons, Reject.reason)))
            report(
                made, "__init__", f"failed with {type(error).__name__}. It refuses with status 500", sys._getframe(1)
            )
            return made


class Reject(SpanhookError, metaclass=_Refusing):
    """Raised by a hook to refuse an operation. It always stands, whatever the hook's fail mode.

    Args:
        reason: Why, in words that may be shown to the caller and to the model.
        status_code: The HTTP status that a server should answer with, from 400 to 599.
        scope: ``"operation"`` refuses this one call; a tool refused inside an agent loop becomes the framework's
            own error result, so that the model can go on. ``"run"`` also refuses every later operation of the run,
            and the run itself ends with this exception whatever the framework does.
        retry_after: After how many seconds the same may be asked again, if that is known: a server says so in the
            header ``Retry-After``.
        facts: What records of the decision have beside the reason, such as figures: numbers, texts and booleans by the
            names of attributes. The caller does not see it.

    An instance may be created in advance and raised repeatedly: each refusal is a copy of it. Subclasses keep their
    class and attributes when copied or pickled, whatever their ``__init__`` takes.

    It raises nothing: a refusal with a mistake is a refusal. An argument that cannot be used is logged once with its
    place; the status is 500 then, the scope ``"operation"`` if it is neither of the two.
    """

    reason: str = "Rejected"
    status_code: int = 403
    scope: Scope = "operation"
    retry_after: float | None = None
    facts: Mapping[str, str | bool | int | float] = MappingProxyType({})

    def __init__(
        self,
        reason: str = "Rejected",
        *,
        status_code: int = 403,
        scope: Scope = "operation",
        retry_after: float | None = None,
        facts: Mapping[str, str | bool | int | float] | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status_code = status_code
        self.scope = scope
        if retry_after is not None:
            self.retry_after = retry_after
        if facts is not None:
            self.facts = facts
        mend(self, sys._getframe(1))

    def __reduce__(self) -> tuple[Any, ...]:
        return bare, (type(self), self.args), self.__getstate__()

    def __setstate__(self, state: Any) -> None:
        several = cast("tuple[dict[str, Any] | None, ...]", state if isinstance(state, tuple) else (state,))
        for attributes in several:  # from its dict, then from its slots
            for name, value in (attributes or {}).items():
                object.__setattr__(self, name, value)


Reject.__module__ = "spanhook"  # where users import it from, and what error.type says


def bare(cls: type[Reject], args: tuple[Any, ...]) -> Reject:
    """An instance without attributes, created without ``__init__``, whose arguments are unknown."""
    try:
        made = Exception.__new__(cls, *args)
    except TypeError:  # it also derives from another built-in exception, with its own constructor
        made = cls.__new__(cls, *args)
    made.args = args
    return made


def unmade(cls: type[Reject], reason: str) -> Reject:
    """A refusal whose own ``__init__`` has failed."""
    try:
        made = bare(cls, (reason,))
        made.reason, made.status_code, made.scope = reason, 500, "operation"
    except Exception:
        made = Reject(reason, status_code=500)
    return made


class RunStopped(BaseException):
    """Carries a rejection of the whole run past everything that catches ``Exception``.

    It never leaves the outermost operation: that one raises the plain ``Reject``.
    """

    def __init__(self, reject: Reject) -> None:
        super().__init__(reject.reason)
        self.reject = reject


class AttemptStopped(RunStopped):
    """Carries the rejection of one attempt past everything that would make another one, to the operation or the
    function that makes the attempts.
    """


class Unwound(BaseException):
    """Leaves a framework's code for the gates around it, which have an answer, or have to wait for hooks."""


class FailedResult(Exception):
    """Stands for what went wrong in a call that raised nothing, but returned a result which says that it failed."""

    @property
    def status_code(self) -> int | None:
        """The HTTP status, if that is how the result says so."""
        reason = str(self)
        return int(reason) if reason.isdecimal() else None


class TooLate(Exception):
    """A hook refuses what has happened and cannot be taken back: its result stands, and later hooks are left out."""


class TimedOut(Exception):
    """A hook exceeded its own timeout and was stopped or abandoned."""
