"""What models have reported, kept before callbacks get the answer, which they may edit.

It must not import the library, whose own import may be in progress.
"""

from typing import Any

from spanhook.diagnostics import internal
from spanhook.model import Args, Record, copied, current, current_record

_PLACE = 3
"""The place of the answer among the arguments of an event."""
Reports = dict[int, tuple[Any, Any]]
"""A message, or an output, and what it has reported, by its ``id``."""
_NONE: Reports = {}


def keep_report(args: Args) -> None:
    """Keep what an answer reports, if that is what callbacks are about to be told of.

    Args:
        args: The arguments of the function that tells them.
    """
    if args[1:2] != ("on_llm_end",):
        return
    op, answer = current.get(), args[_PLACE] if len(args) > _PLACE else None
    if type(op) is not Record or op.kind != "llm.call" or op.stream.streamed or op.ended:
        return
    try:
        _keep(op.__dict__.setdefault("reports", {}), answer)
    except Exception as error:
        internal.report("extract.reported", error)


def _keep(kept: Reports, answer: Any) -> None:
    output = getattr(answer, "llm_output", None)
    kept[id(output)] = output, copied(output)
    for generations in getattr(answer, "generations", ()):
        for one in generations:
            message = getattr(one, "message", None)
            kept[id(message)] = message, copied(getattr(message, "usage_metadata", None))


def reports() -> Reports:
    """What was kept of the answer to the call that is current."""
    op = current_record()
    return _NONE if op is None else op.__dict__.get("reports", _NONE)


def reported_by(kept: Reports, owner: Any, now: Any) -> Any:
    """What a message, or an output, has reported; if that was nothing, a callback may know better.

    Args:
        kept: What was kept of the answer.
        owner: The message, or the output.
        now: What it says now.
    """
    found = kept.get(id(owner))
    return now if found is None or not found[1] else found[1]
