"""An agent of Strands, without a network: its model answers at once."""

import json
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation

strands: Any = import_module("strands")  # it is not in the environment that types are checked in
_Model: Any = import_module("strands.models.model").Model
_CALL: tuple[dict[str, Any], dict[str, Any]] = (
    {"start": {"toolUse": {"toolUseId": "call_1", "name": "add"}}},
    {"toolUse": {"input": json.dumps({"a": 1, "b": 2})}},
)
_END: tuple[dict[str, Any], dict[str, Any]] = {"start": {}}, {"text": "All done."}
_USED = {"inputTokens": 20, "outputTokens": 8, "totalTokens": 28}


class Lines(_Model):
    """Calls the tool twice, then answers."""

    def update_config(self, **model_config: Any) -> None:
        del model_config

    def get_config(self) -> Any:
        return {"model_id": "lines"}

    async def structured_output(self, *_args: Any, **_given: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *_args: Any, **_given: Any) -> AsyncIterator[Any]:
        done = sum("toolResult" in block for message in messages for block in message["content"])
        start, delta = _END if done == 2 else _CALL
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": start}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if done == 2 else "tool_use"}}
        yield {"metadata": {"usage": _USED, "metrics": {"latencyMs": 1}}}


async def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


def arun() -> Operation:
    """A run with three calls of the model and two of a tool."""
    agent = strands.Agent(model=Lines(), tools=[strands.tool(add)], name="helper", callback_handler=None)

    async def operation() -> None:
        agent.messages.clear()
        assert str(await agent.invoke_async("hi")).strip() == "All done."

    return operation
