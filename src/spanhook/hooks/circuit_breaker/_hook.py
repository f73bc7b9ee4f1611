"""The hook: asks a circuit before a call, and tells it how the call ended."""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, NamedTuple

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.gating import Hook, Measures, handler, renewed_after_fork, validated
from spanhook.hooks.circuit_breaker._circuit import Circuit, Permit, Rules
from spanhook.hooks.circuit_breaker._config import Config
from spanhook.hooks.circuit_breaker._faults import Faults
from spanhook.model import Operation, encodable

MOST_CIRCUITS = 1000
MOST_TARGETS = 50
"""How many targets the metric names; the rest are counted together."""
_LONGEST = 100
_MODELS = ("llm.call", "embeddings.create")


class _Key(NamedTuple):
    kind: str
    provider: str
    name: str
    tenant: str


@handler
class CircuitBreaker(Hook):
    """Refuses calls to models and tools that keep failing, and tries them again after a while.

    Each model of a provider, and each tool, has a circuit. It opens after failures; while it is open, calls are
    refused. After ``open_for`` seconds, ``probes`` calls are let through: if all succeed, the circuit closes; if one
    fails, it stays open for another ``open_for`` seconds. Calls that were cancelled, refused, or left before their end
    are neither successes nor failures.

    Args:
        failures: Open after so many failures in a row; ``None``: never.
        failure_rate: Open if this share of the calls of the window has failed.
        window: Seconds that ``failure_rate`` looks back.
        min_calls: Calls in the window below which ``failure_rate`` does not apply.
        open_for: Seconds for which calls are refused.
        probes: Calls that must succeed after that before all are let through again.
        per: What fails together: each ``"model"``, or all models of a ``"provider"``.
        per_tenant: Whether tenants are apart.
        status_codes: Statuses below 500 that are failures; those from 500 on always are.
        ignore: Names of classes of exceptions that are no failures, nor are their subclasses.
        reason: The reason that the caller gets.
        status_code: The HTTP status of a refusal.
        scope: What is refused: this ``"operation"``, or also everything else in its ``"run"``.
        clock: Seconds of a monotonic clock.

    Raises:
        ConfigurationError: A setting cannot be used.
    """

    kinds = ("llm.call", "embeddings.create", "tool.execute")
    name = "circuit_breaker"
    # Behind hooks of the default priority, and so inside their `around`: what falls back to something else there must
    # not hide the failure. Before budgets and approvals, which nobody needs to ask for a call that is refused anyway.
    priority = 80
    fail_mode = "open"  # it keeps applications available, and its own failure should not stop them

    Config = Config

    def __init__(
        self,
        failures: int | None = 5,
        failure_rate: float | None = None,
        *,
        window: float = 60,
        min_calls: int = 20,
        open_for: float = 30,
        probes: int = 1,
        per: Literal["model", "provider"] = "model",
        per_tenant: bool = False,
        status_codes: Sequence[int] = (408, 429),
        ignore: Sequence[str] = ("TypeError", "ValueError"),
        reason: str = "",
        status_code: int = 503,
        scope: Any = "operation",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        given = {
            "failures": failures,
            "failure_rate": failure_rate,
            "window": window,
            "min_calls": min_calls,
            "open_for": open_for,
            "probes": probes,
            "per": per,
            "per_tenant": per_tenant,
            "status_codes": status_codes if isinstance(status_codes, str) else list(status_codes),
            "ignore": ignore if isinstance(ignore, str) else list(ignore),
            "reason": reason,
            "status_code": status_code,
            "scope": scope,
        }
        config: Config = validated(Config, given, "circuit_breaker")
        self._config = config
        self._rules = Rules(
            config.failures, config.failure_rate, config.window, config.min_calls, config.open_for, config.probes
        )
        self._faults = Faults(config.status_codes, config.ignore)
        self._clock = clock
        self._circuits: OrderedDict[_Key, Circuit] = OrderedDict()
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._key = f"spanhook.circuit_breaker.{id(self):x}"
        self._gauge = Measures("circuit_breaker").gauge(
            semconv.METRIC_CIRCUIT_BREAKER_OPEN, "{circuit}", "Circuits that are open, so that calls are refused"
        )
        renewed_after_fork(self)

    def renew(self) -> None:
        """In a forked child: what is known stays known; calls under way are the parent's."""
        self._lock = threading.Lock()

    # ----------------------------------------------------------------- hooks

    def before(self, op: Operation) -> None:
        """Ask the circuit of what is called.

        Raises:
            Reject: It is open.
        """
        key = self._key_of(op)
        held: tuple[_Key, Permit] | None = op.state.get(self._key)
        if held is not None:
            if held[0] == key:
                return  # asked again after a rewrite that changes nothing here
            del op.state[self._key]
            with self._lock:
                held[1].circuit.release(held[1])
        with self._lock:
            circuit = self._circuit(key)
            answer = circuit.ask(self._clock())
        if not isinstance(answer, Permit):
            raise self._refusal(circuit, answer)
        op.state[self._key] = key, answer

    def around(self, op: Operation, *_args: Any, **_kwargs: Any) -> Generator[Any, Any, None]:
        """Note how the call ended, before hooks around this one make something else of it."""
        try:
            yield
        finally:
            held: tuple[_Key, Permit] | None = op.state.pop(self._key, None)
            if held is not None:
                self._note(op, held[1])

    # ----------------------------------------------------------------- how calls end

    def _note(self, op: Operation, permit: Permit) -> None:
        circuit = permit.circuit
        failed = op.status == "error" and self._faults.include(op.error)
        if not op.called or not (failed or op.status == "success"):
            with self._lock:
                circuit.release(permit)
            return
        with self._lock:
            if circuit.note(permit, failed, self._clock()):
                self._count(circuit, 1 if circuit.is_open else -1)

    def _count(self, circuit: Circuit, change: int) -> None:
        """Measure how many circuits are open. The lock is held, so that what is measured last is what holds."""
        target = circuit.target
        if target not in self._open and (len(target) > _LONGEST or len(self._open) >= MOST_TARGETS):
            target = semconv.OTHER
        self._open[target] += change
        self._gauge(self._open[target], {semconv.HOOK: self.name, semconv.CIRCUIT_BREAKER_TARGET: target})

    # ----------------------------------------------------------------- circuits

    def _key_of(self, op: Operation) -> _Key:
        tenant = op.identity.tenant_id if self._config.per_tenant else ""
        if op.kind not in _MODELS:
            return _Key(op.kind, "", op.name, tenant)
        if self._config.per == "provider":
            return _Key("", op.provider, "", tenant)
        return _Key("", op.provider, op.model, tenant)

    def _circuit(self, key: _Key) -> Circuit:
        """The circuit of a target, most recently used last."""
        circuits = self._circuits
        circuit = circuits.get(key)
        if circuit is not None:
            circuits.move_to_end(key)
            return circuit
        circuit = circuits[key] = Circuit(self._rules, _target(key))
        if len(circuits) > MOST_CIRCUITS:
            self._forget()
        return circuit

    def _forget(self) -> None:
        """Make room: a circuit that knows nothing goes first, then one that is closed, then the oldest."""
        others = list(self._circuits.items())[:-1]
        fresh = (key for key, one in others if one.is_new)
        closed = (key for key, one in others if not one.is_open)
        key = next(fresh, None) or next(closed, None) or others[0][0]
        circuit = self._circuits.pop(key)
        if circuit.is_open:
            circuit.period += 1
            self._count(circuit, -1)

    def _refusal(self, circuit: Circuit, seconds: float) -> Reject:
        config = self._config
        said = f"{circuit.target or 'This'} keeps failing and is not called for now"
        return Reject(
            config.reason or f"{said}; try again in {max(1, round(seconds))} s",
            status_code=config.status_code,
            scope=config.scope,
            retry_after=max(0.0, seconds),
        )


def _target(key: _Key) -> str:
    return encodable("/".join(part for part in (key.provider, key.name) if part))
