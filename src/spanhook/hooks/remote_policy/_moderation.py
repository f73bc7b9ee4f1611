"""Moderation endpoints in OpenAI's format, and guard models that say ``safe`` or ``unsafe``."""

import re
from typing import Any

from spanhook.hooks.remote_policy import _reading as reading
from spanhook.hooks.remote_policy._chat import chat, conversation, texts
from spanhook.hooks.remote_policy._facts import Facts
from spanhook.hooks.remote_policy._verdict import UnreadableAnswer, Unsendable, Verdict


class Moderation:
    """``POST /v1/moderations``: denies if any of the texts is flagged.

    Args:
        model: The model; the service's own if empty.
    """

    def __init__(self, model: str = "") -> None:
        self._model = {"model": model} if model else {}

    def request(self, facts: Facts) -> Any:
        asked = texts(conversation(facts))
        if not asked:
            raise Unsendable("there is no text to judge")
        return {**self._model, "input": asked}

    def read(self, answer: Any, facts: Facts) -> Verdict:
        results = reading.items(reading.fields(answer, "the answer").get("results"), "results")
        if len(results) != len(texts(conversation(facts))):
            raise UnreadableAnswer("there is not one result for each text")
        flagged = [
            one for one in (reading.fields(result, "a result") for result in results) if reading.flag(one, "flagged")
        ]
        if not flagged:
            return Verdict("allow", "false", "boolean")
        category, score = _worst(flagged[0])
        reason = f"The content is flagged{f' as {category}' if category else ''}"
        return Verdict("deny", "true", "boolean", reason=reason, category=category, score=score)


def _worst(result: reading.Fields) -> tuple[str, float | None]:
    """The flagged category with the highest score; ``flagged`` alone decides."""
    categories = reading.fields(result.get("categories") or {}, "categories")
    scores = reading.fields(result.get("category_scores") or {}, "category_scores")
    flagged = [name for name, is_flagged in categories.items() if is_flagged is True]
    found = {name: reading.number(scores, name) or 0.0 for name in flagged}
    if not found:
        return "", None
    worst = max(found, key=lambda name: found[name])
    return worst, found[worst] or None


_SAFE = re.compile(r"\s*safe\s*")
_UNSAFE = re.compile(r"\s*unsafe(?:\s*\n\s*([A-Z]\d{1,2}(?:\s*,\s*[A-Z]\d{1,2})*))?\s*")


class GuardModel:
    """A guard model behind chat completions, which answers ``safe``, or ``unsafe`` and, in a line, what of.

    Args:
        model: The model.
    """

    def __init__(self, model: str) -> None:
        self._model = model

    def request(self, facts: Facts) -> Any:
        return {"model": self._model, "messages": chat(conversation(facts)), "temperature": 0, "stream": False}

    def read(self, answer: Any, _facts: Facts) -> Verdict:
        choices = reading.items(reading.fields(answer, "the answer").get("choices"), "choices")
        if len(choices) != 1:
            raise UnreadableAnswer("there is not one choice")
        choice = reading.fields(choices[0], "a choice")
        if choice.get("finish_reason") != "stop":
            raise UnreadableAnswer("the model was stopped before its end")
        said = reading.text(reading.fields(choice.get("message"), "the message"), "content", needed=True)
        if _SAFE.fullmatch(said):
            return Verdict("allow", "safe")
        unsafe = _UNSAFE.fullmatch(said)
        if unsafe is None:
            raise UnreadableAnswer("the model says neither safe nor unsafe")
        categories = re.sub(r"\s", "", unsafe[1] or "")
        about = f" ({categories})" if categories else ""
        return Verdict("deny", "unsafe", reason=f"The content is unsafe{about}", category=categories)
