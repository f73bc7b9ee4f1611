"""Hooks for kinds of operation that nothing here creates: they do not run, and a warning is logged once."""

import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import PurePath

from spanhook.diagnostics import log
from spanhook.engine import FOREIGN_KINDS
from spanhook.gating import Bound, Subscription, handler_of, where
from spanhook.instrument.declarations import INSTRUMENTORS
from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.instrumentors import instrumentor_of
from spanhook.model import DELEGATION, made

_STARTED_LATER = ("job", "cron.execute")
"""What spanhook itself makes, once jobs are run and schedules are started."""
_said: set[tuple[str, str, str]] = set()


def telling(active: Collection[Instrumentor]) -> Callable[[Iterable[Bound]], None]:
    """A listener for the active hooks, now and as they change, while these libraries are bound."""

    def tell(bound: Iterable[Bound]) -> None:
        made_here = made.union(*(library.kinds for library in active))
        for one in bound:
            if handler_of(type(one.hook)) is not None and one.kinds & made_here:
                continue  # a ready-made hook is for whatever there is of its kinds
            exempt = {"*", *_STARTED_LATER, *(("run",) if _serves_agents() else ())}
            if isinstance(one.hook, Subscription):
                if one.hook.topic.wide:
                    continue  # it asked for whatever there is
                exempt.add(DELEGATION)  # sub-agents of the application's own code are delegations too
            for kind in sorted(one.kinds - made_here - exempt):
                known = one.name, one.place, kind
                if known not in _said and (why := _why(kind, active)):
                    _said.add(known)
                    place = where(one.hook, one.place)
                    log.warning("spanhook: hook %r is for %s, which %s (%s)", one.name, kind, why, place)

    return tell


def _serves_agents() -> bool:
    """Whether this process is a server with agents, or its worker. It makes their runs later, and says so on its
    command line alone.
    """
    words = [PurePath(one.partition("=")[0]).name for one in sys.orig_argv]
    after = words[words.index("spanhook") + 1 :] if "spanhook" in words else []
    return after[:1] in (["serve"], ["worker"]) and not {"--agent", "--config"}.isdisjoint(after)


def _why(kind: str, active: Collection[Instrumentor]) -> str:
    """Why nothing creates operations of a kind; empty if that is intended: ``only=()`` binds nothing."""
    makers = [library for library in map(instrumentor_of, INSTRUMENTORS) if kind in library.kinds]
    if makers:
        left_out = ", ".join(one.library for one in makers if one.version)
        absent = ", ".join(one.library for one in makers if not one.version)
        if not active and left_out:
            return ""
        whose = " or ".join(
            f"{what} ({names})"
            for what, names in (("left out by `only`", left_out), ("not installed", absent))
            if names
        )
        own = "`run_scope`, agents that are served and " if kind == "run" else ""
        return f"comes from libraries that are {whose}: nothing else makes one but {own}spans of other instrumentations"
    if kind in FOREIGN_KINDS:
        return "nothing makes but spans of other instrumentations"
    return "no library makes: it runs for operations of your own code alone"
