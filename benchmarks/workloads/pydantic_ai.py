"""An agent of Pydantic AI, without a network: its model answers at once."""

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from benchmarks.workloads import Operation


async def _answer(messages: list[Any], _info: AgentInfo) -> ModelResponse:
    """Call the tool twice, then answer."""
    done = len(messages) // 2
    part = ToolCallPart("add", {"a": 1, "b": 2}, f"call_{done}") if done < 2 else TextPart("All done.")
    return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=20, output_tokens=8))


def arun() -> Operation:
    """A run with three calls of the model and two of a tool."""
    agent = Agent(FunctionModel(_answer, model_name="gpt-4o-mini"), name="helper", instructions="Be brief.")

    @agent.tool_plain
    async def add(a: int, b: int) -> int:
        """Add numbers."""
        return a + b

    async def operation() -> None:
        assert (await agent.run("hi")).output == "All done."

    return operation
