"""Takes telemetry in: decodes it in one thread, writes it in another, and answers when it is committed."""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from spanhook.diagnostics import internal
from spanhook.errors import StoreError
from spanhook.store.control.columns import clean
from spanhook.store.control.database import Database
from spanhook.store.control.facts import Batch, short
from spanhook.store.control.logs import decode_logs
from spanhook.store.control.payload import Signal, as_protobuf, inflated
from spanhook.store.control.points import decode_metrics
from spanhook.store.control.spans import decode_spans
from spanhook.store.control.wire import Group, IngestError, MalformedError, TooLargeError, groups
from spanhook.store.control.writing import write

_DECODERS: dict[Signal, Callable[[Iterable[Group], str, int], Batch]] = {
    "traces": decode_spans,
    "logs": decode_logs,
    "metrics": decode_metrics,
}
_GROUP = 64
_GROUP_SIZE = 32 * 1024 * 1024


class FullError(IngestError):
    """Too much is waiting to be written.

    Attributes:
        retry_after_s: After how many seconds to send it again.
    """

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("too much telemetry is waiting to be written; send it again later")
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Kept:
    """What has become of a request.

    Attributes:
        accepted: Records that are kept: new ones, and those that were known already.
        rejected: Records that are not.
        message: Why not; empty if all are kept.
    """

    accepted: int
    rejected: int
    message: str


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """How much is taken at once.

    Attributes:
        body: Bytes of one request, as it is sent.
        inflated: Bytes of one request when decompressed.
        records: Records of one request.
        waiting: Requests that wait to be written.
        waiting_bytes: Bytes of these in memory, roughly.
    """

    body: int = 16 * 1024 * 1024
    inflated: int = 32 * 1024 * 1024
    records: int = 200_000
    waiting: int = 256
    waiting_bytes: int = 256 * 1024 * 1024


@dataclass(slots=True)
class IngestFigures:
    """What an ingestor has done since it was made.

    Attributes:
        spans, logs, points: Records that were committed.
        rejected: Records that could not be kept.
        refused: Requests that were refused because too much was waiting.
        failed: Requests that could not be written.
        waiting: Requests that wait now.
    """

    spans: int = 0
    logs: int = 0
    points: int = 0
    rejected: int = 0
    refused: int = 0
    failed: int = 0
    waiting: int = 0


@dataclass(slots=True)
class _Waiting:
    batch: Batch
    done: "asyncio.Future[None]"
    loop: asyncio.AbstractEventLoop

    def resolve(self, error: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(self._resolve, error)

    def _resolve(self, error: BaseException | None) -> None:
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


class Ingestor:
    """Takes telemetry into a database.

    Requests that arrive while others are written are written together, in one transaction.

    Args:
        database: Where it goes.
        limits: How much is taken at once.
    """

    def __init__(self, database: Database, limits: IngestLimits | None = None) -> None:
        self._database, self._limits = database, limits or IngestLimits()
        self._decoder = ThreadPoolExecutor(1, "spanhook-decode")
        self._queue: deque[_Waiting] = deque()
        self._ready = threading.Condition()
        self._closing = False
        self._waiting = self._waiting_bytes = 0
        self._figures = IngestFigures()
        self._writer = threading.Thread(target=self._work, name="spanhook-write", daemon=True)
        self._writer.start()

    @property
    def figures(self) -> IngestFigures:
        """What it has done."""
        self._figures.waiting = self._waiting
        return self._figures

    async def take(
        self, signal: Signal, body: bytes, *, content_type: str, content_encoding: str = "", tenant: str = ""
    ) -> Kept:
        """Take a request of OTLP over HTTP, and wait until it is committed.

        Args:
            signal: ``traces``, ``logs`` or ``metrics``.
            body: As it was sent.
            content_type, content_encoding: Its headers.
            tenant: Whose it is, whatever it says itself; empty if it may say so.

        Raises:
            MalformedError: It cannot be read. Nothing of it is kept, as with all of these.
            TooLargeError: It is too large.
            UnsupportedError: It has another type or compression.
            FullError: Too much is waiting.
            StoreError: The database cannot be used now.
        """
        limits = self._limits
        if len(body) > limits.body:
            raise TooLargeError(f"the body has more than {limits.body} bytes")
        if self._closing or self._waiting >= limits.waiting or self._waiting_bytes >= limits.waiting_bytes:
            self._figures.refused += 1
            raise FullError(1)
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            decode = self._decode, signal, body, content_type, content_encoding, short(clean(tenant))
            batch = await loop.run_in_executor(self._decoder, *decode)
            self._figures.rejected += batch.rejected
            await self._written(batch, loop)
        finally:
            self._waiting -= 1
        return Kept(batch.received - batch.rejected, batch.rejected, batch.complaint)

    async def _written(self, batch: Batch, loop: asyncio.AbstractEventLoop) -> None:
        done: asyncio.Future[None] = loop.create_future()
        self._waiting_bytes += batch.size
        try:
            with self._ready:
                if self._closing:
                    raise FullError(1)
                self._queue.append(_Waiting(batch, done, loop))
                self._ready.notify()
            await done
        finally:
            self._waiting_bytes -= batch.size

    def _decode(self, signal: Signal, body: bytes, content_type: str, encoding: str, owner: str) -> Batch:
        limits = self._limits
        data = as_protobuf(signal, inflated(body, encoding, limits.inflated), content_type)
        try:
            return _DECODERS[signal](groups(data, limits.records), owner, time.time_ns())
        except IngestError:
            raise
        except Exception as error:
            internal.report("ingest.decode", error)
            raise MalformedError("the request cannot be read") from error

    async def close(self) -> None:
        """Write what is waiting, and end. What comes later is refused."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        await asyncio.to_thread(self._writer.join)
        await asyncio.to_thread(self._decoder.shutdown)

    # ----------------------------------------------------------------- the writer's thread

    def _work(self) -> None:
        while True:
            group = self._next()
            if not group:
                return
            error = self._try([one.batch for one in group])
            if error is None or len(group) == 1:
                for one in group:
                    one.resolve(error)
                continue
            for one in group:  # one of them may be the reason
                one.resolve(self._try([one.batch]))

    def _next(self) -> list[_Waiting]:
        with self._ready:
            while not self._queue:
                if self._closing:
                    return []
                self._ready.wait()
            group: list[_Waiting] = []
            size = 0
            while self._queue and len(group) < _GROUP and size < _GROUP_SIZE:
                group.append(self._queue.popleft())
                size += group[-1].batch.size
            return group

    def _try(self, batches: list[Batch]) -> StoreError | None:
        figures = self._figures
        try:
            with self._database.writing_here() as connection:
                write(connection, batches, time.time_ns())
        except StoreError as error:
            figures.failed += len(batches) == 1
            return error
        except SQLAlchemyError as error:
            internal.report("ingest.write", error)
            figures.failed += len(batches) == 1
            return StoreError(f"{self._database.shown}: the telemetry could not be written")
        except Exception as error:
            internal.report("ingest.write", error)
            figures.failed += len(batches) == 1
            return StoreError(f"{self._database.shown}: the telemetry could not be written")
        figures.spans += sum(len(one.spans) for one in batches)
        figures.logs += sum(len(one.logs) for one in batches)
        figures.points += sum(len(one.metrics) for one in batches)
        return None
