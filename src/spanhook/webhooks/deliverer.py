"""Delivers what is in an outbox: a few at a time, each by itself, again and again until it is delivered or dead."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode, Tracer

from spanhook import semconv
from spanhook.diagnostics import Repeats, internal, log
from spanhook.errors import StoreError
from spanhook.store import Due, Outbox, Outcome
from spanhook.version import __version__
from spanhook.webhooks.destinations import DestinationError
from spanhook.webhooks.envelope import MEDIA_TYPE
from spanhook.webhooks.schedule import Schedule, meaning
from spanhook.webhooks.sending import Answer, DeliveryError, Sender
from spanhook.webhooks.signing import signed
from spanhook.webhooks.tracing import context_of

P = ParamSpec("P")
T = TypeVar("T")
_SECOND = 1_000_000_000
LEASE_S = 60.0
"""How long a delivery is leased; longer than a request may take."""
GRACE_S = 1.0
"""How long requests may take to end when the deliverer stops."""


class Deliverer:
    """Delivers what is in an outbox.

    Args:
        outbox: The outbox.
        sender: What sends.
        schedule: When deliveries are tried again.
        at_once: How many requests there may be at a time.
        look_every: Seconds between two looks for what others have put into the outbox.
        clock: Nanoseconds since the epoch.
        tracer: What attempts are recorded with; by default the global provider's.

    Attributes:
        figures: How many attempts were ``delivered``, how many have ``failed``, and how many did and were the last one:
            the delivery is ``dead``.
    """

    def __init__(
        self,
        outbox: Outbox,
        sender: Sender,
        schedule: Schedule = Schedule(),  # noqa: B008 # frozen
        *,
        at_once: int = 16,
        look_every: float = 1.0,
        clock: Callable[[], int] = time.time_ns,
        tracer: Tracer | None = None,
    ) -> None:
        self._outbox, self._sender, self._schedule = outbox, sender, schedule
        self._at_once, self._look_every, self._clock = at_once, look_every, clock
        self._running = set[asyncio.Task[None]]()
        self._tracer = tracer or trace.get_tracer("spanhook.webhooks", __version__)
        self._woken, self._stopping = asyncio.Event(), False
        self._repeats = Repeats()
        self.figures = Counter[str](delivered=0, failed=0, dead=0)

    def wake(self) -> None:
        """Look into the outbox at once. Call it on the deliverer's loop."""
        self._woken.set()

    async def run(self) -> None:
        """Deliver until ``stop`` is called. Requests that last longer are then given up, and their leases end."""
        try:
            while not self._stopping:
                self._woken.clear()
                if not await self._begin():
                    await self._wait()
            if self._running:
                await asyncio.wait(self._running, timeout=GRACE_S)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    def stop(self) -> None:
        """Begin no more, for good. Call it on the deliverer's loop."""
        self._stopping = True
        self._woken.set()

    async def deliver_due(self) -> int:
        """Deliver what is due now, and wait until that is done. Returns how many deliveries were tried."""
        due = await self._claim(self._at_once)
        await asyncio.gather(*(self._deliver(one) for one in due))
        return len(due)

    async def _begin(self) -> bool:
        """Begin what is due. Returns whether there may be more that can be begun at once."""
        free = self._at_once - len(self._running)
        if not free:
            return False
        due = await self._claim(free)
        for one in due:
            task = asyncio.create_task(self._deliver(one))
            self._running.add(task)
            task.add_done_callback(self._ended)
        return len(due) == free

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        self._woken.set()

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._look_every):
                await self._woken.wait()

    async def _claim(self, most: int) -> list[Due]:
        now = self._clock()
        found = await asyncio.to_thread(self._tried, self._outbox.claim, now, now + int(LEASE_S * _SECOND), most)
        return found or []

    async def _deliver(self, due: Due) -> None:
        outcome = await self._attempt(due)
        try:
            await asyncio.to_thread(self._tried, self._outbox.settle, due, outcome)
        except RuntimeError:  # the interpreter ends and starts no more work on threads; unsettled, it is sent again
            self._tried(self._outbox.settle, due, outcome)

    async def _attempt(self, due: Due) -> Outcome:
        """Try once, as one span, in the trace of the event. Its context is not sent: receivers belong to others."""
        about = {
            semconv.HTTP_REQUEST_METHOD: "POST",
            semconv.CLOUDEVENTS_EVENT_ID: due.event_id,
            semconv.CLOUDEVENTS_EVENT_TYPE: due.event_type,
            semconv.SERVER_ADDRESS: urlsplit(due.url).hostname or "",
        }
        within = context_of(due.traceparent)
        with self._tracer.start_as_current_span("POST", within, SpanKind.CLIENT, about) as span:
            outcome = await self._outcome(due)
            if outcome.status:
                span.set_attribute(semconv.HTTP_RESPONSE_STATUS_CODE, outcome.status)
            if outcome.error:
                span.set_attribute(semconv.ERROR_TYPE, str(outcome.status or "_OTHER"))
                span.set_status(StatusCode.ERROR, outcome.error)
        self.figures["failed" if outcome.state == "pending" else outcome.state] += 1
        return outcome

    async def _outcome(self, due: Due) -> Outcome:
        begun = self._clock()
        try:
            body = due.body.encode()
            headers = {"Content-Type": MEDIA_TYPE, **signed(due.secrets, due.event_id, due.body, begun / _SECOND)}
            answer = await self._sender.post(due.url, body, headers)
        except DestinationError as error:
            return self._failed(due, begun, str(error), refused=True)
        except DeliveryError as error:
            return self._failed(due, begun, str(error))
        except Exception as error:
            log.exception("spanhook: a webhook could not be sent")
            return self._failed(due, begun, f"it could not be sent: {type(error).__name__}")
        means, ended = meaning(answer.status), self._clock()
        if means == "delivered":
            return Outcome("delivered", 0, begun, ended - begun, answer.status, "", answer.body)
        return self._failed(due, begun, f"the response has the status {answer.status}", answer, gone=means == "gone")

    def _failed(
        self,
        due: Due,
        begun: int,
        error: str,
        answer: Answer = Answer(0, "", ""),  # noqa: B008 # frozen
        *,
        gone: bool = False,
        refused: bool = False,
    ) -> Outcome:
        now, tried = self._clock(), due.attempts + 1
        over = gone or tried >= self._schedule.attempts
        pause = self._schedule.pause(tried, answer.retry_after, now / _SECOND)
        return Outcome(
            "dead" if over else "pending",
            0 if over else now + int(pause * _SECOND),
            begun,
            now - begun,
            answer.status,
            error,
            answer.body,
            gone,
            refused,
        )

    def _tried(self, ask: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """What the outbox answers; nothing if it fails. Leases end by themselves, and deliveries are tried again."""
        try:
            return ask(*args, **kwargs)
        except StoreError as error:
            if self._repeats.due(str(error)) is not None:
                log.warning("spanhook: webhooks wait: %s", error)
        except Exception as error:  # it refuses a statement, as when a right was taken away
            internal.report("webhook", error)
        return None
