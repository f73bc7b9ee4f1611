"""An agent of Haystack, without a network: its model answers at once."""

import os
from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "false")  # it would be sent to its makers
haystack: Any = import_module("haystack")  # it is not in the environment that types are checked in
_agents: Any = import_module("haystack.components.agents")
_data: Any = import_module("haystack.dataclasses")
_tools: Any = import_module("haystack.tools")
ChatMessage: Any = _data.ChatMessage
_USED = {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}
_META = {"model": "lines", "finish_reason": "stop", "usage": _USED}
_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}


@haystack.component
class Lines:
    """Calls the tool twice, then answers."""

    model = "lines"

    @haystack.component.output_types(replies=list[ChatMessage])
    def run(self, messages: Any, tools: Any = None) -> dict[str, Any]:
        return {"replies": [_reply(messages, tools)]}

    @haystack.component.output_types(replies=list[ChatMessage])
    async def run_async(self, messages: Any, tools: Any = None) -> dict[str, Any]:
        return {"replies": [_reply(messages, tools)]}


def _reply(messages: Any, _tools: Any) -> Any:
    done = sum(message.tool_call_result is not None for message in messages)
    if done == 2:
        return ChatMessage.from_assistant("All done.", meta=dict(_META))
    call = _data.ToolCall(tool_name="add", arguments={"a": 1, "b": 2}, id="call_1")
    return ChatMessage.from_assistant(tool_calls=[call], meta=dict(_META))


def add(a: int, b: int) -> int:
    return a + b


def arun() -> Operation:
    """A run with three calls of the model and two of a tool."""
    tool = _tools.Tool(name="add", description="Add numbers.", parameters=_PARAMETERS, function=add)
    agent = _agents.Agent(chat_generator=Lines(), tools=[tool])

    async def operation() -> None:
        result = await agent.run_async(messages=[ChatMessage.from_user("hi")])
        assert result["last_message"].text == "All done."

    return operation
