"""The ready-made hooks, as they are measured. Each is imported only when it is."""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _tool_policy() -> Any:
    from spanhook.hooks.tool_policy import ToolPolicy

    return ToolPolicy([{"deny": ["*"], "when": f"arguments.query == 'forbidden {n}'"} for n in range(10)])


def _budget() -> Any:
    from spanhook.hooks.budget import Budget

    return Budget(tokens=10**12, usd=1_000_000, unpriced="allow")


def _budget_sqlite() -> Any:
    from spanhook.hooks.budget import Budget

    folder = tempfile.mkdtemp(prefix="spanhook-benchmark-")
    return Budget(tokens=10**12, usd=1_000_000, unpriced="allow", store=f"sqlite:///{folder}/budget.db")


def _rate_limit() -> Any:
    from spanhook.hooks.rate_limit import RateLimit

    return RateLimit("1000000/second; 1000000000/day", "tenant", strategy="fixed_window")


def _circuit_breaker() -> Any:
    from spanhook.hooks.circuit_breaker import CircuitBreaker

    return CircuitBreaker()


def _loop_guard() -> Any:
    from spanhook.hooks.loop_guard import LoopGuard

    return LoopGuard()


def _pii_redaction() -> Any:
    from spanhook.hooks.pii_redaction import PIIRedaction

    return PIIRedaction()


def _pii_window() -> Any:
    from spanhook.hooks.pii_redaction import PIIRedaction

    return PIIRedaction(stream="window")


def _injection_scan() -> Any:
    from spanhook.hooks.injection_scan import InjectionScan

    return InjectionScan()


def _audit_log() -> Any:
    from spanhook.hooks.audit_log import AuditLog

    return AuditLog(tempfile.mkdtemp(prefix="spanhook-benchmark-"))


_HEARD = ["tool:execute", "model:call"]


def _console_log() -> Any:
    from spanhook.hooks.console_log import ConsoleLog

    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process lives
    return ConsoleLog(_HEARD, to="stdout")


def _file_log() -> Any:
    from spanhook.hooks.file_log import FileLog

    return FileLog(tempfile.mkdtemp(prefix="spanhook-benchmark-"), events=_HEARD)


def _webhook_forwarder() -> Any:
    """One whose receiver is away: events are committed, and wait."""
    from spanhook.hooks.webhook_forwarder import WebhookForwarder
    from spanhook.webhooks import new_secret

    os.environ["SPANHOOK_BENCHMARK_SECRET"] = new_secret()
    outbox = f"{tempfile.mkdtemp(prefix='spanhook-benchmark-')}/webhooks.db"
    given: dict[str, Any] = {"allowed_networks": ["127.0.0.1/32"], "outbox": outbox, "events": ["*.post"]}
    return WebhookForwarder("https://127.0.0.1:1999/", "SPANHOOK_BENCHMARK_SECRET", **given)


_SENT = ["arguments", "messages"]
_CEDAR = """permit(principal, action, resource);
forbid(principal, action, resource)
when { context has arguments && context.arguments has query && context.arguments.query == "forbidden" };
"""
_REGO = """package agents
default allow := true
allow := false if input.arguments.query == "forbidden"
"""


def _remote_policy() -> Any:
    from benchmarks.deciding import started
    from spanhook.hooks.remote_policy import RemotePolicy

    return RemotePolicy("opa", started(), _SENT, timeout=60)


def _cedar_policy() -> Any:
    from spanhook.hooks.remote_policy import RemotePolicy

    return RemotePolicy("cedar", send=_SENT, policies=[_written("agents.cedar", _CEDAR)], timeout=60)


def _rego_policy() -> Any:
    from spanhook.hooks.remote_policy import RemotePolicy

    file = _written("agents.rego", _REGO)
    return RemotePolicy("rego", send=_SENT, policies=[file], query="data.agents.allow", timeout=60)


def _written(name: str, text: str) -> str:
    file = Path(tempfile.mkdtemp(prefix="spanhook-benchmark-")) / name
    file.write_text(text)
    return str(file)


_MAKERS: dict[str, Callable[[], Any]] = {
    "tool policy": _tool_policy,
    "budget": _budget,
    "budget sqlite": _budget_sqlite,
    "rate limit": _rate_limit,
    "circuit breaker": _circuit_breaker,
    "loop guard": _loop_guard,
    "pii redaction": _pii_redaction,
    "pii window": _pii_window,
    "injection scan": _injection_scan,
    "audit log": _audit_log,
    "console log": _console_log,
    "file log": _file_log,
    "webhook forwarder": _webhook_forwarder,
    "remote policy": _remote_policy,
    "cedar policy": _cedar_policy,
    "rego policy": _rego_policy,
}


def made(name: str) -> Any:
    """A hook by the name of its variant."""
    return _MAKERS[name]()
