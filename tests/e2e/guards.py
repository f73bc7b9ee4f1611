"""Ready-made hooks, of which each finds something in ``guarded.py``, and a subscription that is too slow for it."""

import os
import threading

from spanhook import Event, Hooks, Operation
from spanhook.hooks.audit_log import AuditLog
from spanhook.hooks.circuit_breaker import CircuitBreaker
from spanhook.hooks.injection_scan import InjectionScan
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.hooks.remote_policy import RemotePolicy

FAILURES = 2

never = threading.Event()
hooks = Hooks()


class Breaker(CircuitBreaker):
    names = ("pay",)


class Unwritable(AuditLog):
    names = ("pay",)


class Transfers(RemotePolicy):
    name = "transfers"
    names = ("transfer",)


class Slow(RemotePolicy):
    name = "slow"
    names = ("look_up",)


hooks.add(
    Transfers("http", os.environ["POLICIES"], ["arguments"], timeout=30, retries=0, failures=FAILURES, open_for=3600)
)
hooks.add(Slow("http", os.environ["POLICIES"], timeout=30))
hooks.add(Breaker(failures=FAILURES, open_for=3600))
hooks.add(PIIRedaction())
hooks.add(InjectionScan())
hooks.add(Unwritable("/dev/null/audit"))


@hooks.after("llm.call", stream="buffer")
def seen_whole(op: Operation) -> None:
    pass


@hooks.on("tool.execute.post", names={"count"})
def too_slow(_event: Event) -> None:
    never.wait(30)
