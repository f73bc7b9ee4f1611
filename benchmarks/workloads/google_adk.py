"""An agent of Google's ADK, without a network: its model answers at once."""

from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation

_agents: Any = import_module("google.adk.agents")  # it is not in the environment that types are checked in
_models: Any = import_module("google.adk.models")
_runners: Any = import_module("google.adk.runners")
_sessions: Any = import_module("google.adk.sessions")
_types: Any = import_module("google.genai.types")
_CALL = _types.Part(function_call=_types.FunctionCall(name="add", args={"a": 1, "b": 2}))
_END = _types.Part(text="All done.")
_USED = _types.GenerateContentResponseUsageMetadata(
    prompt_token_count=20, candidates_token_count=8, total_token_count=28
)


class Lines(_models.BaseLlm):
    """Calls the tool twice, then answers."""

    model: str = "lines"

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
        del stream
        done = sum(part.function_response is not None for one in llm_request.contents for part in one.parts)
        part = (_END if done == 2 else _CALL).model_copy(deep=True)
        yield _models.LlmResponse(content=_types.Content(role="model", parts=[part]), usage_metadata=_USED)


async def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


def arun() -> Operation:
    """A run with three calls of the model and two of a tool."""
    agent = _agents.LlmAgent(name="helper", model=Lines(model="lines"), tools=[add])

    async def operation() -> None:
        sessions = _sessions.InMemorySessionService()
        runner = _runners.Runner(app_name="app", agent=agent, session_service=sessions, auto_create_session=True)
        asked = _types.Content(role="user", parts=[_types.Part(text="hi")])
        events = [one async for one in runner.run_async(user_id="u", session_id="s", new_message=asked)]
        assert events[-1].content.parts[0].text == "All done."

    return operation
