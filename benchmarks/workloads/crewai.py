"""A crew of CrewAI, without a network: its model answers at once."""

import os
from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TESTING="true", CREWAI_TRACING_ENABLED="false")
crewai: Any = import_module("crewai")
_base: Any = import_module("crewai.llms.base_llm")
_tools: Any = import_module("crewai.tools")


class Lines(_base.BaseLLM):  # pyright: ignore[reportUntypedBaseClass]
    """Calls the tool twice, then answers."""

    def call(self, messages: Any, *_args: Any, **_given: Any) -> Any:
        done = sum(one["role"] == "tool" for one in messages)
        if done == 2:
            return "All done."
        function = {"name": "add", "arguments": f'{{"a": 1, "b": {done}}}'}
        return [{"id": f"call_{done}", "type": "function", "function": function}]

    def supports_function_calling(self) -> bool:
        return True

    def get_input_tokens_count(self, *_args: Any, **_given: Any) -> int:
        return 20


def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


def kickoff() -> Operation:
    """A run with three calls of the model and two of a tool."""
    agent = crewai.Agent(role="helper", goal="Help.", backstory="x", llm=Lines(model="own"), tools=[_tools.tool(add)])
    task = crewai.Task(description="Add.", expected_output="A number.", agent=agent)
    crew = crewai.Crew(agents=[agent], tasks=[task])

    def operation() -> None:
        assert crew.kickoff().raw == "All done."

    return operation
