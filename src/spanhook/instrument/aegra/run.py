"""How a run that Aegra serves reads: whose it is, of which assistant and graph, on which thread."""

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException

from spanhook.instrument.layers import AEGRA
from spanhook.instrument.served import ServedRun, served_by
from spanhook.instrument.starlette.requests import refusal
from spanhook.model import RunFacts

RUN = served_by(AEGRA, lambda reject: refusal(reject, HTTPException))


def run_of(job: Any, assistant_id: str, config: Mapping[str, Any]) -> ServedRun:
    """The run that a job is.

    Args:
        job: Aegra's own description of it.
        assistant_id: Its assistant, which the job does not name.
        config: The configuration with which Aegra runs its graph.
    """
    identity, execution = job.identity, job.execution
    facts = RunFacts(identity.thread_id, assistant_id, identity.graph_id, job.user, config)
    given = execution.input_data if execution.command is None else execution.command
    return ServedRun(identity.run_id, job.user.identity, facts, given)
