"""The agent-hooks contract, 0.1, over HTTP: an agent context is posted, and a verdict or a response with one answers.

See https://github.com/responsibleai/agent-hooks; its schemas are what is read and written here.
"""

import re
from datetime import UTC, datetime
from typing import Any, cast

from spanhook.hooks import _agent_context as contract
from spanhook.hooks.remote_policy import _reading as reading
from spanhook.hooks.remote_policy._chat import conversation
from spanhook.hooks.remote_policy._facts import Facts
from spanhook.hooks.remote_policy._opa import check_changes
from spanhook.hooks.remote_policy._verdict import UnreadableAnswer, Unsendable, Verdict

_KEYS = ("decision", "reason", "message", "warnings", "approval", "transform", "evidence", "result_labels")
_NEEDED = {"tool.execute": ("arguments",), "llm.call": ("messages", "inputs")}
_ROOT = re.compile(r"\$(?:target|policy_target)(?![A-Za-z0-9_-])")
_STEP = re.compile(r'\.([A-Za-z0-9_-]+)|\[(\d+)\]|\["([A-Za-z0-9_-]+)"\]')


class AgentHooks:
    """A context has required members; those that ``send`` does not name say so, or are empty."""

    def request(self, facts: Facts) -> Any:
        point, target, members = _point(facts)
        context: dict[str, Any] = {
            "spec": contract.SPEC,
            "interception_point": point,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "sequence": facts.sequence,
            "agent": {
                "id": facts.text("identity.agent_id") or facts.text("agent") or contract.UNNAMED,
                "framework": contract.FRAMEWORK,
            },
            "session": {"id": facts.text("identity.session_id") or contract.UNNAMED},
            "target": target,
            **members,
        }
        if facts.text("identity.tenant_id"):
            context["tenant"] = {"id": facts.text("identity.tenant_id")}
        if facts.text("identity.user_id"):
            context["actor"] = {"id": facts.text("identity.user_id"), "kind": "human"}
        return context

    def read(self, answer: Any, facts: Facts) -> Verdict:
        found = reading.fields(verdict_in(answer), "the verdict", _KEYS)
        decision = reading.text(found, "decision", needed=True)
        code = reading.text(found, "reason")
        if code.startswith("host_error:") or "\n" in code:
            raise UnreadableAnswer("the reason is not one of an interceptor")
        if ("transform" in found) != (decision == "transform") or ("approval" in found and decision != "deny"):
            raise UnreadableAnswer("the verdict has members of another decision")
        told: dict[str, Any] = {"reason": reading.reason(found, "message") or code, "code": code[:100]}
        match decision:
            case "allow":
                return Verdict("allow", decision, **told)
            case "deny" if "approval" in found:
                reading.fields(found["approval"], "approval")
                return Verdict("escalate", decision, **told)
            case "deny":
                return Verdict("deny", decision, **told)
            case "transform":
                return Verdict("transform", decision, **told, changes=_changes(found["transform"], facts))
            case _:
                raise UnreadableAnswer("the decision is not known")


def verdict_in(answer: Any) -> reading.Fields:
    """The verdict that an answer is, or that a response has.

    Raises:
        UnreadableAnswer: There is none.
    """
    found = reading.fields(answer, "the answer")
    if "verdict" in found:
        found = reading.fields(reading.fields(found, "the answer", ("verdict", "extensions"))["verdict"], "verdict")
    return found


def _point(facts: Facts) -> tuple[str, Any, dict[str, Any]]:
    """The interception point of a phase, what a verdict may transform there, and the members that it has."""
    after = facts.phase == "post"
    needed = ("result",) if after else _NEEDED.get(facts.kind, ("inputs", "body"))
    if not any(name in facts.sent for name in needed):
        raise Unsendable(f"the contract needs {' or '.join(needed)}, which send does not name")
    result = facts.sent.get("result")
    if facts.kind == "tool.execute":
        arguments = contract.arguments_of(facts.sent.get("arguments"))
        call: dict[str, Any] = {
            "id": facts.text("tool_call_id") or contract.UNNAMED,
            "name": facts.name or contract.UNNAMED,
            "args": arguments,
        }
        if not after:
            return "pre_tool_call", arguments, {"tool_call": call}
        return "post_tool_call", result, {"tool_call": call, "tool_result": {"value": result, "is_error": False}}
    if facts.kind == "llm.call":
        model = {"model": {"id": facts.text("model") or contract.UNNAMED}}
        if not after:
            messages = contract.messages_of(conversation(facts))
            return "pre_model_call", messages, {**model, "messages": messages}
        response = contract.response_of(facts.items("result"))
        return "post_model_call", response, {**model, "response": response}
    if after:
        output = {"content": contract.content_of(result)}
        return "output", output, {"output": output}
    asked = {"content": contract.content_of(facts.sent.get("inputs", facts.sent.get("body"))), "role": "user"}
    return "input", asked, {"input": asked}


def _changes(transform: Any, facts: Facts) -> dict[str, Any]:
    found = reading.fields(transform, "transform", ("path", "value"))
    path = reading.text(found, "path", needed=True)
    point, target, _ = _point(facts)
    placed = _placed(target, _steps(path), found.get("value"))
    try:
        changes = _changed(point, facts, target, placed)
    except ValueError as error:
        raise UnreadableAnswer(str(error)) from None
    check_changes(changes)
    return changes


def _changed(point: str, facts: Facts, target: Any, placed: Any) -> dict[str, Any]:
    """What a changed target means for the call."""
    match point:
        case "pre_tool_call":
            return {"arguments": placed}
        case "post_tool_call":
            return {"result": placed}
        case "post_model_call":
            return {"result": [contract.response_back(facts.items("result"), target, placed)]}
        case "input" if "inputs" in facts.sent:
            said = reading.fields(placed, "the target").get("content")
            return {"inputs": contract.content_back(target["content"], said)}
        case _:
            raise ValueError("what was asked about cannot be transformed")


def _steps(path: str) -> list[str | int]:
    root = _ROOT.match(path)
    at = 0 if root is None else root.end()
    steps: list[str | int] = []
    while root is not None and at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            root = None
            break
        steps.append(int(step[2]) if step[2] is not None else step[1] or step[3])
        at = step.end()
    if root is None:
        raise UnreadableAnswer("the path is none")
    return steps


def _placed(target: Any, steps: list[str | int], value: Any) -> Any:
    """The target with another value in one place, which has to be there."""
    if not steps:
        return value
    first, *rest = steps
    if isinstance(target, dict) and isinstance(first, str) and first in target:
        known = cast("dict[str, Any]", target)
        return {**known, first: _placed(known[first], rest, value)}
    if isinstance(target, list) and isinstance(first, int) and first < len(cast("list[Any]", target)):
        items = cast("list[Any]", target)
        return [*items[:first], _placed(items[first], rest, value), *items[first + 1 :]]
    raise UnreadableAnswer("the path leads nowhere")
