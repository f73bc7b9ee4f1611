"""Runs one definition on a sample context, once, and says what it did.

``python -m spanhook.dry_run`` does it in a process of its own with limits: it reads a ``Request`` as JSON from standard
input and writes an ``Outcome``. A handler's own side effects are real.
"""

import json
import math
import os
import resource
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from spanhook.config import instrument, uninstrument
from spanhook.definitions import HookDefinition, HookRegistry
from spanhook.definitions import HookResult as Result
from spanhook.engine import OwnOperation, operation
from spanhook.errors import ConfigurationError, Reject
from spanhook.gating import execution_log
from spanhook.model import Operation, context, exact_text
from spanhook.semconv import PHASES
from spanhook.settings import Settings

REQUEST = ("messages", "system", "arguments", "inputs")
SAMPLE = (
    *REQUEST,
    "name",
    "names",
    "model",
    "provider",
    "tenant_id",
    "user_id",
    "session_id",
    "metadata",
    "result",
    "error",
)
"""The keys of a sample context."""
_MEMORY = 2 * 1024**3
_FILE_SIZE = 16 * 1024**2
_LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a dry run has come to.

    Attributes:
        results: What the hook did at each phase that it ran in.
        context_after: The sample context as the hook has left it; ``abort`` and ``abort_reason`` say whether it
            refused, ``status`` how the operation ended.
    """

    results: list[Result] = field(default_factory=list[Result])
    context_after: dict[str, Any] = field(default_factory=dict[str, Any])


class SampleError(Exception):
    """What a call raises whose sample context has an ``error``."""


def dry_run(definition: HookDefinition, sample: Mapping[str, Any], allowed: list[str] | None = None) -> Outcome:
    """Run a definition on a sample context. Everything else is uninstrumented.

    Args:
        definition: The definition; it runs whether enabled or not, and is enforced.
        sample: Any of ``SAMPLE``: the request, who asks, and what the call returns, or raises if it has ``error``.
        allowed: As in ``HookRegistry``.

    Raises:
        ConfigurationError: The definition or the sample cannot be used.
    """
    unknown = sample.keys() - SAMPLE
    if unknown:
        raise ConfigurationError(f"the sample has {min(unknown)!r}; expected some of {', '.join(SAMPLE)}")
    registry = HookRegistry(allowed=allowed, max_per_event=1)
    kind, phase = _split(definition.event_type)
    seen: dict[str, Any] = {}

    def begin(op: Operation) -> None:
        op.state.update(cast("Mapping[str, Any]", sample.get("metadata") or {}))
        seen["state"] = op.state

    registry.hooks.before(kind, priority=0, name="dry run")(begin)
    registry.register(definition.changed(enabled=True, mode="enforce", log_executions=True))
    execution_log.clear()
    instrument(registry, settings=Settings(execution_log_size=10))
    try:
        after = _call(kind, definition, sample)
    finally:
        uninstrument()
    mine = [
        result
        for entry in reversed(list(execution_log.entries()))
        for result in entry.hook_results
        if result.hook_name == definition.name and (not phase or entry.event_type.endswith(f".{phase}"))
    ]
    return Outcome(mine, {**after, "metadata": dict(seen.get("state", {}))})


def _split(event: str) -> tuple[Any, str]:
    kind, _, phase = event.rpartition(".")
    return (kind, phase) if phase in PHASES else (event, "")


def _call(kind: Any, definition: HookDefinition, sample: Mapping[str, Any]) -> dict[str, Any]:
    request = {name: sample[name] for name in REQUEST if sample.get(name) is not None}
    who = {name: exact_text(sample.get(name)) for name in ("tenant_id", "user_id", "session_id")}
    who["tenant_id"] = who["tenant_id"] or definition.tenant_id
    name, model = exact_text(sample.get("name")), exact_text(sample.get("model"))
    block = operation(kind, name, request=request, provider=exact_text(sample.get("provider")), model=model)
    block._own.names |= frozenset(map(exact_text, sample.get("names") or ()))
    op: OwnOperation | None = None
    after: dict[str, Any] = {"abort": False, "abort_reason": ""}
    try:
        with (
            context(tenant_id=who["tenant_id"], user_id=who["user_id"], session_id=who["session_id"]),
            block as op,
        ):
            after |= {"name": name, **_request(op, request), "model": op.model}
            after["result"] = op.call(_answer, sample)
    except Reject as refusal:
        after |= {"abort": True, "abort_reason": refusal.reason, "status_code": refusal.status_code}
    except SampleError:
        after["error"] = str(sample.get("error"))
    return {**request, "name": name, "model": model, **who, **after}


def _answer(sample: Mapping[str, Any]) -> Any:
    if sample.get("error"):
        raise SampleError(str(sample["error"]))
    return sample.get("result")


def _request(op: OwnOperation, request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: getattr(op.request, name) for name in request}


def main() -> int:
    """Read a request from standard input, and write the outcome, or ``error``. What handlers print goes nowhere."""
    out = os.dup(1)
    os.dup2(2, 1)
    given = json.load(sys.stdin)
    _limit(float(given["seconds"]))
    try:
        definition = HookDefinition.model_validate(given["definition"])
        outcome = asdict(dry_run(definition, given["sample"], given["allowed"]))
    except ConfigurationError as error:
        outcome = {"error": str(error)}
    with os.fdopen(out, "w", encoding="utf-8") as written:
        json.dump(outcome, written, default=_shown, allow_nan=False)
    return 0


def _limit(seconds: float) -> None:
    for what, most in (
        (resource.RLIMIT_CPU, math.ceil(seconds)),
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_FSIZE, _FILE_SIZE),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (limit, limit))


def _shown(value: Any) -> Any:
    """What is no JSON, as text."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return repr(value)[:_LONGEST_TEXT]


if __name__ == "__main__":
    sys.exit(main())
