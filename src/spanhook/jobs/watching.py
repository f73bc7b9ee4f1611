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
from spanhook.jobs.events import DELEGATE, TOOL_CALL, TOOL_RESULT, USAGE, WAITING
from spanhook.model import Event

FLUSH_S = 2.0
"""How long the end of a job waits for what was reported."""
_MOST_TEXT = 20_000


class Watcher:
    """Passes what is reported of each job's operations on to whoever keeps the events of that job."""

    def __init__(self) -> None:
        self._watched: dict[str, tuple[asyncio.AbstractEventLoop, Publish]] = {}
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

    def watch(self, job_id: str, publish: Publish) -> None:
        """Pass on what is reported of a job, on the running event loop."""
        self._watched[job_id] = asyncio.get_running_loop(), publish

    async def settle(self, job_id: str) -> None:
        """Pass on what was reported so far, and no more after it."""
        if any(True for _ in self._hooks):
            await asyncio.to_thread(self._hooks.flush, FLUSH_S)
            await asyncio.sleep(0)  # what was passed on runs before this goes on
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
        if run_id in self._watched:
            self._pass_on(run_id, WAITING, about)

    def _pass_on(self, job_id: str, type: str, data: Mapping[str, Any]) -> None:
        watched = self._watched.get(job_id)
        if watched is not None:
            loop, publish = watched
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(publish, type, data)


def _job_of(event: Event) -> str:
    """The job, or the run that is waited for, that an operation is inside; both have their id as that of the run."""
    return event.run_id


def _call(event: Event) -> Mapping[str, Any]:
    return {"tool": event.tool_name, "agent": event.agent_name, "arguments": _bounded(event.input)}


def _result(event: Event) -> Mapping[str, Any]:
    told = {"tool": event.tool_name, "status": event.status, "duration_ms": event.duration_ms}
    if event.error is not None:
        return {**told, "error": type(event.error).__name__}
    return {**told, "output": _bounded(event.output)}


def _delegated(event: Event) -> Mapping[str, Any]:
    return {"from": event.parent_agent, "to": event.child_agent}


def _used(event: Event) -> Mapping[str, Any]:
    return {"model": event.model, **event.usage.as_metadata()}


def _bounded(value: Any) -> Any:
    """Plain data; a text that is very long is cut."""
    found = plain(value)
    return f"{found[:_MOST_TEXT]}..." if isinstance(found, str) and len(found) > _MOST_TEXT else found


_TOLD: Mapping[str, tuple[str, Callable[[Event], Mapping[str, Any]]]] = {
    "tool.execute.pre": (TOOL_CALL, _call),
    "tool.execute.post": (TOOL_RESULT, _result),
    "tool.execute.error": (TOOL_RESULT, _result),
    "agent.delegate.pre": (DELEGATE, _delegated),
    "llm.call.post": (USAGE, _used),
}
