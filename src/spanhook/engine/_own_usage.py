"""Usage of model calls in the application's own code, as that code reports it."""

from threading import Lock
from typing import Any

from spanhook import semconv
from spanhook.engine._own_adapters import MODELS
from spanhook.errors import OperationError
from spanhook.model import Attributes, EndDetails, Record, Usage, make_encodable
from spanhook.telemetry import prices

NAMES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def add_usage(
    op: Record, counts: tuple[Any, ...], cost_usd: float | None, *, model: str = "", finish_reason: str = ""
) -> None:
    """Add to the usage of ``op``, and price it.

    Args:
        op: A model call.
        counts: Tokens, in the order of ``NAMES``; invalid ones are listed in ``Usage.uncounted``.
        cost_usd: The cost that the provider reports.
        model: The answering model.
        finish_reason: Why it stopped.

    Raises:
        OperationError: It is not a model call.
    """
    if op.kind not in MODELS:
        raise OperationError(
            f"record_usage() was called on {op!r}; report tokens on {' or '.join(MODELS)}, and they are added up"
        )
    used = Usage()
    used.source = "framework"
    for name, value in zip(NAMES, counts, strict=True):
        setattr(used, name, used.count(value, name))
    if cost_usd is not None:
        used.charge(cost_usd)
    with op.__dict__.setdefault("adding", Lock()):  # setdefault is atomic: several threads may work on one operation
        if model or finish_reason:
            told: Attributes = {semconv.GEN_AI_RESPONSE_MODEL: model} if model else {}
            if finish_reason and op.kind == "llm.call":
                told[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (str(finish_reason),)
            if not make_encodable(told):
                op.part(EndDetails).needs_encoding = True
            op.end_attributes = {**(op.end_attributes or {}), **told}
        answered_by = (op.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_MODEL) or op.model
        prices.price(used, op.provider, answered_by)
        if op.own_usage is not None:
            used.add(op.own_usage)
        op.own_usage = used
