"""The hook: reserves before a call, and settles after it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote
from zoneinfo import ZoneInfo

from spanhook import semconv
from spanhook.errors import Reject, StoreError
from spanhook.gating import Hook, Measures, estimated_cost, get_charge, handler, validated
from spanhook.hooks.budget._config import Config, Missing, Per, Unpriced, Window
from spanhook.hooks.budget._estimate import estimate
from spanhook.hooks.budget._refusing import refusal_facts, refusal_reason
from spanhook.hooks.budget._replayed import Uncertainty
from spanhook.hooks.budget._uncounted import UncountedCalls
from spanhook.hooks.budget._windows import KEPT_S, Period, period_at
from spanhook.model import NANO, Identity, Operation
from spanhook.store import LEASE_S, Amounts, Caps, Expired, Reservation, in_worker, may_wait, open_book
from spanhook.store import Standing as Account

_LONGEST_WAIT_S = 1.0
"""How long a call waits for its settlement; the rest of it happens in the background."""
_SHADOW = "shadow"
"""Accounts of shadow mode have this before ``per``, which never is the same."""


class Standing(NamedTuple):
    """One budget at one moment.

    Attributes:
        tokens, usd: What has been used.
        reserved_tokens, reserved_usd: What calls under way may use.
        ends: When the period ends, in seconds since the epoch; ``None`` if it has no end.
    """

    tokens: int
    usd: float
    reserved_tokens: int
    reserved_usd: float
    ends: float | None


@handler
class Budget(Hook):
    """Refuses model calls that may exceed a budget.

    Before a call, its estimated use is reserved; afterwards, the reservation is replaced by the actual use. So calls
    at the same time cannot spend the same budget twice. What calls under way use beyond their estimates may exceed it.

    Args:
        per: Whose budget it is: ``"run"``, ``"session"``, ``"user"``, ``"tenant"`` (each has its own), or ``"all"``.
        window: The period after which it starts anew: ``"hour"``, ``"day"``, ``"month"``, or ``"total"`` for never.
        tokens: The most tokens, input and output together.
        usd: The most money, in US dollars.
        time_zone: The time zone of days and months, such as ``"Europe/Berlin"``.
        unpriced: What to do with models without a known price, where ``usd`` is set: ``"refuse"``, ``"count"`` only
            their tokens, or ``"allow"`` them.
        output_tokens: Tokens to reserve for an answer if the request does not limit it.
        missing: If the run, session, user or tenant is unknown: ``"share"`` one budget, or ``"refuse"``.
        reason: The reason that the caller gets.
        status_code: The HTTP status of a refusal.
        scope: What is refused: this ``"operation"``, or also everything else in its ``"run"``.
        lease: On Redis, seconds after which a reservation expires that its process has not renewed.
        expired: On Redis, what becomes of it then: it counts as spent until its process reports what was used
            (``"count"``), or others may spend it (``"free"``).
        store: Where it is kept: ``memory://``, ``sqlite:///FILE`` or ``redis://HOST``.

    Raises:
        ConfigurationError: A setting cannot be used, or a package is missing.
    """

    kinds = ("llm.call", "embeddings.create")
    _acts_once = True
    name = "budget"
    priority = 95
    timeout = 5.0
    stream = "observe"
    limits_usage = True

    Config = Config

    def __init__(
        self,
        per: Per = "run",
        window: Window = "total",
        *,
        tokens: int | None = None,
        usd: float | None = None,
        time_zone: str = "UTC",
        unpriced: Unpriced = "refuse",
        output_tokens: int = 1000,
        missing: Missing = "share",
        reason: str = "",
        status_code: int = 429,
        scope: Any = "operation",
        lease: float = LEASE_S,
        expired: Expired = "count",
        store: str = "memory://",
        clock: Callable[[], float] = lambda: time.time(),  # noqa: PLW0108 - which a replay exchanges
    ) -> None:
        given = {
            "per": per,
            "window": window,
            "tokens": tokens,
            "usd": usd,
            "time_zone": time_zone,
            "unpriced": unpriced,
            "output_tokens": output_tokens,
            "missing": missing,
            "reason": reason,
            "status_code": status_code,
            "scope": scope,
            "lease": lease,
            "expired": expired,
            "store": store,
        }
        self._config: Config = validated(Config, given, "budget")
        self._zone = ZoneInfo(time_zone)
        self._caps = Caps(tokens, None if usd is None else round(usd * NANO))
        self._clock = clock
        self._key = f"spanhook.budget.{id(self):x}"
        self._book = open_book(store, lease, expired)
        self._highest: dict[str, tuple[float | None, float]] = {}
        self._uncounted = UncountedCalls()
        self._uncertainty: Uncertainty | None = None
        measures = Measures("budget")
        self._tokens = measures.counter(semconv.METRIC_BUDGET_TOKENS, "{token}", "Tokens counted against a budget")
        self._cost = measures.counter(semconv.METRIC_BUDGET_COST, "USD", "Money counted against a budget")
        self._expired = measures.counter(
            semconv.METRIC_BUDGET_EXPIRED, "{reservation}", "Reservations of processes that ended or did not renew them"
        )
        self._utilization = measures.watched(
            semconv.METRIC_BUDGET_UTILIZATION, "1", "The highest share of a budget that anyone has used", self._shares
        )
        self._unsettled = measures.watched(
            semconv.METRIC_BUDGET_UNSETTLED,
            "{reservation}",
            "Calls whose use waits for a store that is away",
            self._waiting,
        )

    # ----------------------------------------------------------------- hooks

    def before(self, op: Operation) -> Awaitable[None] | None:
        """Reserve the estimated use of the call.

        Raises:
            Reject: The budget does not suffice, or the model's price or whose budget it is is unknown.
            StoreError: The store cannot be used now.
        """
        if op.mode == "enforce":
            self._utilization()
            self._unsettled()
        amounts = self._estimated(op)
        reservation: Reservation | None = op.state.get(self._key)
        if reservation is None:
            account, period = self._account(op.identity, op.mode)
            until = self._clock() + KEPT_S if period.ends is None and self._config.per in ("run", "session") else None
            reservation = Reservation(self._book, account, period.ends or until)
            op.state[self._key] = reservation
        elif reservation.amounts == amounts:
            return None  # asked again after a rewrite that changes nothing here
        if self._book.ledger.remote and not may_wait():
            return self._reserve_elsewhere(reservation, amounts)
        self._judge(reservation, amounts, reservation.reserve(amounts, self._caps))
        return None

    def after(self, op: Operation) -> Awaitable[None] | None:
        """Settle what the call used."""
        return self._settle(op)

    def on_error(self, op: Operation) -> Awaitable[None] | None:
        """Settle what a call that failed used; give everything back if it was not made."""
        return self._settle(op)

    def _before_replay(self, unknown: Callable[[str], object]) -> None:
        self._uncertainty = Uncertainty(unknown)

    def _fails_with(self, error: Exception, reason: str, status_code: int) -> Exception:
        if isinstance(error, StoreError):
            reason, status_code = f"Budget {self.name!r} cannot be checked now", 503
        return super()._fails_with(error, reason, status_code)

    # ----------------------------------------------------------------- for code

    def standing(self, identity: Identity | None = None) -> Standing:
        """A budget as it is now.

        Args:
            identity: Whose budget, as far as ``per`` asks; nobody's unless given.

        Raises:
            StoreError: The store cannot be used now.
        """
        account, period = self._account(identity or Identity(), "enforce", asking=True)
        found = self._book.ledger.standing(account)
        self._count_expired(found)
        spent, held = found.spent, found.reserved
        return Standing(spent.tokens, spent.nano / NANO, held.tokens, held.nano / NANO, period.ends)

    # ----------------------------------------------------------------- reserving

    def _estimated(self, op: Operation) -> Amounts:
        expected = estimate(op, self._config.output_tokens)
        tokens = expected.input_tokens + expected.output_tokens
        if self._caps.nano is None:
            return Amounts(tokens)
        cost = estimated_cost(op.provider, op.model, *expected)
        if cost is None:
            if self._config.unpriced == "refuse":
                raise Reject(
                    f"The price of {op.model or 'this model'!r} is unknown, so it cannot be counted against the "
                    f"budget {self.name!r}",
                    status_code=self._config.status_code,
                )
            return Amounts(tokens)
        return Amounts(tokens, -(-int(cost * NANO * 1000) // 1000))

    def _account(self, identity: Identity, mode: str, *, asking: bool = False) -> tuple[str, Period]:
        """The account's name, and its period. Users, sessions and runs of different tenants are different ones. A
        budget of a tenant has accounts of its own, whatever budget has the same name.
        """
        config = self._config
        whose = {
            "run": (identity.tenant_id, identity.run_id),
            "session": (identity.tenant_id, identity.session_id),
            "user": (identity.tenant_id, identity.user_id),
            "tenant": (identity.tenant_id,),
            "all": (),
        }[config.per]
        if whose and not whose[-1] and config.missing == "refuse" and not asking:
            raise Reject(
                f"Budget {self.name!r} is per {config.per}, and the {config.per} is unknown",
                status_code=config.status_code,
            )
        period = period_at(config.window, self._zone, self._clock())
        kept = [
            self.name,
            *((_SHADOW,) if mode == "shadow" else ()),
            config.per,
            *whose,
            config.window,
            period.name,
        ]
        owner = f"@{quote(self.tenant_id, safe='')}" if self.tenant_id else ""
        return ":".join((f"budget{owner}", *(quote(part, safe="") for part in kept))), period

    async def _reserve_elsewhere(self, reservation: Reservation, amounts: Amounts) -> None:
        self._judge(reservation, amounts, await in_worker(reservation.reserve, amounts, self._caps))

    def _judge(self, reservation: Reservation, amounts: Amounts, account: Account) -> None:
        self._note(reservation, account)
        if account.granted:
            return
        if self._uncertainty is not None:
            own = reservation.amounts
            more = Amounts(amounts.tokens - own.tokens, amounts.nano - own.nano)
            self._uncertainty.check(reservation.account, account, more, self._caps)
        config = self._config
        now = self._clock()
        ends = period_at(config.window, self._zone, now).ends
        raise Reject(
            config.reason or refusal_reason(self.name, config, ends),
            status_code=config.status_code,
            scope=config.scope,
            retry_after=None if ends is None else ends - now,
            facts=refusal_facts(self._caps, amounts, account, reservation.amounts, ends),
        )

    # ----------------------------------------------------------------- settling

    def _settle(self, op: Operation) -> Awaitable[None] | None:
        reservation: Reservation | None = op.state.get(self._key)
        if reservation is None or reservation.is_settled:
            return None
        settled = get_charge(op, *reservation.amounts)
        used = Amounts(settled.tokens, 0 if self._caps.nano is None else settled.nano)
        if not settled.complete:
            if self._uncertainty is not None:
                self._uncertainty.add(reservation.account, settled, op.own_usage)
            elif op.mode == "enforce":
                self._uncounted.note(self.name, op, settled)
        said = {semconv.HOOK: self.name}
        if op.mode == "enforce":
            if used.tokens:
                self._tokens(used.tokens, said)
            if used.nano:
                self._cost(used.nano / NANO, said)
        if self._book.ledger.remote and not may_wait():
            return self._settle_elsewhere(reservation, used)
        self._note(reservation, reservation.settle(used))
        return None

    async def _settle_elsewhere(self, reservation: Reservation, used: Amounts) -> None:
        limit = self.timeout if isinstance(self.timeout, int | float) else _LONGEST_WAIT_S
        waiting = asyncio.ensure_future(in_worker(reservation.settle, used))
        done, _ = await asyncio.wait((waiting,), timeout=min(_LONGEST_WAIT_S, limit / 2))
        if done:
            self._note(reservation, waiting.result())

    def _note(self, reservation: Reservation, account: Account | None) -> None:
        """Record how the budget stands."""
        if account is None or reservation.account.split(":", 3)[2] == _SHADOW:
            return
        self._count_expired(account)
        spent, caps = account.spent, self._caps
        for unit, used, cap in (("token", spent.tokens, caps.tokens), ("usd", spent.nano, caps.nano)):
            if cap is not None and used / cap > self._share(unit) and not self._is_over(reservation.until):
                self._highest[unit] = reservation.until, used / cap

    def _count_expired(self, account: Account) -> None:
        if account.expired:
            self._expired(account.expired, {semconv.HOOK: self.name})

    def _is_over(self, until: float | None) -> bool:
        return until is not None and self._clock() >= until

    def _share(self, unit: str) -> float:
        until, share = self._highest.get(unit, (None, 0.0))
        return 0.0 if self._is_over(until) else share

    def _shares(self) -> Iterator[tuple[float, dict[str, str]]]:
        for unit, cap in (("token", self._caps.tokens), ("usd", self._caps.nano)):
            if cap is not None:
                yield self._share(unit), {semconv.HOOK: self.name, semconv.BUDGET_UNIT: unit}

    def _waiting(self) -> Iterator[tuple[float, dict[str, str]]]:
        yield self._book.waiting, {semconv.HOOK: self.name}
