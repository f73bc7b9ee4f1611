"""What a session used, by model, as the program adds it up: more than what its messages say."""

from collections.abc import Mapping
from typing import Any

from spanhook.instrument.claude_agent_sdk.models import Answer, answer_response, same_model
from spanhook.model import NANO, Usage


class Sums:
    """What a session used, by model, as the program adds it up."""

    def __init__(self) -> None:
        self._told: Mapping[str, Any] = {}
        self._counted: list[Answer] = []

    def add(self, answer: Answer | None) -> None:
        """Note a call that has been counted."""
        if answer is not None:
            self._counted.append(answer)

    def rest(self, result: Mapping[str, Any], last: Answer | None) -> dict[str, Usage]:
        """What a turn used besides what its messages say.

        Args:
            result: The program's report of its result.
            last: A call that is not counted yet.
        """
        counted, self._counted = self._counted, []
        known = [*((one.answered_by, one.used) for one in counted), *_told_by(last)]
        told = self._since_last(result)
        found = {
            model: _less(_usage(used), [one for name, one in known if len(told) == 1 or same_model(name, model)])
            for model, used in told
        }
        return {model: used for model, used in found.items() if used.total_tokens or used.cost_nano}

    def _since_last(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """What each model has used since the result before; the program's sums are those of the session."""
        before, told = self._told, result.get("modelUsage")
        self._told = told if isinstance(told, Mapping) else before
        since = result.get("model_usage_since_last_result")
        if isinstance(since, Mapping):
            return list(since.items())
        if not isinstance(told, Mapping):
            return []
        return [(model, _minus(used, before.get(model) or {})) for model, used in told.items()]


def _told_by(answer: Answer | None) -> list[tuple[str, Usage | None]]:
    return [] if answer is None else [(answer.answered_by, answer_response(answer)[1])]


def _minus(used: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value - before.get(name, 0)
        for name, value in used.items()
        if isinstance(value, int | float) and isinstance(before.get(name, 0), int | float)
    }


_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
    "cache_hour_tokens": "cacheCreationEphemeral1hInputTokens",
    "reasoning_tokens": "thinkingTokens",
}


def _usage(told: Mapping[str, Any]) -> Usage:
    used = Usage()
    for name, key in _TOKENS.items():
        setattr(used, name, used.count(told.get(key), name))
    used.input_tokens += used.cache_read_tokens + used.cache_write_tokens
    if told.get("costUSD"):
        used.charge(told["costUSD"])
    return used


def _less(used: Usage, parts: list[Usage | None]) -> Usage:
    """What is left of a sum without its parts: nothing where these are more."""
    for part in parts:
        if part is not None:
            used.subtract(part)
    for name in _TOKENS:
        setattr(used, name, max(0, getattr(used, name)))
    if used.cost_nano is not None:
        rest = used.cost_nano - sum(part.cost_nano or 0 for part in parts if part is not None)
        used.charge(max(0, rest) / NANO)
    return used
