"""Exceptions of the library that are no errors: a tool waits for a person, or a hand-off ends an agent's turn.

Recognized by name, so that unrelated exceptions cause no import.
"""

from typing import Literal

_STATUS: dict[str, Literal["interrupted", "success"]] = {
    "MiddlewareTermination": "success",
    "UserInputRequiredException": "interrupted",
    "_FunctionArgumentsChangedAfterApproval": "interrupted",
}


def control(error: BaseException) -> Literal["interrupted", "success"] | None:
    """The status of an operation that such an exception has ended."""
    for cls in type(error).__mro__:
        if cls.__name__ in _STATUS and cls.__module__.startswith("agent_framework."):
            return _STATUS[cls.__name__]
    return None
