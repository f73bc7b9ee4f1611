"""What operations inside jobs report, as events of those jobs.

Subscriptions see every operation of the process; those outside the jobs of a ``Watcher`` are passed over.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from spanhook.engine import registry
from spanhook.gating import Hooks, waiting
from spanhook.jobs._plain import plain
from spanhook.jobs.agents import Publish
from spanhook.jobs.events import DELEGATE, TOOL_CALL, TOOL_RESULT, USAGE, WAITING, as_json
from spanhook.jobs.job import Job
from spanhook.model import Event
from spanhook.telemetry import WITHHELD, concealed_data

FLUSH_S = 2.0
"""How long the end of a job waits for what was reported."""
_MOST_TEXT, _MOST_READ = 20_000, 200_000
"""How many characters of a call's arguments or result are told, and how many are looked at for what to conceal."""


class Watcher:
    """Passes what is reported of each job's operations on to whoever keeps the events of that job."""

    def __init__(self) -> None:
        self._watched: dict[str, tuple[asyncio.AbstractEventLoop, Publish, str]] = {}
        self._hooks = Hooks()
        for event, tell in _TOLD.items():
            self._hooks.on(event, self._teller(*tell), name=f"jobs {event}", when=self._concerns)

    def start(self) -> None:
        """Begin to listen."""
        registry.swap(None, self._hooks)
        waiting.append(self._waits)

    def stop(self) -> None:
        """Listen no longer."""
        registry.swap(self._hooks, None)
        with suppress(ValueError):  # it has not begun
            waiting.remove(self._waits)

    def watch(self, job: Job, publish: Publish) -> None:
        """Pass on what is reported of a job, on the running event loop."""
        self._watched[job.job_id] = asyncio.get_running_loop(), publish, job.tenant_id

    async def settle(self, job_id: str) -> None:
        """Pass on what was reported so far, and no more after it."""
        try:
            if any(True for _ in self._hooks):
                await asyncio.to_thread(self._hooks.flush, FLUSH_S)
                await asyncio.sleep(0)  # what was passed on runs before this goes on
        finally:
            self._watched.pop(job_id, None)

    def _concerns(self, op: Any) -> bool:
        return bool(self._watched) and _job_of(op) in self._watched

    def _teller(self, type: str, data: Callable[[Event], Mapping[str, Any]]) -> Callable[[Event], None]:
        def tell(event: Event) -> None:
            job_id = _job_of(event)
            if job_id in self._watched:
                self._pass_on(job_id, type, data(event))

        return tell

    def _waits(self, run_id: str, about: Mapping[str, Any]) -> None:
        watched = self._watched.get(run_id)
        if watched is not None:
            self._pass_on(run_id, WAITING, {name: _concealed(watched[2], one) for name, one in about.items()})

    def _pass_on(self, job_id: str, type: str, data: Mapping[str, Any]) -> None:
        watched = self._watched.get(job_id)
        if watched is not None:
            loop, publish, _ = watched
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(publish, type, data)


def _job_of(event: Event) -> str:
    """The job, or the run that is waited for, that an operation is inside; both have their id as that of the run."""
    return event.run_id


def _call(event: Event) -> Mapping[str, Any]:
    return {"tool": event.tool_name, "agent": event.agent_name, "arguments": _bounded(event.tenant_id, event.input)}


def _result(event: Event) -> Mapping[str, Any]:
    told = {"tool": event.tool_name, "status": event.status, "duration_ms": event.duration_ms}
    if event.error is not None:
        return {**told, "error": type(event.error).__name__}
    return {**told, "output": _bounded(event.tenant_id, event.output)}


def _delegated(event: Event) -> Mapping[str, Any]:
    return {"from": event.parent_agent, "to": event.child_agent}


def _used(event: Event) -> Mapping[str, Any]:
    return {"model": event.model, **event.usage.as_metadata()}


def _bounded(tenant_id: str, value: Any) -> Any:
    """Plain data as it may be recorded; what is very long is cut: a text, or other data as JSON."""
    found = _concealed(tenant_id, _cut(plain(value), _MOST_READ))
    return _cut(found, _MOST_TEXT)


def _concealed(tenant_id: str, value: Any) -> Any:
    return concealed_data(tenant_id, {"": value}).get("", WITHHELD)


def _cut(value: Any, most: int) -> Any:
    text = value if isinstance(value, str) else as_json(value)
    return f"{text[:most]}..." if len(text) > most else value


_TOLD: Mapping[str, tuple[str, Callable[[Event], Mapping[str, Any]]]] = {
    "tool.execute.pre": (TOOL_CALL, _call),
    "tool.execute.post": (TOOL_RESULT, _result),
    "tool.execute.error": (TOOL_RESULT, _result),
    "agent.delegate.pre": (DELEGATE, _delegated),
    "llm.call.post": (USAGE, _used),
}
