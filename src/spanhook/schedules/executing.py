"""One tick as an operation: ``cron.execute``, whatever is run for it. Each is a trace of its own."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry import context as otel_context

from spanhook.engine import AdmittedRuns, registry
from spanhook.errors import HookError, SpanhookError
from spanhook.model import Adapter, Admission, Args, Attributes, CallContext, Editing, Kwargs, Reading, Request, context
from spanhook.schedules.deciding import Execution
from spanhook.schedules.entry import CronEntry

LAYER = "spanhook.schedules"


class LostError(SpanhookError):
    """An execution was not seen to end: the process that ran it has died, or has lost its store for too long."""


@dataclass(frozen=True, slots=True)
class Due:
    """What an operation is read from."""

    entry: CronEntry
    execution: Execution


@dataclass(slots=True)
class Outcome:
    """How an execution went.

    Attributes:
        result: What was returned.
        error: What was raised, or what hooks raised instead.
        left: Whether it goes on elsewhere.
    """

    result: Any = None
    error: BaseException | None = None
    left: bool = False


Left = Callable[[BaseException], bool]
"""Whether what was raised only says that an execution goes on elsewhere; then its hooks are told of its end there."""


def _never(_error: BaseException) -> bool:
    return False


def _start(due: Due, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {CRON.target_key: due.entry.id}


def _identity(due: Due, _args: Args, _kwargs: Kwargs) -> Mapping[str, str]:
    entry = due.entry
    known = {"run_id": due.execution.execution_id, "session_id": entry.session_id, "tenant_id": entry.tenant_id}
    return {name: value for name, value in known.items() if value}


def _request(due: Due, _args: Args, _kwargs: Kwargs) -> Request:
    arguments = {
        "cron_id": due.entry.id,
        "execution_id": due.execution.execution_id,
        "agent_name": due.entry.agent,
        "scheduled_at": due.execution.tick.isoformat(),
    }
    return Request(arguments=arguments, inputs=due.entry.input)


def _answer(_due: Due, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise HookError("a hook cannot answer in place of a schedule's run; refuse it instead")


CRON = Adapter(
    kind="cron.execute",
    layer=LAYER,
    start=_start,
    context=CallContext(identity=_identity, authenticates=True),
    reading=Reading(request=_request),
    editing=Editing(answer=_answer),
    traits=frozenset(("block",)),
)
_runs = AdmittedRuns()


async def execute(
    entry: CronEntry, execution: Execution, work: Callable[[], Awaitable[Any]], left: Left = _never
) -> Outcome:
    """Run something for a tick, as its operation. Nothing is raised: a refusal is the error of the outcome."""
    return await _performed(entry, execution, None, work, left)


async def follow(
    entry: CronEntry, execution: Execution, work: Callable[[], Awaitable[Any]], left: Left = _never
) -> Outcome:
    """Wait for the end of what another process has begun, and whose gates were asked then. Nothing is raised."""
    return await _performed(entry, execution, Admission(execution.execution_id, "", registry.digest), work, left)


async def report_lost(entry: CronEntry, execution: Execution) -> None:
    """Report an execution that has not ended as one that has failed. Its gates were asked when it began."""

    async def lost() -> None:
        raise LostError(f"execution {execution.execution_id} was not seen to end: its process has died")

    await follow(entry, execution, lost)


async def _performed(
    entry: CronEntry,
    execution: Execution,
    admission: Admission | None,
    work: Callable[[], Awaitable[Any]],
    left: Left,
) -> Outcome:
    outcome = Outcome()
    with _whose(entry):
        running = _runs.executing(CRON, Due(entry, execution), admission)
        try:
            await running.enter()
        except BaseException as error:
            outcome.error = error
            return outcome
        try:
            outcome.result = await work()
        except BaseException as error:
            outcome.error = error
            if left(error):
                outcome.left = True
                await running.hand_back()
                return outcome
        outcome.error = running.leave(outcome.result, outcome.error) or outcome.error
        await running.end()
    return outcome


@contextmanager
def _whose(entry: CronEntry) -> Generator[None]:
    """The identity of a schedule, outside of any trace."""
    token = otel_context.attach(otel_context.Context())
    try:
        with context(tenant_id=entry.tenant_id or None, session_id=entry.session_id or None):
            yield
    finally:
        otel_context.detach(token)
