"""Applies a hook's filters to an operation."""

from spanhook.gating._decisions import Verdicts
from spanhook.gating._pieces import Pieces
from spanhook.gating.binding import Bound
from spanhook.model import current


def wanted(bound: Bound, pieces: Pieces, verdicts: Verdicts) -> bool:
    """Whether the hook's filters let the operation through. ``when`` is the hook's own code and may fail."""
    held = current.get()
    current.set(pieces)
    try:
        return bound.matches(pieces.op)
    except Exception as error:
        verdicts.failed(bound, error, 0)
        return False
    finally:
        current.set(held)
