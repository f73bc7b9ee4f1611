"""Limits how often calls are made, with the strategies and stores of the package ``limits``."""

import threading
import time
import weakref
from collections.abc import Awaitable, Iterator, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, field_validator

from spanhook.errors import ConfigurationError, Reject, StoreError
from spanhook.gating import NEUTRAL, Hook, Looser, handler, renewed_after_fork, validated
from spanhook.model import Identity, Operation
from spanhook.store import in_worker, may_wait, parse_address

try:
    from limits import RateLimitItem, parse_many
    from limits.storage import MemoryStorage, RedisStorage, Storage
    from limits.strategies import (
        FixedWindowRateLimiter,
        MovingWindowRateLimiter,
        RateLimiter,
        SlidingWindowCounterRateLimiter,
    )
except ImportError:
    raise ImportError('rate_limit needs the package limits; pip install "spanhook[limits]"') from None

Per = Literal["run", "session", "user", "tenant", "agent", "tool", "model"]
Strategy = Literal["fixed_window", "sliding_window", "moving_window"]

_STRATEGIES: dict[Strategy, type[RateLimiter]] = {
    "fixed_window": FixedWindowRateLimiter,
    "sliding_window": SlidingWindowCounterRateLimiter,
    "moving_window": MovingWindowRateLimiter,
}
_TIMEOUT_S = 1.0
_SWEEP_EVERY = 1000


def _faster(before: str, now: str) -> Iterator[str]:
    """What a rate allows that the one before did not."""
    present = [(one.amount, one.get_expiry()) for one in parse_many(now)]
    for one in parse_many(before):
        if not any(amount <= one.amount and seconds >= one.get_expiry() for amount, seconds in present):
            yield f"limit is {now!r} instead of {before!r}"
            return


@handler
class RateLimit(Hook):
    """Refuses calls beyond a rate, such as ten a minute for each user.

    Every call that is asked about is counted once, also if another hook refuses it afterwards.

    Args:
        limit: The rate, such as ``"10/minute"``, or several: ``"10/minute; 100/day"``.
        per: What has a rate of its own: any of ``"run"``, ``"session"``, ``"user"``, ``"tenant"``, ``"agent"``,
            ``"tool"`` and ``"model"``, one or a list of them; none for all calls together.
        strategy: ``"moving_window"`` is exact and remembers each call; ``"sliding_window"`` estimates from two
            windows; ``"fixed_window"`` may let twice the rate pass where two windows meet.
        missing: If one of ``per`` is unknown: ``"share"`` one rate, or ``"refuse"``.
        reason: The reason that the caller gets.
        status_code: The HTTP status of a refusal.
        scope: What is refused: this ``"operation"``, or also everything else in its ``"run"``.
        store: Where calls are counted: ``memory://`` or ``redis://HOST``.

    Raises:
        ConfigurationError: A setting cannot be used, or a package is missing.
    """

    kinds = ("llm.call", "tool.execute")
    _acts_once = True
    name = "rate_limit"
    priority = 60
    timeout = 5.0

    class Config(BaseModel):
        """Settings of ``rate_limit``."""

        model_config = ConfigDict(extra="forbid")

        limit: Annotated[str, Looser(_faster)] = Field(
            description="The rate, such as 10/minute, or several: 10/minute; 100/day."
        )
        per: Annotated[list[Per], Looser("more")] = Field(
            default=[], description="What has a rate of its own; empty for all calls together."
        )
        strategy: Annotated[Strategy, Looser(("moving_window", "sliding_window", "fixed_window"))] = Field(
            default="moving_window", description="How calls are counted over time."
        )
        missing: Annotated[Literal["share", "refuse"], Looser(("refuse", "share"))] = Field(
            default="share", description="If one of per is unknown. share: all of these have one rate together."
        )
        reason: str = Field(default="", max_length=1000, description="The reason that the caller gets.")
        status_code: Annotated[int, NEUTRAL] = Field(
            default=429, ge=400, le=599, description="The HTTP status of a refusal."
        )
        scope: Annotated[Literal["operation", "run"], Looser(("run", "operation"))] = Field(
            default="operation", description="What is refused: this call, or also everything else in its run."
        )
        store: str = Field(
            default="memory://",
            description="Where calls are counted: memory:// or redis://HOST, or the name of a store.",
            json_schema_extra={"spanhook_store": "counters"},
        )

        @field_validator("per", mode="before")
        @classmethod
        def _listed(cls, per: Any) -> Any:
            return [per] if isinstance(per, str) else per

        @field_validator("limit")
        @classmethod
        def _readable(cls, limit: str) -> str:
            try:
                items = parse_many(limit)
            except ValueError:
                items = []
            if not items or any(item.amount < 1 for item in items):
                raise ValueError("expected a rate above 0 such as 10/minute, or several such as 10/minute; 100/day")
            return limit

    def __init__(
        self,
        limit: str,
        per: Per | Sequence[Per] = (),
        *,
        strategy: Strategy = "moving_window",
        missing: Literal["share", "refuse"] = "share",
        reason: str = "",
        status_code: int = 429,
        scope: Any = "operation",
        store: str = "memory://",
    ) -> None:
        given = {
            "limit": limit,
            "per": per if isinstance(per, str) else list(per),
            "strategy": strategy,
            "missing": missing,
            "reason": reason,
            "status_code": status_code,
            "scope": scope,
            "store": store,
        }
        self._config: RateLimit.Config = validated(self.Config, given, "rate_limit")
        self._items: list[RateLimitItem] = parse_many(limit)
        self._counter = _Counter(store, self._config.strategy)
        self._key = f"spanhook.rate_limit.{id(self):x}"

    def before(self, op: Operation) -> Awaitable[None] | None:
        """Count the call.

        Raises:
            Reject: The rate is exceeded, or it is unknown whose rate it is.
            StoreError: The store cannot be used now.
        """
        names = self._names(op)
        if op.state.get(self._key) == names:
            return None  # asked again after a rewrite that changes nothing here
        op.state[self._key] = names
        if self._counter.remote and not may_wait():
            return self._count_elsewhere(names)
        self._judge(self._counter.count(self._items, names))
        return None

    def _fails_with(self, error: Exception, reason: str, status_code: int) -> Exception:
        if isinstance(error, StoreError):
            reason, status_code = f"Rate limit {self.name!r} cannot be checked now", 503
        return super()._fails_with(error, reason, status_code)

    async def _count_elsewhere(self, names: tuple[str, ...]) -> None:
        self._judge(await in_worker(self._counter.count, self._items, names))

    def _names(self, op: Operation) -> tuple[str, ...]:
        """What is counted together. Users, sessions and runs of different tenants are different ones. A limit of a
        tenant counts for itself, whatever limit has the same name.
        """
        identity = op.identity
        whose = (identity.tenant_id,) if {"run", "session", "user"} & set(self._config.per) else ()
        kept = [self.name, op.mode, self.tenant_id, *whose]
        for per in self._config.per:
            value = _value(per, op, identity)
            if not value and self._config.missing == "refuse":
                raise Reject(
                    f"Rate limit {self.name!r} is per {per}, and the {per} is unknown",
                    status_code=self._config.status_code,
                )
            kept += [per, value]
        return tuple(quote(part, safe="") for part in kept)

    def _judge(self, exceeded: tuple[RateLimitItem, float] | None) -> None:
        if exceeded is None:
            return
        item, seconds = exceeded
        config = self._config
        whose = f" per {' and '.join(config.per)}" if config.per else ""
        raise Reject(
            config.reason
            or f"Rate limit {self.name!r}: at most {item}{whose}; try again in {max(1, round(seconds))} s",
            status_code=config.status_code,
            scope=config.scope,
            retry_after=max(0.0, seconds),
        )


def _value(per: Per, op: Operation, identity: Identity) -> str:
    if per in ("tool", "model"):
        return op.name if op.kind == "tool.execute" and per == "tool" else op.model if per == "model" else ""
    if per == "agent":
        return op.agent
    return {
        "run": identity.run_id,
        "session": identity.session_id,
        "user": identity.user_id,
        "tenant": identity.tenant_id,
    }[per]


class _QuietMemory(MemoryStorage):
    """Memory without the threads that ``MemoryStorage`` starts to clean up: it does that as it is used."""

    def __init__(self) -> None:
        super().__init__()
        self.timer.cancel()
        self.timer = _ALWAYS
        self._used = 0

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count a call; forget those before the last ``limit``, which decide nothing any more."""
        acquired = super().acquire_entry(key, limit, expiry, amount)
        del self.events[key][limit:]
        return acquired

    def sweep(self) -> None:
        """Now and then, forget what has expired."""
        self._used += 1
        if self._used % _SWEEP_EVERY:
            return
        now = time.time()
        over = [key for key, ends in self.expirations.items() if ends <= now]
        over += [key for key, events in self.events.items() if not events or events[0].expiry <= now]
        for key in over:
            self.clear(key)


class _Always(threading.Timer):
    """A timer that claims to run, so that no other is started."""

    def is_alive(self) -> bool:
        return True


_ALWAYS = _Always(0, lambda: None)


class _Counter:
    """Counts in a store.

    Args:
        url: The address of the store.
        strategy: How calls are counted over time.
    """

    def __init__(self, url: str, strategy: Strategy) -> None:
        address = parse_address(url)
        self.remote = address.scheme == "redis"
        self._shown = address.shown
        self._lock = threading.Lock()
        if address.scheme in ("sqlite", "postgresql"):
            raise ConfigurationError(
                f"rate_limit cannot count in {address.shown}; write memory:// for one process, or redis://HOST"
            )
        self._storage: Storage = self._redis(url) if self.remote else _QuietMemory()
        self._limiter = _STRATEGIES[strategy](self._storage)
        renewed_after_fork(self)

    def renew(self) -> None:
        """In a forked child: what was counted stays counted; another thread may have held the locks."""
        self._lock = threading.Lock()
        if isinstance(self._storage, _QuietMemory):
            self._storage.locks.clear()

    def _redis(self, url: str) -> Storage:
        try:
            storage = RedisStorage(
                url,
                key_prefix="spanhook:rate",
                wrap_exceptions=False,
                socket_timeout=_TIMEOUT_S,
                socket_connect_timeout=_TIMEOUT_S,
            )
        except Exception as error:
            if type(error).__name__ == "ConfigurationError":
                raise ConfigurationError(
                    f'{self._shown} needs the package redis; pip install "spanhook[redis]"'
                ) from None
            raise ConfigurationError(f"{self._shown} cannot be used: {type(error).__name__}") from None
        weakref.finalize(self, storage.storage.close)
        return storage

    def count(self, items: Sequence[RateLimitItem], names: tuple[str, ...]) -> tuple[RateLimitItem, float] | None:
        """Count a call. Returns the rate that it exceeds, with the seconds until it may be made; else ``None``.

        Raises:
            StoreError: The store cannot be used now.
        """
        try:
            if isinstance(self._storage, _QuietMemory):
                with self._lock:
                    self._storage.sweep()
                    return self._counted(items, names)
            return self._counted(items, names)
        except self._storage.base_exceptions as error:
            raise StoreError(f"{self._shown} cannot be used: {type(error).__name__}") from None

    def _counted(self, items: Sequence[RateLimitItem], names: tuple[str, ...]) -> tuple[RateLimitItem, float] | None:
        limiter = self._limiter
        for item in items:  # all are asked first, so that a refused call counts against none
            if not limiter.test(item, *names):
                return item, limiter.get_window_stats(item, *names).reset_time - time.time()
        for item in items:
            if not limiter.hit(item, *names):
                return item, limiter.get_window_stats(item, *names).reset_time - time.time()
        return None
