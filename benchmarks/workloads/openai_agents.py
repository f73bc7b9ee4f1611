"""An agent of OpenAI's Agents SDK, without a network: its model answers at once. The SDK traces itself, as it does
unless told not to; without a key it exports nothing."""

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from benchmarks.workloads import Operation


class Lines(Model):
    """Calls the tool twice, then answers."""

    def __init__(self) -> None:
        self.model = "gpt-4o-mini"

    async def get_response(self, system_instructions: Any, input: Any, *_args: Any, **_kwargs: Any) -> ModelResponse:
        done = 0 if isinstance(input, str) else sum(one.get("type") == "function_call_output" for one in input)
        usage = Usage(requests=1, input_tokens=20, output_tokens=8, total_tokens=28)
        return ModelResponse(output=[_call(done) if done < 2 else _answer()], usage=usage, response_id=None)

    def stream_response(self, *_args: Any, **_kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def _call(number: int) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", name="add", arguments='{"a": 1, "b": 2}', call_id=f"call_{number}"
    )


def _answer() -> ResponseOutputMessage:
    text = ResponseOutputText(type="output_text", text="All done.", annotations=[])
    return ResponseOutputMessage(id="msg_1", type="message", role="assistant", status="completed", content=[text])


@function_tool
async def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


def arun() -> Operation:
    """A run with three calls of the model and two of a tool."""
    agent: Agent[Any] = Agent(name="helper", instructions="Be brief.", model=Lines(), tools=[add])

    async def operation() -> None:
        assert (await Runner.run(agent, "hi")).final_output == "All done."

    return operation
