"""Frames in memory, gone with the process."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice

from spanhook.errors import ConfigurationError
from spanhook.store._renewal import renewed
from spanhook.store.frames import MOST_FRAMES, Frame, FrameType, SessionStatistics


class MemoryFrames:
    """Keeps the newest frames in memory. A forked child begins with a copy.

    Args:
        limit: How many frames are kept; the oldest make room for new ones, and are in no statistics any more.

    Raises:
        ConfigurationError: ``limit`` is no positive number.
    """

    blocking = False

    def __init__(self, limit: int = 10_000) -> None:
        if type(limit) is not int or limit < 1:
            raise ConfigurationError(f"MemoryFrames(limit={limit!r}): expected a positive number of frames")
        self._frames: OrderedDict[str, Frame] = OrderedDict()
        self._limit = limit
        self._lock = threading.Lock()
        renewed.add(self)

    def renew(self) -> None:
        """Forget a lock that another thread may have held."""
        self._lock = threading.Lock()

    def add(self, frame: Frame) -> None:
        with self._lock:
            self._frames.setdefault(frame.id, frame)
            if len(self._frames) > self._limit:
                self._frames.popitem(last=False)

    def recent(
        self, limit: int, *, tenant_id: str = "", session_id: str | None = None, type: FrameType | None = None
    ) -> list[Frame]:
        with self._lock:
            found = list(islice(self._newest(tenant_id, session_id, type), max(0, min(limit, MOST_FRAMES))))
        found.reverse()
        return found

    def _newest(self, tenant_id: str, session_id: str | None, type: FrameType | None) -> Iterator[Frame]:
        for frame in reversed(self._frames.values()):
            if frame.tenant_id != tenant_id or (session_id is not None and frame.session_id != session_id):
                continue
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
