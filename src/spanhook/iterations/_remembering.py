"""The hooks, each written once as a coroutine for sync and async code.

A failing memory or handler never makes the agent fail.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from spanhook.diagnostics import Repeats, log
from spanhook.errors import ConfigurationError
from spanhook.iterations._config import HookConfig
from spanhook.iterations._context import HookContext, HookEvent, HookResult
from spanhook.iterations._framing import (
    RECENT_FRAMES,
    Place,
    completion_frame,
    error_frame,
    iteration_frame,
    loaded,
    noted_frame,
)
from spanhook.iterations._handlers import Handlers
from spanhook.iterations._ways import Way
from spanhook.model import clock, words
from spanhook.store import Frame, FrameMemory, FrameType, SessionStatistics

_MOST = 2**63 - 1
_repeats = Repeats()


class Remembering:
    """What happens at each event: frames are loaded or written, then handlers are called."""

    def __init__(self, store: FrameMemory, config: HookConfig) -> None:
        self.store, self.config = store, config
        self.handlers = Handlers()

    async def start(self, way: Way, session_id: str, iteration: int) -> HookResult:
        place = _place(session_id, iteration)
        if not (self.config.enabled and self.config.on_iteration_start):
            return HookResult()

        def load() -> HookResult:
            frames = loaded(self.store, place, self.config)
            return HookResult(context_loaded=len(frames), frames=frames)

        result = await self._tried(way, HookEvent.ITERATION_START, load)
        await self._tell(way, HookEvent.ITERATION_START, place, frames=result.frames)
        return result

    async def end(self, way: Way, session_id: str, iteration: int, output: Any, *, success: bool) -> HookResult:
        place = _place(session_id, iteration)
        if not (self.config.enabled and self.config.on_iteration_end):
            return HookResult()
        success = bool(success)
        result = await self._tried(
            way, HookEvent.ITERATION_END, lambda: self._kept(iteration_frame(place, output, success=success))
        )
        await self._tell(way, HookEvent.ITERATION_END, place, success=success, output=output)
        return result

    async def fail(
        self, way: Way, session_id: str, iteration: int, error: BaseException | str, context: Any
    ) -> HookResult:
        place = _place(session_id, iteration)
        if not (self.config.enabled and self.config.on_error):
            return HookResult()

        def write() -> HookResult:
            before = self.store.recent(RECENT_FRAMES, tenant_id=place.tenant_id, session_id=place.session_id)
            return self._kept(error_frame(place, error, context, before, self.config.max_error_context))

        result = await self._tried(way, HookEvent.ERROR, write)
        await self._tell(way, HookEvent.ERROR, place, error=error, error_context=context)
        return result

    async def note(
        self, way: Way, session_id: str, iteration: int, type: FrameType, content: Any, **given: Any
    ) -> HookResult:
        place = _place(session_id, iteration)
        if not self.config.enabled:
            return HookResult()
        return await self._tried(way, type, lambda: self._kept(noted_frame(place, type, content, **given)))

    async def complete(
        self, way: Way, session_id: str, summary: Any, total_iterations: int | None, *, success: bool
    ) -> HookResult:
        place = _place(session_id, 0)
        if total_iterations is not None:
            _check_number("total_iterations", total_iterations)
        if not (self.config.enabled and self.config.on_completion):
            return HookResult()
        success = bool(success)
        total, errors = total_iterations, 0

        def write() -> HookResult:
            nonlocal place, total, errors
            known = self.store.statistics(place.session_id, tenant_id=place.tenant_id)
            total, errors = known.iterations if total is None else total, known.errors
            place = place._replace(iteration=max(known.last_iteration, 0))
            return self._kept(completion_frame(place, summary, success=success, iterations=total, errors=errors))

        result = await self._tried(way, HookEvent.COMPLETION, write)
        data = {"success": success, "summary": summary, "total_iterations": total or 0, "error_count": errors}
        await self._tell(way, HookEvent.COMPLETION, place, **data)
        return result

    async def count(self, way: Way, session_id: str) -> SessionStatistics:
        place = _place(session_id, 0)
        try:
            return await way.made(
                lambda: self.store.statistics(place.session_id, tenant_id=place.tenant_id), self.store.blocking
            )
        except Exception as error:
            return SessionStatistics(error=_logged("statistics", error))

    def _kept(self, frame: Frame) -> HookResult:
        self.store.add(frame)
        return HookResult(frame_id=frame.id)

    async def _tried(self, way: Way, event: str, call: Callable[[], HookResult]) -> HookResult:
        try:
            return await way.made(call, self.store.blocking)
        except Exception as error:
            return HookResult(success=False, error=_logged(event, error))

    async def _tell(self, way: Way, event: HookEvent, place: Place, **data: Any) -> None:
        now = datetime.fromtimestamp(clock.wall() / 1e9, UTC)
        context = HookContext(
            session_id=place.session_id,
            iteration=place.iteration,
            timestamp=now,
            event=event,
            data=MappingProxyType(data),
        )
        await self.handlers.tell(way, context)


def _logged(event: str, error: Exception) -> str:
    """Log a failure of the memory, and return what results have of it."""
    if _repeats.due(f"{event} {type(error).__name__}") is not None:
        log.error("spanhook: the memory of iterations failed at %s", event, exc_info=error)
    return f"{type(error).__name__}: {words(error)}"


def check_place(session_id: Any, iteration: Any) -> None:
    """Validate a session id and an iteration number.

    Raises:
        ConfigurationError: One of them is invalid.
    """
    if not isinstance(session_id, str) or not session_id:
        raise ConfigurationError(f"session_id={session_id!r}: expected the session's id, such as 'sess-123'")
    _check_number("iteration", iteration)


def _check_number(name: str, value: Any) -> None:
    if type(value) is not int or not 0 <= value <= _MOST:
        raise ConfigurationError(f"{name}={value!r}: expected a number, 0 or more")


def _place(session_id: str, iteration: int) -> Place:
    check_place(session_id, iteration)
    return Place.of(session_id, iteration)
