"""How a run reads that a server accepts, answers for, and executes later, whichever server it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spanhook.errors import HookError, Reject
from spanhook.instrument.identities import first_id
from spanhook.model import (
    TARGET_KEYS,
    Adapter,
    Args,
    Attributes,
    CallContext,
    Editing,
    Kwargs,
    Reading,
    Request,
    RunFacts,
)

_TENANT = ("tenant_id", "org_id", "organization_id")


@dataclass(frozen=True, slots=True)
class ServedRun:
    """A run that was asked for.

    Attributes:
        run_id: Its id, which no client chooses.
        user_id: Who it is for; empty if nobody is known.
        facts: What else the server knows about it.
        inputs: What it is given.
    """

    run_id: str
    user_id: str
    facts: RunFacts
    inputs: Any = None


def _start(run: ServedRun, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {TARGET_KEYS["run"]: run.facts.graph_id}


def _identity(run: ServedRun, _args: Args, _kwargs: Kwargs) -> Mapping[str, str]:
    known = {
        "run_id": run.run_id,
        "session_id": run.facts.thread_id,
        "user_id": run.user_id,
        "tenant_id": first_id((run.facts.user,), *_TENANT),
    }
    return {name: value for name, value in known.items() if value}


def _request(run: ServedRun, _args: Args, _kwargs: Kwargs) -> Request:
    return Request(inputs=run.inputs)


def _config(run: ServedRun, _args: Args, _kwargs: Kwargs) -> Mapping[str, Any]:
    return run.facts.config


def _answer(_run: ServedRun, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise HookError("a hook cannot answer in place of a run that a server has accepted; refuse it instead")


def served_by(layer: str, response: Callable[[Reject], BaseException]) -> Adapter:
    """The adapter of a server's runs, which are read from a ``ServedRun``.

    Args:
        layer: The server.
        response: The exception from which the server makes the response to a rejection.
    """

    def native_error(_run: ServedRun, _args: Args, _kwargs: Kwargs, reject: Reject) -> BaseException:
        return response(reject)

    return Adapter(
        kind="run",
        layer=layer,
        start=_start,
        context=CallContext(identity=_identity, config=_config, authenticates=True),
        reading=Reading(request=_request),
        editing=Editing(answer=_answer, native_error=native_error),
        traits=frozenset(("block",)),
    )
