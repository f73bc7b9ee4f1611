"""The events that endpoints may choose: by their names, by patterns such as ``job.*``, or all of them by ``*``."""

from collections.abc import Sequence
from difflib import get_close_matches

from spanhook.server.agent_events import AGENT_EVENTS
from spanhook.server.cron_states import CRON_EVENTS
from spanhook.server.job_events import JOB_EVENTS
from spanhook.server.webhook_outbox import DISABLED, PING, chooses

EVENTS = (*JOB_EVENTS, *AGENT_EVENTS, *CRON_EVENTS, DISABLED, PING)
"""All events that the server sends."""
_GROUPS = tuple(dict.fromkeys(f"{one.partition('.')[0]}.*" for one in EVENTS))


def known_event(chosen: str) -> str:
    """What an endpoint has chosen, if there are such events.

    Raises:
        ValueError: There are none.
    """
    if any(chooses([chosen], one) for one in EVENTS):
        return chosen
    close = get_close_matches(chosen, (*EVENTS, *_GROUPS), 1, 0.8)
    instead = f"did you mean {close[0]!r}?" if close else f"expected {_listed(_likely(chosen))}"
    raise ValueError(f"there is no event {chosen!r}; {instead}")


def _likely(chosen: str) -> Sequence[str]:
    """What there is of the same sort; otherwise the sorts that there are."""
    group = f"{chosen.partition('.')[0]}.*"
    same = [one for one in EVENTS if chooses([group], one)]
    return [*same, group] if same else [*_GROUPS, "*"]


def _listed(several: Sequence[str]) -> str:
    return f"{', '.join(several[:-1])} or {several[-1]}"
