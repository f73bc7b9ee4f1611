"""What the hooks of this process did, for reports: read from what is counted and kept anyway, beside all calls."""

import time
from collections.abc import Iterator
from typing import Any, cast

from spanhook.control_plane.applying import Applied
from spanhook.gating import HookExecutionLog, execution_log
from spanhook.telemetry import concealed_for, counts, telemetry

MOST_HOOKS, MOST_ENTRIES = 1000, 100
"""How many hooks and entries of the execution log are told in one report."""
_MOST_RESULTS, _LONGEST_NAME, _LONGEST_TEXT = 100, 200, 200
_SETTLED_S = 1.0
"""How old an entry is before it is told: the hooks after its first one may still be running."""
_SKIPPED, _FAILED, _REFUSED = "skipped", ("error", "timeout"), ("reject", "attempted", "too_late")


class Counting:
    """What was told of hooks, and what is new since then."""

    def __init__(self) -> None:
        self._defined: set[str] = set()
        """Names of definitions, which have statistics of their own."""
        self._counts: list[dict[str, Any]] = []
        self._told_entry = ""

    def renew(self) -> None:
        """Count from the start, in a forked child."""
        self._counts = []

    def new(self, applied: Applied, *, ending: bool = False) -> dict[str, Any]:
        """What is to be told; empty if nothing has happened.

        Args:
            applied: What is in force.
            ending: Whether the process is about to end, so that what is young is told, too.
        """
        found = sorted(self._counted(applied), key=lambda one: -one["executions"])[:MOST_HOOKS]
        entries = list(self._entries(0.0 if ending else _SETTLED_S))[-MOST_ENTRIES:]
        told: dict[str, Any] = {}
        if found != self._counts:
            told["executions"] = found
        if entries:
            told["logs"] = entries
        return told

    def was_told(self, told: dict[str, Any]) -> None:
        """Note that the server has it."""
        self._counts = told.get("executions", self._counts)
        if told.get("logs"):
            self._told_entry = told["logs"][0]["log_id"]

    def _counted(self, applied: Applied) -> Iterator[dict[str, Any]]:
        if applied.definitions is not None:
            statistics = applied.definitions.statistics().hooks
            for one in applied.definitions.registered():
                self._defined.add(one.name)
                figures = statistics[one.hook_id]
                if figures.executions:
                    yield _count(one.name, one.event_type, figures.executions, figures.failures, figures.rejections) | {
                        "p50_ms": figures.p50_ms,
                        "p95_ms": figures.p95_ms,
                    }
        yield from self._in_code()

    def _in_code(self) -> Iterator[dict[str, Any]]:
        """Hooks of code and of policies, from the counters that metrics read as well."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for key, (number, spent_ns) in counts.decisions.sums().items():
            if len(key) < 4 or key[0] in self._defined or key[3] == _SKIPPED:
                continue
            name, kind, phase, decision = (str(one) for one in key[:4])
            one = found.setdefault((name, f"{kind}.{phase}"), _count(name, f"{kind}.{phase}", 0, 0, 0) | {"time_ns": 0})
            one["executions"] += number
            one["failures"] += number * (decision in _FAILED)
            one["rejections"] += number * (decision in _REFUSED)
            one["time_ns"] += spent_ns
        yield from (one for one in found.values() if one["executions"])

    def _entries(self, settled_s: float) -> Iterator[dict[str, Any]]:
        """Entries that were not told, the newest first."""
        before = time.time() - settled_s
        for entry in execution_log.entries():
            if entry.log_id == self._told_entry:
                return
            if entry.timestamp.timestamp() <= before:
                yield _entry(entry)


def _count(name: str, event: str, executions: int, failures: int, rejections: int) -> dict[str, Any]:
    return {
        "hook": name[:_LONGEST_NAME],
        "event_type": event[:_LONGEST_NAME],
        "executions": executions,
        "failures": failures,
        "rejections": rejections,
    }


def _entry(entry: HookExecutionLog) -> dict[str, Any]:
    """An entry as it leaves the process: without what exceptions say, unless telemetry has that."""
    in_full = telemetry.error_messages

    def said(text: str, in_full: bool) -> str:
        return concealed_for(entry.tenant_id, text)[:_LONGEST_TEXT] if text and in_full else ""

    return {
        "log_id": entry.log_id,
        "event_type": entry.event_type[:_LONGEST_NAME],
        "tenant_id": entry.tenant_id[:_LONGEST_NAME],
        "name": str(entry.name)[:_LONGEST_NAME],
        "mode": entry.mode,
        "request_id": entry.request_id[:_LONGEST_NAME],
        "aborted": entry.aborted,
        "abort_reason": said(entry.abort_reason, in_full or entry.all_succeeded),
        "time_ns": int(entry.timestamp.timestamp() * 1e9),
        "hook_results": [
            {
                "hook_name": one.hook_name[:_LONGEST_NAME],
                "decision": one.decision,
                "success": one.success,
                "fail_mode": one.fail_mode,
                "duration_ms": one.duration_ms,
                "error": said(one.error, in_full or one.success),
                "status_code": cast("int", one.data.get("status_code", 0)),
            }
            for one in entry.hook_results[:_MOST_RESULTS]
        ],
    }
