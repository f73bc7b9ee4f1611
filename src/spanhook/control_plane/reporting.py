"""What a process tells the server: which set is in force, what of it is missing, its own hooks, what all hooks did."""

import os
import platform
import time
from typing import Any
from uuid import uuid4

from spanhook.control_plane.applying import Applied
from spanhook.control_plane.client import Client, Unreachable
from spanhook.control_plane.counting import Counting
from spanhook.engine import registry
from spanhook.version import __version__

_OURS = "spanhook."
"""How the names of hooks begin that refuse calls while hooks are loaded, or while there is no set yet."""
MOST = 500
"""How many hooks and problems are told at most."""
_LONGEST = 500
REPORT_S = 60.0
"""How often what is in force is reported although it is the same."""
COUNTS_S = 10.0
"""How often what hooks did is reported, if they did anything."""
SOON_S = 2.0
"""The shortest time between two reports of what is in force."""
RETRY_S = 5.0
"""After how long a report that was not taken is sent again."""


class Reporter:
    """Sends reports when they are due.

    Args:
        client: What sends them.
    """

    def __init__(self, client: Client) -> None:
        self._client, self._counting = client, Counting()
        self.renew()

    def renew(self) -> None:
        """Be another process, in a forked child."""
        self._process = uuid4().hex
        self._counting.renew()
        self._told = ""
        self._due = self._due_if_changed = self._due_counts = 0.0

    def tell(self, applied: Applied, refused: str, *, ending: bool) -> None:
        """Tell the server what is in force and what hooks did, if that has changed or was told long ago.

        Args:
            applied: What is in force.
            refused: Why the newest set is not; empty if it is.
            ending: Whether the process is about to end: only what hooks did is told, without waiting for long.

        Raises:
            Unreachable: The server has not taken it.
        """
        state = f"{applied.set.digest if applied.set else ''} {sorted(applied.missing)} {refused}"
        now = time.monotonic()
        is_due = now >= (self._due if state == self._told else self._due_if_changed)
        did = self._counting.new(applied, ending=ending) if ending or now >= self._due_counts else {}
        if not did and (ending or not is_due):
            return
        process = {"process_id": self._process, "host": platform.node()[:200], "pid": os.getpid()}
        try:
            self._client.report({**process, **facts_of(applied, refused), **did}, brief=ending)
        except Unreachable as error:
            self._due = self._due_if_changed = self._due_counts = time.monotonic() + max(RETRY_S, error.retry_after)
            raise
        now, self._told = time.monotonic(), state
        self._counting.was_told(did)
        self._due, self._due_if_changed, self._due_counts = now + REPORT_S, now + SOON_S, now + COUNTS_S


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
    for hook in registry.hooks:
        missing += ({"subject": hook.name[:200], "message": one[:_LONGEST]} for one in hook._remarks())
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
    priorities = registry.priorities
    theirs = {id(hook) for hooks in applied.hooks for hook in hooks}
    return [
        {
            "name": hook.name[:200],
            "kinds": sorted([hook.kinds] if isinstance(hook.kinds, str) else hook.kinds)[:50],
            "priority": priorities.get(id(hook), 100),
            "mode": hook.mode or "enforce",
        }
        for hook in registry.hooks
        if id(hook) not in theirs and not hook.name.startswith(_OURS)
    ]
