"""What several of these tests make and read: hooks that refuse, tools, events, spans in their places."""

from typing import Any

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_adk_ways import asked, async_tool, own_tool, tool
from spanhook.testing import Recorder

TOOLS = {"function": tool, "async function": async_tool, "own": own_tool}
"""Every sort of tool."""


def refusing(kind: Any = "tool.execute", phase: str = "before") -> Hooks:
    """Hooks that refuse everything of a kind."""
    hooks = Hooks()

    def refuse(op: Operation) -> None:
        raise Reject("not today")

    getattr(hooks, phase)(kind)(refuse)
    return hooks


async def events_of(made: Any, **given: Any) -> list[Any]:
    """The events of a run."""
    return [one async for one in made.run_async(**asked(**given))]


def told(events: list[Any], name: str = "") -> list[Any]:
    """What models were told by tools, or by one of them."""
    found = [one for event in events for one in event.get_function_responses()]
    return [one.response for one in found if name in ("", one.name)]


def nested(seen: Recorder) -> list[tuple[str, str]]:
    """The name of each span, and of the one that it is inside of."""
    names = {span.context.span_id: span.name for span in seen.spans if span.context is not None}
    return [(span.name, names[span.parent.span_id] if span.parent is not None else "") for span in seen.spans]
