"""Asks a service within a time limit: again where that may help, and not at all while it keeps failing."""

import asyncio
import random
import threading
import time
from collections.abc import Callable

from spanhook.gating import guardrail, renewed_after_fork
from spanhook.hooks.circuit_breaker import Circuit, Permit, Rules
from spanhook.hooks.remote_policy._config import Config
from spanhook.hooks.remote_policy._facts import Facts
from spanhook.hooks.remote_policy._figures import Figures
from spanhook.hooks.remote_policy._services import Service
from spanhook.hooks.remote_policy._verdict import (
    PolicyError,
    PolicyNotAsked,
    PolicyOverloaded,
    PolicyTimeout,
    PolicyUnreachable,
    Verdict,
)

_FIRST_PAUSE_S = 0.05
_OUTAGES = (PolicyUnreachable, PolicyTimeout, PolicyOverloaded)
"""What speaks against the service, and not only against one question: nobody can turn it off with odd questions."""


class Asking:
    """Asks one service, and measures how that goes.

    Args:
        config: The settings.
        service: What is asked.
        clock: Seconds of a monotonic clock.
    """

    def __init__(self, config: Config, service: Service, clock: Callable[[], float] = time.monotonic) -> None:
        self._config, self._service, self._clock = config, service, clock
        self._circuit = Circuit(Rules(config.failures, None, 60, 1, config.open_for, 1), config.service)
        self._lock = threading.Lock()
        self._figures = Figures(self._circuit)
        renewed_after_fork(self)

    def renew(self) -> None:
        """In a forked child: another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    async def ask(self, facts: Facts, hook: str) -> Verdict:
        """The verdict of the service.

        Args:
            facts: What it is told.
            hook: The hook, by its name.

        Raises:
            PolicyError: It has not decided.
        """
        self._figures.begin(hook)
        began = time.monotonic()
        said, failed = "", False
        permit: Permit | None = None
        try:
            permit = self._permit()
            verdict = await self._attempts(facts, began + self._config.timeout)
            said, failed = verdict.decision, False
            return verdict
        except PolicyError as error:
            said, failed = "error", isinstance(error, _OUTAGES)
            raise
        finally:
            self._note(permit, said, failed=failed)
            if said:  # it was not cancelled
                self._figures.decided(said, time.monotonic() - began)

    async def _attempts(self, facts: Facts, ends: float) -> Verdict:
        tried = 0
        while True:
            try:
                return await self._attempt(facts, ends)
            except PolicyError as error:
                self._figures.failed(error)
                pause = _FIRST_PAUSE_S * 2**tried * random.uniform(0.5, 1.5)  # noqa: S311
                if not error.again or tried >= self._config.retries or time.monotonic() + pause >= ends:
                    raise
            tried += 1
            await asyncio.sleep(pause)

    async def _attempt(self, facts: Facts, ends: float) -> Verdict:
        """Ask once, as one span."""
        config, address = self._config, self._service.address
        with guardrail(
            config.component or config.service,
            policy_id=config.policy_id,
            policy_version=config.policy_version,
            server_address=address.host,
            server_port=address.port,
        ) as asked:
            try:
                async with asyncio.timeout(max(0.0, ends - time.monotonic())):
                    verdict = await self._service.ask(facts)
            except TimeoutError:
                raise PolicyTimeout(f"no answer within {config.timeout:g} s") from None
            asked.result(
                verdict.value,
                type=verdict.type,
                reason=verdict.code,
                category=verdict.category,
                score=verdict.score,
                policy_id=verdict.policy_id,
                policy_version=verdict.policy_version,
            )
        return verdict

    def _permit(self) -> Permit:
        with self._lock:
            answer = self._circuit.ask(self._clock())
        if isinstance(answer, Permit):
            return answer
        error = PolicyNotAsked("it keeps failing, and is not asked for now")
        error.retry_after = max(0.0, answer)
        self._figures.failed(error)
        raise error

    def _note(self, permit: Permit | None, said: str, *, failed: bool) -> None:
        if permit is None:
            return
        with self._lock:
            if said in ("", "error") and not failed:
                self._circuit.release(permit)
            else:
                self._circuit.note(permit, failed, self._clock())
