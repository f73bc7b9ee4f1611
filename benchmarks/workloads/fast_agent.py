"""An agent of fast-agent, without a network: its model answers at once."""

from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation


def _of(module: str, name: str) -> Any:
    """Something of the library, which is not in the environment that types are checked in."""
    return getattr(import_module(f"fast_agent.{module}"), name)


_Model = _of("llm.internal.passthrough", "PassthroughLLM")
_assistant = _of("mcp.prompt", "Prompt").assistant


class Lines(_Model):
    """Calls the tool twice, then answers."""

    async def _apply_prompt_provider_specific(self, multipart_messages: Any, *_args: Any, **_kwargs: Any) -> Any:
        done = sum(bool(message.tool_results) for message in multipart_messages)
        if done == 2:
            return _assistant("All done.")
        types: Any = import_module("mcp.types")
        params = types.CallToolRequestParams(name="add", arguments={"a": 1, "b": 2})
        call = types.CallToolRequest(method="tools/call", params=params)
        stop: Any = _of("types.llm_stop_reason", "LlmStopReason").TOOL_USE
        return _assistant("", tool_calls={f"call_{done}": call}, stop_reason=stop)


async def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


def arun() -> Operation:
    """A run with three calls of the model and two of a tool."""
    quiet = _of("config", "LoggerSettings")(type="none", progress_display=False, show_chat=False, show_tools=False)
    context = _of("context", "Context")(config=_of("config", "Settings")(logger=quiet, session_history=False))
    config = _of("agents.agent_types", "AgentConfig")("helper", "Be brief.", use_history=False)
    agent = _of("agents.tool_agent", "ToolAgent")(config, [add], context)
    agent._llm = Lines(context=context)

    async def operation() -> None:
        agent.clear(clear_prompts=True)
        assert await agent.send("hi") == "All done."

    return operation
