"""An operation as a conversation, in the forms of OpenAI's chat completions and of Grafana's guards.

Services that judge text cannot be asked about anything else: images, sound and files are ``Unsendable``.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from spanhook.hooks.remote_policy._facts import Facts
from spanhook.hooks.remote_policy._verdict import Unsendable
from spanhook.model import exact_text

Message = dict[str, Any]
_CALL_ID = "call"


def conversation(facts: Facts) -> list[Message]:
    """What is sent, in the conventions' form: system instructions, messages, a tool's call, and the result."""
    made: list[Message] = []
    if facts.text("system"):
        made.append(_said("system", facts.text("system")))
    made += facts.items("messages")
    for name in ("inputs", "body"):
        if facts.sent.get(name) is not None:
            made.append(_said("user", as_text(facts.sent[name])))
    if "arguments" in facts.sent and facts.kind == "tool.execute":
        call = {"type": "tool_call", "id": _call_id(facts), "name": facts.name, "arguments": facts.sent["arguments"]}
        made.append({"role": "assistant", "parts": [call]})
    if "result" in facts.sent:
        made += _result(facts)
    if not made:
        raise Unsendable("nothing of what send names is there")
    return made


def _result(facts: Facts) -> list[Message]:
    result = facts.sent["result"]
    if facts.kind == "llm.call":
        return cast("list[Message]", result)
    if facts.kind == "tool.execute":
        part = {"type": "tool_call_response", "id": _call_id(facts), "response": result}
        return [{"role": "tool", "parts": [part]}]
    return [_said("assistant", as_text(result))]


def _call_id(facts: Facts) -> str:
    return facts.text("tool_call_id") or _CALL_ID


def _said(role: str, content: str) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def as_text(value: Any) -> str:
    """A text as it is, other data as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def texts(messages: Iterable[Message]) -> list[str]:
    """All that is in messages, as texts."""
    found: list[str] = []
    for message in messages:
        for part in _parts(message):
            match part.get("type"):
                case "text" | "reasoning":
                    found.append(as_text(part.get("content", "")))
                case "tool_call":
                    found.append(f"{part.get('name', '')} {as_text(part.get('arguments'))}")
                case "tool_call_response":
                    found.append(as_text(part.get("response")))
                case _:
                    raise _unsendable(part)
    return found


def chat(messages: Iterable[Message]) -> list[Message]:
    """Messages in the form of OpenAI's chat completions."""
    made: list[Message] = []
    for message in messages:
        role = exact_text(message.get("role", "user"))
        said: list[str] = []
        calls: list[Message] = []
        for part in _parts(message):
            match part.get("type"):
                case "text" | "reasoning":
                    said.append(as_text(part.get("content", "")))
                case "tool_call":
                    function = {"name": exact_text(part.get("name", "")), "arguments": as_text(part.get("arguments"))}
                    calls.append({"id": str(part.get("id") or _CALL_ID), "type": "function", "function": function})
                case "tool_call_response":
                    answered = {"role": "tool", "tool_call_id": str(part.get("id") or _CALL_ID)}
                    made.append({**answered, "content": as_text(part.get("response"))})
                case _:
                    raise _unsendable(part)
        if calls:
            made.append({"role": "assistant", "content": "\n".join(said), "tool_calls": calls})
        elif said:
            made.append({"role": role, "content": "\n".join(said)})
    return made


def guarded(messages: Iterable[Message]) -> list[Message]:
    """Messages in the form of Grafana's guards."""
    made: list[Message] = []
    for message in messages:
        parts: list[Message] = []
        for part in _parts(message):
            match part.get("type"):
                case "text":
                    parts.append({"text": as_text(part.get("content", ""))})
                case "reasoning":
                    parts.append({"thinking": as_text(part.get("content", ""))})
                case "tool_call":
                    call = {"id": str(part.get("id") or ""), "name": exact_text(part.get("name", ""))}
                    parts.append({"tool_call": {**call, "input_json": _base64(part.get("arguments"))}})
                case "tool_call_response":
                    answered = {"tool_call_id": str(part.get("id") or ""), "is_error": False}
                    parts.append({"tool_result": {**answered, "content": as_text(part.get("response"))}})
                case _:
                    raise _unsendable(part)
        role = exact_text(message.get("role", "user"))
        made.append({"role": role if role in ("assistant", "tool") else "user", "parts": parts})
    return made


def _base64(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")


def _parts(message: Message) -> list[Mapping[str, Any]]:
    parts: Any = message.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in cast("list[Any]", parts)):
        raise Unsendable("a message has no parts")
    return cast("list[Mapping[str, Any]]", parts)


def _unsendable(part: Mapping[str, Any]) -> Unsendable:
    return Unsendable(f"the service judges text, and a message has a part of type {part.get('type')!s:.40}")
