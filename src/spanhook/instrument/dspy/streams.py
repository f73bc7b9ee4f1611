"""Parts of answers that ``dspy.streamify`` passes on while a model still writes.

This imports nothing of DSPy: it is read while that is being imported.
"""

from collections.abc import Callable
from typing import Any

from spanhook.instrument.layers import DSPY_MODEL
from spanhook.model import current_record


def wanted(_hooks: object) -> bool:
    """Always: a call under way keeps its hooks, whatever hooks are active while its parts arrive."""
    return True


def hold(_tell: Callable[..., Any], _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    """Whether hooks hold streams back: then the answer goes out whole, once they have decided."""
    op = current_record()
    while op is not None and op.adapter.layer != DSPY_MODEL:
        op = op.parent
    if op is None or op.plan is None:
        return False
    return any(bound.concerns(op) for bound in (*op.plan.buffers, *op.plan.windows))
