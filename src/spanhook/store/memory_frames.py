"""Frames in memory, lost when the process ends."""

import threading
from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import islice

from spanhook.errors import ConfigurationError
from spanhook.store._renewal import renewed
from spanhook.store.frames import MOST_FRAMES, Frame, FrameType, SessionStatistics

Key = tuple[str, str | None, FrameType | None]
"""An index key: a tenant, and possibly a session or a type."""


class MemoryFrames:
    """Stores the newest frames in memory. A forked child starts with a copy.

    Args:
        limit: The maximum number of frames. The oldest ones are dropped, also from statistics.

    Raises:
        ConfigurationError: ``limit`` is not a positive number.
    """

    blocking = False

    def __init__(self, limit: int = 10_000) -> None:
        if type(limit) is not int or limit < 1:
            raise ConfigurationError(f"MemoryFrames(limit={limit!r}): expected a positive number of frames")
        self._ids: set[str] = set()
        self._frames: deque[Frame] = deque()
        self._found: defaultdict[Key, deque[Frame]] = defaultdict(deque)
        self._limit = limit
        self._lock = threading.Lock()
        renewed.add(self)

    def renew(self) -> None:
        """Replace the lock, and rebuild the index if another thread was changing it."""
        if self._lock.locked():
            self._ids = {frame.id for frame in self._frames}
            self._found.clear()
            for frame in self._frames:
                self._index(frame)
        self._lock = threading.Lock()

    def add(self, frame: Frame) -> None:
        with self._lock:
            if frame.id in self._ids:
                return
            self._ids.add(frame.id)
            self._frames.append(frame)
            self._index(frame)
            while len(self._frames) > self._limit:
                self._drop()

    def _index(self, frame: Frame) -> None:
        for key in _keys(frame):
            self._found[key].append(frame)

    def _drop(self) -> None:
        """Drop the oldest frame, which is the first in every index."""
        oldest = self._frames.popleft()
        self._ids.discard(oldest.id)
        for key in _keys(oldest):
            found = self._found[key]
            found.popleft()
            if not found:
                del self._found[key]

    def recent(
        self, limit: int, *, tenant_id: str = "", session_id: str | None = None, type: FrameType | None = None
    ) -> list[Frame]:
        with self._lock:
            found = list(islice(self._newest(tenant_id, session_id, type), max(0, min(limit, MOST_FRAMES))))
        found.reverse()
        return found

    def _newest(self, tenant_id: str, session_id: str | None, type: FrameType | None) -> Iterator[Frame]:
        key = (tenant_id, session_id, None) if session_id is not None else (tenant_id, None, type)
        for frame in reversed(self._found.get(key, ())):
            if type is None or frame.type == type:
                yield frame

    def statistics(self, session_id: str, *, tenant_id: str = "") -> SessionStatistics:
        with self._lock:
            found = list(self._newest(tenant_id, session_id, None))
        if not found:
            return SessionStatistics()
        iterations = [frame for frame in found if frame.type == "iteration"]
        return SessionStatistics(
            frames=len(found),
            iterations=len(iterations),
            succeeded=sum(frame.success is True for frame in iterations),
            failed=sum(frame.success is False for frame in iterations),
            errors=sum(frame.type == "error" for frame in found),
            decisions=sum(frame.type == "decision" for frame in found),
            completed=any(frame.type == "completion" for frame in found),
            last_iteration=max(frame.iteration for frame in found),
            first_ns=min(frame.time_ns for frame in found),
            last_ns=max(frame.time_ns for frame in found),
        )


def _keys(frame: Frame) -> tuple[Key, Key, Key]:
    return (
        (frame.tenant_id, None, None),
        (frame.tenant_id, frame.session_id, None),
        (frame.tenant_id, None, frame.type),
    )
