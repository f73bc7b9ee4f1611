"""Results of tools that a request sends to a model, for the tools that the application runs without a gate."""

from typing import Any

from spanhook.instrument.wire.format import Format
from spanhook.instrument.wire.reading import Fields
from spanhook.model import current_record, exact_text, ungated_tools

_FRAMEWORKS = frozenset(("agent.invoke", "agent.delegate", "run", "workflow.step"))
_OWN_CODE = "own code"


def note_results(format: Format, body: Fields) -> None:
    """Note the results at the end of a request. Frameworks gate their own tools, so their requests are left out.

    Args:
        format: What the request means.
        body: The request.
    """
    turns: Any = body.get(format.turns)
    if type(turns) is not list or not turns or not format.is_result(turns[-1]) or _in_framework():
        return
    start = len(turns) - 1
    while start and format.is_result(turns[start - 1]):
        start -= 1
    count = len(turns) - start
    tail = turns[max(0, start - format.calls_before(count)) :]
    parts = [part for message in format.request({**body, format.turns: tail}).messages for part in message["parts"]]
    calls = [part for part in parts if part.get("type") == "tool_call"]
    names = {part.get("id"): part.get("name") for part in calls if part.get("id")}
    without_id = [part.get("name") for part in calls if not part.get("id")]
    results: list[tuple[str, str]] = []
    for part in parts:
        if part.get("type") == "tool_call_response":
            name = names.get(part.get("id")) or (without_id.pop(0) if without_id else "")
            results.append((exact_text(part.get("id")), exact_text(name)))
    ungated_tools.sent(results, len(turns))


def _in_framework() -> bool:
    """Whether a framework's agent makes the request."""
    around = current_record()
    while around is not None:
        if around.kind in _FRAMEWORKS and around.adapter.layer != _OWN_CODE:
            return True
        around = around.parent
    return False
