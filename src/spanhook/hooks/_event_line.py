"""An event as a line for people: ``[agent] email-checker completed in 2340ms (1,247 tokens) - 3 tools used``."""

from collections.abc import Mapping
from typing import Any

from spanhook.model import harmless

_LABELS = {
    "agent.invoke": "agent",
    "agent.delegate": "agent",
    "agent.lifecycle": "agent",
    "tool.execute": "tool",
    "llm.call": "model",
    "workflow.step": "step",
    "cron.execute": "cron",
}
_LABEL_COLUMNS = 8
_MOST_CONTENT = 200
_CODES = {"dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_COLOURS = {
    "success": "green",
    "error": "red",
    "rejected": "red",
    "interrupted": "yellow",
    "cancelled": "yellow",
    "abandoned": "yellow",
}
_VERBS = {
    "error": "failed",
    "rejected": "was refused",
    "interrupted": "paused",
    "cancelled": "was cancelled",
    "abandoned": "was left before its end",
}
_EXPLAINED = frozenset(("error", "rejected"))
_COMPLETE = frozenset(("agent.invoke", "job", "cron.execute", "run"))
"""Kinds of which the duration is part of the sentence."""


def text_of(kind: str, name: str, record: Mapping[str, Any], *, coloured: bool, dash: str) -> str:
    """The line, without a line feed; with further lines for input and output if the record has them.

    Args:
        kind: The kind of operation.
        name: Its name.
        record: What is recorded of the event.
        coloured: Whether escape sequences may be used.
        dash: What stands before the number of tools.
    """
    status = record.get("status", "")
    label = f"[{_LABELS.get(kind, kind.partition('.')[0])}]".ljust(_LABEL_COLUMNS - 1)
    said = _sentence(kind, harmless(name), record, dash)
    line = f"{_painted(label, _COLOURS.get(status, 'cyan'), coloured)} {said}"
    content = (f"{key}: {_cut(record[key])}" for key in ("input", "output") if record.get(key) is not None)
    return "\n".join((line, *(_painted(" " * _LABEL_COLUMNS + one, "dim", coloured) for one in content)))


def _sentence(kind: str, name: str, record: Mapping[str, Any], dash: str) -> str:
    status, took = record.get("status"), f"{record.get('duration_ms', 0):.0f}ms"
    subject = _subject(kind, name, record)
    if status is None:
        return f"{subject} started"
    tokens = record["usage"].get("total_tokens", 0)
    spent = _count(tokens, "token") if tokens else ""
    if status != "success":
        why = record.get("error") if status in _EXPLAINED else ""
        reason = f": {harmless(why)}" if why else ""
        return f"{subject} {_VERBS.get(status, status)}{reason} {_in_brackets(took, spent)}"
    if kind not in _COMPLETE:
        return f"{subject} {_in_brackets(took, spent)}"
    used = len(record.get("tools_used", ()))
    tools = f" {dash} {_count(used, 'tool')} used" if used else ""
    return f"{subject} completed in {took} {_in_brackets(spent)}".rstrip() + tools


def _subject(kind: str, name: str, record: Mapping[str, Any]) -> str:
    agent = harmless(record["agent_name"])
    if kind in ("tool.execute", "llm.call"):
        called = f"{name or 'unknown'} called"
        return f"{called} by {agent}" if agent else called
    if kind == "agent.delegate":
        return f"{name} called by {agent}" if agent else f"{name} called"
    if kind in ("job", "cron.execute"):
        own = harmless(record["job_id"] if kind == "job" else record["cron_id"])
        return " ".join(filter(None, (agent or name, own)))
    return name or kind


def _in_brackets(*parts: str) -> str:
    said = ", ".join(filter(None, parts))
    return f"({said})" if said else ""


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _cut(value: object) -> str:
    said = harmless(str(value))
    return said if len(said) <= _MOST_CONTENT else f"{said[: _MOST_CONTENT - 3]}..."


def _painted(text: str, colour: str, coloured: bool) -> str:
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if coloured else text
