"""One run of an agent as an operation: a job, or a run that somebody waits for."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.propagate import extract

from spanhook.engine import AdmittedRuns
from spanhook.errors import HookError
from spanhook.jobs.job import Job
from spanhook.model import (
    TARGET_KEYS,
    Adapter,
    Admission,
    Args,
    Attributes,
    CallContext,
    Editing,
    Kwargs,
    Operation,
    Reading,
    Request,
    RunFacts,
    context,
    current_operation,
)

LAYER = "spanhook.jobs"


@dataclass(frozen=True, slots=True)
class Asked:
    """A run as it is asked for: what its operation is read from.

    Attributes:
        job: The job; one that is kept nowhere, if somebody waits for the run.
        facts: The same for hooks of runs.
    """

    job: Job
    facts: RunFacts


@dataclass(slots=True)
class Outcome:
    """How a run went.

    Attributes:
        result: What it returned.
        error: What it raised, or what hooks raised instead.
        usage: Tokens and cost, as ``Usage.as_metadata`` has them.
        tools: Names of the tools used, each once.
    """

    result: Any = None
    error: BaseException | None = None
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tools: tuple[str, ...] = ()


def _start(asked: Asked, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {TARGET_KEYS["run"]: asked.job.agent}


def _start_job(asked: Asked, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {JOB.target_key: asked.job.agent}


def _identity(asked: Asked, _args: Args, _kwargs: Kwargs) -> Mapping[str, str]:
    job = asked.job
    known = {
        "run_id": job.job_id,
        "session_id": job.session_id,
        "user_id": job.user_id,
        "tenant_id": job.tenant_id,
    }
    return {name: value for name, value in known.items() if value}


def _request(asked: Asked, _args: Args, _kwargs: Kwargs) -> Request:
    return Request(inputs=asked.job.input)


def _job_request(asked: Asked, _args: Args, _kwargs: Kwargs) -> Request:
    return Request(arguments={"job_id": asked.job.job_id, "agent_name": asked.job.agent}, inputs=asked.job.input)


def _answer(_asked: Asked, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise HookError("a hook cannot answer in place of a run that is served; refuse it instead")


RUN = Adapter(
    kind="run",
    layer=LAYER,
    start=_start,
    context=CallContext(identity=_identity, authenticates=True),
    reading=Reading(request=_request),
    editing=Editing(answer=_answer),
    traits=frozenset(("block",)),
)
JOB = Adapter(
    kind="job",
    layer=LAYER,
    start=_start_job,
    context=CallContext(identity=_identity, authenticates=True),
    reading=Reading(request=_job_request),
    editing=Editing(answer=_answer),
    traits=frozenset(("block",)),
)
_runs = AdmittedRuns()


def asked_for(job: Job) -> Asked:
    """A job as its operation is read from."""
    user = job.user_id or None
    return Asked(job, RunFacts(job.session_id, job.agent, job.agent, user, {}))


async def decide(job: Job) -> str:
    """Ask the gates about a job that does not exist yet.

    Returns:
        What they said, as text; empty if there is nothing to say.

    Raises:
        Reject: They refuse it.
    """
    with _whose(job):
        admission = await _runs.ask(JOB, asked_for(job), {})
    return "" if admission is None else admission.text()


async def perform(
    adapter: Adapter,
    job: Job,
    work: Callable[[], Awaitable[Any]],
    goes_on: Callable[[Outcome], Awaitable[bool]] | None = None,
) -> Outcome:
    """Run something as the operation of a job, in the trace of its request.

    Nothing is raised but by gates that refuse it and had not been asked before: ``Reject``.

    Args:
        adapter: How the operation is read.
        job: The job.
        work: Does it.
        goes_on: Asked about a failure: whether another process goes on with the job. If so, hooks are not told of an
            end, as there is none yet.
    """
    outcome = Outcome()
    with _whose(job):
        execution = _runs.executing(adapter, asked_for(job), Admission.of(job.admission))
        await execution.enter()
        op = current_operation()
        try:
            outcome.result = await work()
        except BaseException as error:
            outcome.error = error
            _note(outcome, op)
        if outcome.error is not None and goes_on is not None and await goes_on(outcome):
            await execution.hand_back()
            return outcome
        outcome.error = execution.leave(outcome.result, outcome.error) or outcome.error
        await execution.end()
    _note(outcome, op)
    return outcome


def _note(outcome: Outcome, op: Operation | None) -> None:
    if op is not None:
        outcome.usage, outcome.tools = op.usage.as_metadata(), tuple(op.usage.tools)


@contextmanager
def _whose(job: Job) -> Generator[None]:
    """The identity of a job, and the trace that it belongs to."""
    token = otel_context.attach(extract(job.trace)) if job.trace else None
    try:
        with context(tenant_id=job.tenant_id or None, user_id=job.user_id or None, session_id=job.session_id or None):
            yield
    finally:
        if token is not None:
            otel_context.detach(token)
