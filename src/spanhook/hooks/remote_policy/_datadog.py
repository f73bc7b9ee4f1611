"""Datadog's AI Guard: ``POST /api/v2/ai-guard/evaluate``; see https://docs.datadoghq.com/security/ai_guard."""

from typing import Any

from spanhook.hooks.remote_policy import _reading as reading
from spanhook.hooks.remote_policy._chat import chat, conversation
from spanhook.hooks.remote_policy._facts import Facts
from spanhook.hooks.remote_policy._verdict import UnreadableAnswer, Verdict

_ACTIONS = ("ALLOW", "DENY", "ABORT")


class Datadog:
    """``ABORT`` ends the run. Its reason is for operators alone, as its documentation says, and goes nowhere."""

    def request(self, facts: Facts) -> Any:
        return {"data": {"attributes": {"messages": chat(conversation(facts))}}}

    def read(self, answer: Any, _facts: Facts) -> Verdict:
        data = reading.fields(reading.fields(answer, "the answer").get("data"), "data")
        attributes = reading.fields(data.get("attributes"), "attributes")
        action = reading.text(attributes, "action", needed=True)
        if action not in _ACTIONS:
            raise UnreadableAnswer("the action is not known")
        tags = reading.items(attributes.get("tags") or [], "tags")
        category = tags[0] if tags and isinstance(tags[0], str) else ""
        return Verdict("allow" if action == "ALLOW" else "deny", action, category=category, ends_run=action == "ABORT")
