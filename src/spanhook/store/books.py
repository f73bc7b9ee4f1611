"""Reservations of this process: kept alive while their calls run, and settled in the background.

A call never waits for its settlement, and never fails because of it. While the store is away, settlements wait here.
"""

import os
import threading
import weakref
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import NamedTuple
from uuid import uuid4

from spanhook.concurrency import OwnThread
from spanhook.diagnostics import internal, log
from spanhook.errors import StoreError
from spanhook.store._renewal import renewed
from spanhook.store.ledger import Amounts, Caps, Ledger, Standing

LEASE_S = 60.0
"""How long a reservation outlives its process where that is told by a clock alone."""
MOST_WAITING = 100_000
"""Settlements that wait for a store that is away; more are dropped and counted."""
RETRY_S = 1.0
"""How long a store that is away is left alone."""
DRAIN_S = 0.5
IDLE = 3
"""After how many pauses without anything to do the thread ends."""


class Settlement(NamedTuple):
    """What is to be settled.

    Attributes:
        again: It was tried before, and may have happened.
    """

    account: str
    reservation: str
    amounts: Amounts
    until: float | None
    again: bool = False

    def apply(self, ledger: Ledger) -> Standing:
        """Settle it."""
        return ledger.settle(self.account, self.reservation, self.amounts, self.until, again=self.again)


class Reservation:
    """A reservation of this process. One that is dropped without being settled is given back.

    Attributes:
        amounts: What is reserved; zero until it is granted.
        is_settled: Whether ``settle`` was called.
    """

    __slots__ = ("__weakref__", "_book", "_of", "account", "amounts", "id", "is_settled", "until")

    def __init__(self, book: "Book", account: str, until: float | None) -> None:
        self._book, self._of = book, os.getpid()
        self.id = uuid4().hex
        self.account, self.until = account, until
        self.amounts = Amounts()
        self.is_settled = False

    def reserve(self, amounts: Amounts, caps: Caps) -> Standing:
        """Reserve amounts instead of the earlier ones; see ``Ledger.reserve``.

        Raises:
            StoreError: The store cannot be used now.
        """
        standing = self._book.reserve(self, amounts, caps)
        if standing.granted:
            self.amounts = amounts
            if self.is_settled:  # meanwhile, as nobody waits for this any more
                self._book.settle(Settlement(self.account, self.id, Amounts(), self.until))
        return standing

    def settle(self, amounts: Amounts) -> Standing | None:
        """Replace it by what was actually used; zero gives it back. If the store is away, that is done later.

        Returns:
            The account; ``None`` if it is not known now.
        """
        if self.is_settled or self._of != os.getpid():  # the process that made it settles it
            return None
        self.is_settled = True
        return self._book.settle(Settlement(self.account, self.id, amounts, self.until))


class _Open(weakref.ref[Reservation]):
    """A reservation that is open, and what is needed to give it back if it is dropped."""

    account: str
    id: str
    until: float | None


class Book:
    """The reservations of this process on one ledger.

    Args:
        ledger: The ledger.
        lease_s: Seconds that a reservation outlives the process where that is told by a clock alone.
    """

    def __init__(self, ledger: Ledger, lease_s: float = LEASE_S) -> None:
        self.ledger, self._lease_s = ledger, lease_s
        self.renew()
        renewed.add(self)

    def renew(self) -> None:
        """In a forked child: the parent settles what it has reserved."""
        self._open: dict[str, _Open] = {}
        self._dropped: deque[_Open] = deque()
        self._waiting: deque[Settlement] = deque()
        self._draining = threading.Lock()
        self._starting = threading.Lock()
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None
        self._away_until = 0.0

    @property
    def waiting(self) -> int:
        """How many settlements wait for the store."""
        return len(self._waiting)

    def reserve(self, reservation: Reservation, amounts: Amounts, caps: Caps) -> Standing:
        """See ``Reservation.reserve``."""
        ledger = self.ledger
        if monotonic() < self._away_until:
            raise StoreError(f"{ledger.shown} cannot be used: it was away less than a second ago")
        self._give_back()
        try:
            if self._waiting:
                self._drain()
            if reservation.id not in self._open:
                # C code puts a dropped reservation into the deque: an interrupt in a callback of ours would be lost.
                opened = _Open(reservation, self._dropped.append)
                opened.account, opened.id, opened.until = reservation.account, reservation.id, reservation.until
                self._open[reservation.id] = opened
            lease_s = self._lease_s if ledger.remote else float("inf")
            standing = ledger.reserve(reservation.account, reservation.id, amounts, caps, lease_s, reservation.until)
        except StoreError as error:
            self._leave(error)
            raise
        if ledger.remote:
            self._return()
            self._start()
        return standing

    def settle(self, settlement: Settlement) -> Standing | None:
        """See ``Reservation.settle``."""
        self._open.pop(settlement.reservation, None)
        if not self._waiting:  # otherwise in order
            try:
                return settlement.apply(self.ledger)
            except StoreError as error:
                self._leave(error)
                settlement = settlement._replace(again=True)
            except BaseException:  # interrupted
                self._wait(settlement._replace(again=True))
                raise
        self._wait(settlement)
        return None

    def flush(self) -> bool:
        """Settle what waits, now. Returns whether nothing waits any more."""
        self._give_back()
        with suppress(StoreError):
            self._drain()
        return not self._waiting

    # ----------------------------------------------------------------- what waits

    def _wait(self, settlement: Settlement) -> None:
        if len(self._waiting) >= MOST_WAITING:
            internal.lose("ledger", 1)
            return
        self._waiting.append(settlement)
        self._start()
        self._bell.set()

    def _give_back(self) -> None:
        """Give back reservations that were dropped without being settled."""
        while self._dropped:
            one = self._dropped.popleft()
            if self._open.pop(one.id, None) is not None:
                self.settle(Settlement(one.account, one.id, Amounts(), one.until))

    def _drain(self) -> None:
        """Settle what waits, in order.

        Raises:
            StoreError: The store cannot be used now.
        """
        waiting = self._waiting
        if not self._draining.acquire(timeout=DRAIN_S):
            return
        try:
            while waiting:
                first = waiting[0]
                waiting[0] = first._replace(again=True)
                first.apply(self.ledger)
                waiting.popleft()
        finally:
            self._draining.release()

    def _leave(self, error: StoreError) -> None:
        """The store is away: leave it alone for a moment."""
        if not self._away_until:
            log.warning("spanhook: %s; calls that have to reserve are refused until it is back", error)
        self._away_until = monotonic() + RETRY_S

    def _return(self) -> None:
        """The store can be used."""
        if self._away_until:
            self._away_until = 0.0
            log.info("spanhook: %s can be used again", self.ledger.shown)

    # ----------------------------------------------------------------- in the background

    def _start(self) -> None:
        thread = self._thread
        if thread is not None and thread.is_alive():
            return
        with self._starting, suppress(RuntimeError):  # no thread can start while the interpreter exits
            if self._thread is None or not self._thread.is_alive():
                self._thread = OwnThread(self._keep, "spanhook-ledger")
                self._thread.start()

    def _keep(self) -> None:
        """Settle what waits and extend the leases of what is open, while there is any of it."""
        extended, idle = monotonic(), 0
        while idle < IDLE:
            rung = self._bell.wait(RETRY_S if self._waiting else self._lease_s / 3)
            self._bell.clear()
            idle = 0 if rung or self._open or self._waiting else idle + 1
            if rung and monotonic() < self._away_until:
                continue
            try:
                self._give_back()
                self._drain()
                if monotonic() - extended >= self._lease_s / 3:
                    for one in list(self._open.values()):
                        self.ledger.extend(one.account, one.id, self._lease_s)
                    extended = monotonic()
            except StoreError as error:
                self._leave(error)
            except Exception as error:
                internal.report("ledger", error)
            else:
                self._return()
        self._thread = None
        if self._waiting or self._open:  # since the last look
            self._start()
