"""Refusals with mistakes: what cannot be used in them is replaced and logged, since a refusal must refuse."""

import logging
import math
import operator
import os
from types import CodeType, FrameType
from typing import Any, cast

log = logging.getLogger("spanhook")

_SCOPES = ("operation", "run")
_HERE = os.path.dirname(__file__)
_OURS = frozenset(os.path.join(_HERE, name) for name in ("errors.py", "mending.py"))
_reported: set[tuple[str, CodeType | None, int]] = set()
"""The mistakes that were logged: what cannot be used, in which code, on which line."""


def mend(reject: Any, frame: FrameType | None) -> None:
    """Replace attributes of a refusal that servers and records cannot use, and log each of them once for its place.

    Args:
        reject: The refusal.
        frame: Where it was created or raised.
    """
    if type(reject.reason) is not str:
        reject.reason = _text(reject.reason)
    status, scope, wait = reject.status_code, reject.scope, reject.retry_after
    if type(status) is not int or not 400 <= status <= 599:
        reject.status_code = known = _status(status)
        if not known:
            reject.status_code = 500
            what = operator.index(status) if isinstance(status, int) else f"a {type(status).__name__}"
            report(reject, "status_code", f"is {what}; expected 400 to 599. It refuses with status 500", frame)
    if type(scope) is not str or scope not in _SCOPES:
        reject.scope = known = next((name for name in _SCOPES if isinstance(scope, str) and _text(scope) == name), "")
        if not known:
            reject.scope, reject.status_code = "operation", 500
            report(reject, "scope", "is unknown; expected 'operation' or 'run'. It refuses with status 500", frame)
    if wait is not None and not (type(wait) in (int, float) and math.isfinite(wait) and wait >= 0):
        reject.retry_after = None
        report(reject, "retry_after", "cannot be used; expected seconds", frame)
    facts = reject.facts
    if facts and not _usable(facts):
        reject.facts = {}
        report(reject, "facts", "cannot be used; expected numbers, texts and booleans by name", frame)


def report(reject: Any, part: str, what: str, frame: FrameType | None) -> None:
    """Log a mistake in a refusal, unless it was logged for this place."""
    while frame is not None and (frame.f_code.co_name == "__init__" or frame.f_code.co_filename in _OURS):
        frame = frame.f_back
    where = (part, frame and frame.f_code, frame.f_lineno if frame is not None else 0)
    if where in _reported:
        return
    _reported.add(where)
    place = f" ({frame.f_code.co_filename}:{frame.f_lineno})" if frame is not None else ""
    log.warning("spanhook: %s of a %s that refuses a call %s%s", part, type(reject).__name__, what, place)


def _usable(facts: Any) -> bool:
    values = (str, bool, int, float)
    return type(facts) is dict and all(
        type(key) is str and type(one) in values for key, one in cast("dict[Any, Any]", facts).items()
    )


def _status(value: Any) -> int:
    """A status that a server can refuse with; 0 if it is none."""
    try:
        status = operator.index(value)
    except Exception:
        return 0
    return status if not isinstance(value, bool) and 400 <= status <= 599 else 0


def _text(value: Any) -> str:
    """The characters of a reason."""
    try:
        return str.__str__(value if isinstance(value, str) else str(value))
    except Exception:
        return "Rejected"
