"""An agent of DSPy, without a network: its model answers at once."""

import os
import tempfile
from importlib import import_module
from typing import Any

from benchmarks.workloads import Operation

os.environ.setdefault("DSPY_CACHEDIR", tempfile.mkdtemp(prefix="spanhook-dspy-"))
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
dspy: Any = import_module("dspy")

_STEPS = (("add", '{"a": 1, "b": 2}'), ("add", '{"a": 1, "b": 3}'))


class Lines(dspy.BaseLM):  # pyright: ignore[reportUntypedBaseClass]
    """Calls the tool twice, then answers."""

    def __call__(self, prompt: Any = None, messages: Any = None, **_given: Any) -> Any:
        asked = str(messages[-1]["content"])
        done = asked.count("observation_")
        if "next_tool_name" not in asked:
            return [_fields(reasoning="Done.", answer="All done.")]
        if done >= len(_STEPS):
            return [_fields(next_thought="x", next_tool_name="finish", next_tool_args="{}")]
        name, given = _STEPS[done]
        return [_fields(next_thought="x", next_tool_name=name, next_tool_args=given)]


def _fields(**fields: str) -> str:
    told = (f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in fields.items())
    return f"{''.join(told)}[[ ## completed ## ]]"


def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


def react() -> Operation:
    """A run with four calls of the model and three of a tool, the last of which only ends it."""
    dspy.configure(lm=Lines("own"), adapter=dspy.ChatAdapter())
    agent = dspy.ReAct("question -> answer", tools=[add], max_iters=4)

    def operation() -> None:
        assert agent(question="Add.").answer == "All done."

    return operation
