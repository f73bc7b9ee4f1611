"""The arguments of the library's functions: reads and replaces them, however they were passed."""

from typing import Any

from spanhook.model import Args, Kwargs


class Parameters:
    """The parameters of a function that may be passed by position.

    Args:
        names: Their names, in order.
    """

    __slots__ = ("_places",)

    def __init__(self, *names: str) -> None:
        self._places = {name: place for place, name in enumerate(names)}

    def given(self, args: Args, kwargs: Kwargs, name: str) -> Any:
        """One argument; ``None`` if it was not passed."""
        place = self._places.get(name, len(args))
        return args[place] if place < len(args) else kwargs.get(name)

    def having(self, args: Args, kwargs: Kwargs, name: str, value: Any) -> tuple[Args, Kwargs]:
        """The arguments with one of them replaced."""
        place = self._places.get(name, len(args))
        if place < len(args):
            return (*args[:place], value, *args[place + 1 :]), kwargs
        return args, {**kwargs, name: value}


ASKED = Parameters("messages")
CALL = Parameters("messages", "tools", "callbacks", "available_functions", "from_task", "from_agent", "response_model")
COMPLETED = Parameters(
    "response", "call_type", "from_task", "from_agent", "messages", "usage", "finish_reason", "response_id"
)
EMIT = Parameters("source", "event")
EXECUTED = Parameters("function_name", "function_args", "available_functions")
INVOKED = Parameters("input", "config")
KICKOFF = Parameters("inputs")
NATIVE = Parameters("tool_call")
TASK = Parameters("task", "context", "tools")
TOLD = Parameters("tool_calls", "available_functions")
USED = Parameters("tool_string", "tool", "calling")
