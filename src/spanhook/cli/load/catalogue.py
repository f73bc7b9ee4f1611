"""The scripted models, and what hooks decide about calls of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from spanhook.cli.load.facts import Decided


@dataclass(frozen=True, slots=True)
class Model:
    """A scripted model: its provider, and the model name in its answers."""

    provider: str
    answers_as: str


MODELS: Mapping[str, Model] = {
    "gpt-4o-mini": Model("openai", "gpt-4o-mini"),
    "claude-sonnet-4-5": Model("anthropic", "claude-sonnet-4-5"),
    "o4-mini": Model("openai", "o4-mini-2025-04-16"),
    "house-model-1": Model("house", "house-model-1"),
    "forbidden-1": Model("house", "forbidden-1"),
    "gpt-4.1-mini": Model("openai", "gpt-4.1-mini"),
    "gpt-4.1-nano": Model("openai", "gpt-4.1-nano"),
    "unreachable-1": Model("house", "unreachable-1"),
}
UNREACHABLE = "unreachable-1"
"""The model that always fails."""
HELD_BACK = "gpt-4.1-nano"
"""The model whose streams a hook holds back until it has seen all of them."""
BUDGETED = "gpt-4.1-mini"
"""The model of which each run has a budget."""
RUN_BUDGET = 8_000
"""That budget, in tokens."""
#: Decisions about every model call.
MODEL_DECISIONS: Mapping[str, tuple[Decided, ...]] = {
    "o4-mini": (Decided("traced", "llm.call.post", "allow"),),
    "house-model-1": (
        Decided("scored", "llm.call.pre", "error"),
        Decided("no_house_models", "llm.call.pre", "reject", mode="shadow"),
    ),
    UNREACHABLE: (Decided("line", "llm.call.pre", "allow"), Decided("line", "llm.call.error", "allow")),
    HELD_BACK: (Decided("proofread", "llm.call.post", "allow"),),
    "forbidden-1": (Decided("not_allowed", "llm.call.pre", "reject"),),
}
WITHIN_BUDGET = (
    Decided("run_budget", "llm.call.pre", "allow"),
    Decided("run_budget", "llm.call.post", "allow"),
)
REFUSED_BY_BUDGET = (
    Decided("run_budget", "llm.call.pre", "reject"),
    Decided("run_budget", "llm.call.error", "allow"),
)
MASKED = Decided("masked_answer", "llm.call.post", "replace")
"""Decisions about every answer of ``claude-sonnet-4-5``."""
MASKED_TOO_LATE = Decided("masked_answer", "llm.call.post", "too_late")
"""Decisions about every streamed answer, because the hook does not hold it back."""
