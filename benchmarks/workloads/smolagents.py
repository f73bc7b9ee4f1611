"""An agent of smolagents, without a network: its model answers at once."""

from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation

smolagents: Any = import_module("smolagents")  # it is not in the environment that types are checked in
_models: Any = import_module("smolagents.models")
_monitoring: Any = import_module("smolagents.monitoring")
_CALLS = (("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))


class Lines(_models.Model):
    """Calls the tool twice, then answers."""

    model_id = "lines"

    def generate(self, messages: Any, *_args: Any, **_given: Any) -> Any:
        done = sum(getattr(one.role, "value", "") == "tool-response" for one in messages)
        used = _monitoring.TokenUsage(20, 8)
        if done == len(_CALLS):
            return _models.ChatMessage(role="assistant", content="All done.", token_usage=used)
        name, arguments = _CALLS[done]
        function = _models.ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = _models.ChatMessageToolCall(id=f"call_{done}", type="function", function=function)
        return _models.ChatMessage(role="assistant", tool_calls=[call], token_usage=used)


def add(a: int, b: int) -> int:
    """Add numbers.

    Args:
        a: A number.
        b: Another one.
    """
    return a + b


def run() -> Operation:
    """A run with three calls of the model and two of a tool."""
    quiet = _monitoring.LogLevel.OFF
    agent = smolagents.ToolCallingAgent(
        tools=[smolagents.tool(add)], model=Lines(), max_steps=len(_CALLS), verbosity_level=quiet
    )

    def operation() -> None:
        assert agent.run("hi") == "All done."

    return operation
