"""Grafana's guards: ``POST /api/v1/hooks:evaluate``; see
https://grafana.com/docs/grafana-cloud/observe-and-act/agent-observability/reference/guards.
"""

from typing import Any

from spanhook.hooks.remote_policy import _reading as reading
from spanhook.hooks.remote_policy._chat import conversation, guarded
from spanhook.hooks.remote_policy._facts import Facts
from spanhook.hooks.remote_policy._verdict import UnreadableAnswer, Verdict
from spanhook.model import exact_text

_TRANSFORMED = ("messages", "system_prompt", "tools", "output", "conversation_preview")


class Grafana:
    """Requests are checked as ``preflight``, results as ``postflight``."""

    def request(self, facts: Facts) -> Any:
        after = facts.phase == "post"
        whole = conversation(facts)
        system = facts.text("system")
        asked: dict[str, Any] = {"messages": guarded(whole[1:] if system else whole)}
        if after and facts.kind == "llm.call":
            result = facts.items("result")
            asked = {"messages": asked["messages"][: len(asked["messages"]) - len(result)], "output": guarded(result)}
        if system:
            asked["system_prompt"] = system
        if facts.items("tools"):
            asked["tools"] = [{"name": exact_text(name)} for name in facts.items("tools")]
        context: dict[str, Any] = {"model": {"provider": facts.text("provider"), "name": facts.text("model")}}
        if facts.text("agent"):
            context["agent_name"] = facts.text("agent")
        return {"phase": "postflight" if after else "preflight", "context": context, "input": asked}

    def read(self, answer: Any, facts: Facts) -> Verdict:
        found = reading.fields(answer, "the answer")
        action = reading.text(found, "action", needed=True)
        rule = reading.text(found, "rule_id")
        if action == "deny":
            return Verdict("deny", action, policy_id=rule)
        if action != "allow":
            raise UnreadableAnswer("the action is not known")
        transformed = found.get("transformed_input")
        if transformed is None:
            return Verdict("allow", action, policy_id=rule)
        return Verdict("transform", action, policy_id=rule, changes=_changes(transformed, facts))


def _changes(transformed: Any, facts: Facts) -> dict[str, Any]:
    """The changed texts, in the places of those that were sent."""
    given = reading.fields(transformed, "transformed_input", _TRANSFORMED)
    if facts.phase == "post" or facts.kind != "llm.call":
        raise UnreadableAnswer("only requests to models can be transformed")
    changes: dict[str, Any] = {}
    if reading.text(given, "system_prompt"):
        changes["system"] = given["system_prompt"]
    if given.get("messages"):
        changes["messages"] = _messages(reading.items(given["messages"], "messages"), facts)
    if not changes:
        raise UnreadableAnswer("transformed_input has neither messages nor system_prompt")
    return changes


_TEXTS = {"text": "text", "reasoning": "thinking"}


def _messages(given: list[Any], facts: Facts) -> list[Any]:
    before = facts.items("messages")
    if len(given) != len(before):
        raise UnreadableAnswer("there are other messages than before")
    made: list[Any] = []
    for old, new in zip(before, given, strict=True):
        parts = reading.items(reading.fields(new, "a message").get("parts"), "parts")
        kept: list[Any] = []
        at = 0
        for part in old["parts"]:
            key = _TEXTS.get(part["type"])
            if key is None:  # calls and results of tools stay as they are, whether they are given back or not
                at += at < len(parts) and not _TEXTS_GIVEN.intersection(reading.fields(parts[at], "a part"))
                kept.append(part)
                continue
            if at >= len(parts):
                raise UnreadableAnswer("there are fewer parts than before")
            kept.append({**part, "content": reading.text(reading.fields(parts[at], "a part"), key, needed=True)})
            at += 1
        if at != len(parts):
            raise UnreadableAnswer("there are more parts than before")
        made.append({**old, "parts": kept})
    return made


_TEXTS_GIVEN = frozenset(_TEXTS.values())
