"""What the log says of agents that fail, wherever their callers hear of it."""

import asyncio
import sysconfig
import traceback
from pathlib import Path

from spanhook.diagnostics import Repeats, log
from spanhook.errors import Reject
from spanhook.jobs.job import Job
from spanhook.model import described, encodable, stack
from spanhook.telemetry import concealed_for, telemetry

_OTHERS = (str(Path(__file__).parents[1]), *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))
"""Where what is no application's own is."""
_EXPECTED = (Reject, asyncio.CancelledError, KeyboardInterrupt)
_repeats = Repeats()


def tell_of_failure(what: str, job: Job, error: BaseException | None) -> None:
    """Log that an agent has failed: the same failure at the same place at most once a minute.

    Refusals and cancels are no failures. What the exception says is logged only if telemetry may have it.

    Args:
        what: Whether it is a ``job`` or a ``run`` that somebody waits for.
        job: The job.
        error: What the agent has raised; ``None`` for nothing.
    """
    if error is None or isinstance(error, _EXPECTED):
        return
    said = f"agent {job.agent!r} has failed: {described(error, in_full=False)} at {_place(error)}"
    unsaid = _repeats.due(said)
    if unsaid is None:
        return
    more = f"; {unsaid} more like it since it was last logged" if unsaid else ""
    log.error("spanhook: %s (%s %s%s)%s", said, what, job.job_id, more, _in_full(job, error))


def _in_full(job: Job, error: BaseException) -> str:
    if not telemetry.error_messages:
        return ""
    return "\n" + concealed_for(job.tenant_id, encodable(stack(error, in_full=True))).rstrip()


def _place(error: BaseException) -> str:
    """The application's innermost frame; that of whoever has raised it, if there is none."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [one for one in frames if not one[0].startswith(("<", *_OTHERS))]
    file, line = (own or frames or [("?", 0)])[-1]
    return f"{file}, line {line}"
