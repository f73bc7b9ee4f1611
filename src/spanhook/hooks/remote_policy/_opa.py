"""Open Policy Agent, and services of one's own that answer with the same objects."""

from collections.abc import Mapping
from typing import Any, cast

from spanhook.hooks.remote_policy import _reading as reading
from spanhook.hooks.remote_policy._facts import Facts
from spanhook.hooks.remote_policy._verdict import CHANGEABLE, Decided, UnreadableAnswer, Verdict

_DECISIONS: dict[str, Decided] = {
    "allow": "allow",
    "deny": "deny",
    "transform": "transform",
    "escalate": "escalate",
}
_KEYS = ("decision", "allow", "reason", "category", "score", "policy_id", "policy_version", "replace")


class OPA:
    """OPA's data API: ``POST /v1/data/PATH`` with an ``input``; see https://www.openpolicyagent.org/docs/rest-api."""

    def request(self, facts: Facts) -> Any:
        return {"input": facts.whole}

    def read(self, answer: Any, _facts: Facts) -> Verdict:
        """OPA leaves ``result`` out if the policy is undefined, which denies."""
        found = reading.fields(answer, "the answer")
        if "result" not in found:
            return Verdict("deny", "undefined", reason="The policy says nothing about this")
        return decided(found["result"])


class Plain:
    """A service of one's own: it gets the facts, and answers with ``decided``'s object."""

    def request(self, facts: Facts) -> Any:
        return facts.whole

    def read(self, answer: Any, _facts: Facts) -> Verdict:
        return decided(answer)


def decided(result: Any) -> Verdict:
    """The verdict of true, false, or an object with ``allow`` or ``decision``, and with no keys that are not known."""
    if type(result) is bool:
        return Verdict("allow" if result else "deny", str(result).lower(), "boolean")
    found = reading.fields(result, "the result", _KEYS)
    if ("allow" in found) == ("decision" in found):
        raise UnreadableAnswer("the result has neither or both of allow and decision")
    if "allow" in found:
        allowed = reading.flag(found, "allow")
        decision: Decided = "allow" if allowed else "deny"
        value, kind = str(allowed).lower(), "boolean"
    else:
        value, kind = reading.text(found, "decision", needed=True), "categorical"
        if value not in _DECISIONS:
            raise UnreadableAnswer("the decision is not known")
        decision = _DECISIONS[value]
    return Verdict(
        decision,
        value,
        kind,
        reason=reading.reason(found),
        category=reading.text(found, "category"),
        score=reading.number(found, "score"),
        policy_id=reading.text(found, "policy_id"),
        policy_version=reading.text(found, "policy_version"),
        changes=_changes(found, decision),
    )


def _changes(found: Mapping[str, Any], decision: Decided) -> Mapping[str, Any] | None:
    if (decision == "transform") != ("replace" in found):
        raise UnreadableAnswer("replace is there without transform, or not with it")
    if decision != "transform":
        return None
    changes = reading.fields(found["replace"], "replace", CHANGEABLE)
    if not changes:
        raise UnreadableAnswer("replace is empty")
    check_changes(changes)
    return changes


def check_changes(changes: Mapping[str, Any]) -> None:
    """Refuse changes of another type than what they replace has."""
    if "arguments" in changes:
        reading.fields(changes["arguments"], "arguments")
    if "system" in changes:
        reading.text(changes, "system", needed=True)
    for message in reading.items(changes.get("messages", []), "messages"):
        said = reading.fields(message, "a message")
        reading.text(said, "role", needed=True)
        for part in reading.items(said.get("parts"), "parts"):
            reading.text(reading.fields(part, "a part"), "type", needed=True)
    if changes.get("messages") == [] or any(value is None for value in cast("Any", changes).values()):
        raise UnreadableAnswer("a change is empty")
