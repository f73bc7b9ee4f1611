"""Hand-offs that leave a graph at the request of its nodes, so that they were not gated with a tool before."""

from collections.abc import Iterable, Iterator
from typing import Any

from langgraph.errors import ParentCommand

from spanhook.identity import ByIdentity
from spanhook.instrument.langchain_core.control import control
from spanhook.instrument.langchain_core.handoffs import DELEGATE, Handoff, Target, not_asked, targets
from spanhook.model import Args, Following, Kwargs

_told = ByIdentity[ParentCommand, None]()
"""Hand-offs that leave more than one graph."""


def graph_handoffs(
    _instance: Any, _args: Args, _kwargs: Kwargs, _result: Any, error: BaseException | None
) -> Iterable[Following]:
    """The hand-off that a graph has ended with."""
    if not isinstance(error, ParentCommand) or error in _told or control(error) != "success":
        return ()
    found = not_asked(targets(error.args[0]))
    return _leave(error, found) if found else ()


def _leave(error: ParentCommand, found: list[Target]) -> Iterator[Following]:
    yield Following(DELEGATE, Handoff(found))
    _told[error] = None
