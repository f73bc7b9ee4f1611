"""How a run that Aegra serves reads: whose it is, of which assistant and graph, on which thread."""

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException
from starlette.exceptions import HTTPException as AnyHTTPException

from spanhook.errors import HookError, Reject
from spanhook.instrument.identities import first_id
from spanhook.instrument.layers import AEGRA
from spanhook.instrument.starlette.requests import refusal
from spanhook.model import TARGET_KEYS, Adapter, Args, Attributes, Kwargs, Request, RunFacts

_TENANT = ("tenant_id", "org_id", "organization_id")


class ServedRun:
    """A run that was asked for.

    Args:
        job: Aegra's own description of it.
        assistant_id: Its assistant, which the job does not name.
    """

    def __init__(self, job: Any, assistant_id: str) -> None:
        self.job = job
        identity = job.identity
        self.facts = RunFacts(identity.thread_id, assistant_id, identity.graph_id, job.user, job.execution.config or {})


def _start(run: ServedRun, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {TARGET_KEYS["run"]: run.facts.graph_id}


def _identity(run: ServedRun, _args: Args, _kwargs: Kwargs) -> Mapping[str, str]:
    user = run.job.user
    known = {
        "run_id": run.job.identity.run_id,
        "session_id": run.facts.thread_id,
        "user_id": user.identity,
        "tenant_id": first_id((user,), *_TENANT),
    }
    return {name: value for name, value in known.items() if value}


def _request(run: ServedRun, _args: Args, _kwargs: Kwargs) -> Request:
    execution = run.job.execution
    return Request(inputs=execution.input_data if execution.command is None else execution.command)


def _config(run: ServedRun, _args: Args, _kwargs: Kwargs) -> Mapping[str, Any]:
    return run.facts.config


def _answer(_run: ServedRun, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise HookError("a hook cannot answer in place of a run that a server has accepted; refuse it instead")


def _native_error(_run: ServedRun, _args: Args, _kwargs: Kwargs, reject: Reject) -> AnyHTTPException:
    return refusal(reject, HTTPException)


RUN = Adapter(
    kind="run",
    layer=AEGRA,
    start=_start,
    identity=_identity,
    request=_request,
    config=_config,
    answer=_answer,
    native_error=_native_error,
    block=True,
)
