"""What a process tells the server: which set is in force, what of it is missing, and which hooks its code has."""

import os
from typing import Any

from spanhook.control_plane.applying import GATE, Applied
from spanhook.engine import registry
from spanhook.version import __version__

MOST = 500
"""How many hooks and problems are told at most."""
_LONGEST = 500


def facts_of(applied: Applied, refused: str) -> dict[str, Any]:
    """The report, without what identifies the process.

    Args:
        applied: What is in force.
        refused: Why the newest set is not; empty if it is.
    """
    now = applied.set
    missing = [{"subject": name[:200], "message": why[:_LONGEST]} for name, why in applied.missing.items()]
    if refused:
        missing.insert(0, {"subject": "set", "message": refused[:_LONGEST]})
    return {
        "service": os.environ.get("OTEL_SERVICE_NAME", "")[:200],
        "spanhook_version": __version__,
        "set_version": 0 if now is None else now.version,
        "digest": "" if now is None else now.digest,
        "hooks": _registered(applied)[:MOST],
        "problems": missing[:MOST],
    }


def _registered(applied: Applied) -> list[dict[str, Any]]:
    """The hooks that are active here and are not of the set."""
    theirs = {id(hook) for hooks in applied.hooks for hook in hooks}
    return [
        {
            "name": hook.name[:200],
            "kinds": sorted([hook.kinds] if isinstance(hook.kinds, str) else hook.kinds)[:50],
            "priority": hook.priority,
            "mode": hook.mode or "enforce",
        }
        for hook in registry.hooks
        if id(hook) not in theirs and hook.name != GATE
    ]
