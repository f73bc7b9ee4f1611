"""The SDK's guardrails: what each finds is an event of the operation that it runs in."""

from typing import Any

from spanhook import semconv
from spanhook.model import Args, Kwargs, current_record, exact_text


def checked(guardrail: Any, _args: Args, _kwargs: Kwargs, result: Any) -> None:
    """A guardrail of an agent's input or output has run: note whether it stops the run."""
    _note(guardrail, "tripwire_triggered" if result.output.tripwire_triggered else "passed")


def tool_checked(guardrail: Any, _args: Args, _kwargs: Kwargs, result: Any) -> None:
    """A guardrail of a tool's input or output has run: note whether it lets the call pass."""
    _note(guardrail, str(result.behavior["type"]))


def _note(guardrail: Any, value: str) -> None:
    op = current_record()
    if op is not None:
        told = {
            semconv.GEN_AI_GUARDRAIL_COMPONENT_NAME: exact_text(guardrail.get_name()),
            semconv.GEN_AI_GUARDRAIL_RESULT_TYPE: "categorical",
            semconv.GEN_AI_GUARDRAIL_RESULT_VALUE: value,
        }
        op.note(semconv.EVENT_GUARDRAIL_RESULT, told)
