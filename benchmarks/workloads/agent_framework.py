"""An agent of Agent Framework, without a network: its client answers at once."""

from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation

framework: Any = import_module("agent_framework")  # it is not in the environment that types are checked in
_USED = {"input_token_count": 20, "output_token_count": 8, "total_token_count": 28}


class Lines(framework.FunctionInvocationLayer, framework.ChatMiddlewareLayer, framework.BaseChatClient):
    """Calls the tool twice, then answers."""

    model = "lines"

    async def _inner_get_response(self, *, messages: Any, **_given: Any) -> Any:
        done = sum(one.type == "function_result" for message in messages for one in message.contents)
        call = framework.Content.from_function_call(f"call_{done}", "add", arguments={"a": 1, "b": 2})
        contents = [framework.Content.from_text("All done.") if done == 2 else call]
        said = framework.Message("assistant", contents)
        return framework.ChatResponse(messages=[said], usage_details=dict(_USED))


@framework.tool(approval_mode="never_require")
async def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


def arun() -> Operation:
    """A run with three calls of the model and two of a tool."""
    agent = framework.Agent(Lines(), tools=[add], name="helper")

    async def operation() -> None:
        assert (await agent.run("hi")).text == "All done."

    return operation
