"""What a policy service has said, in common terms, and what can go wrong until it has. Knows no service."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from spanhook.errors import SpanhookError

Decided = Literal["allow", "deny", "transform", "escalate"]

LONGEST_REASON = 300
CHANGEABLE = ("arguments", "inputs", "messages", "system", "result")
"""What a service may change: parts of the request; and ``result``, which answers a call or replaces its result."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision of a policy service.

    Attributes:
        decision: What is to be done.
        value: The service's own result, as it names it.
        type: The type of that result: ``"categorical"`` or ``"boolean"``.
        reason: Why, in words for the caller and the model; empty if the service has none that they may see.
        code: Why, as an identifier from a small set; never content.
        category: The risk.
        score: The risk score, on the service's own scale.
        policy_id: The policy that has decided.
        policy_version: Its version.
        ends_run: A refusal also ends the run.
        changes: With ``transform``, the new values by the names in ``CHANGEABLE``.
    """

    decision: Decided
    value: str
    type: str = "categorical"
    reason: str = ""
    code: str = ""
    category: str = ""
    score: float | None = None
    policy_id: str = ""
    policy_version: str = ""
    ends_run: bool = False
    changes: Mapping[str, Any] | None = None


class PolicyError(SpanhookError):
    """A policy service has not decided.

    Attributes:
        again: Whether the same may be asked again.
        status_code: The HTTP status that a server should answer with.
        retry_after: After how many seconds the service may be asked again, if that is known.
    """

    again = False
    status_code = 503
    retry_after: float | None = None


class PolicyUnreachable(PolicyError):
    """There is no connection to the service, or it was lost before the answer was complete."""

    again = True


class PolicyTimeout(PolicyError):
    """The service has not answered in time."""

    status_code = 504


class PolicyOverloaded(PolicyError):
    """The service has answered with status 429 or one from 500 on."""

    again = True


class PolicyRefusesRequest(PolicyError):
    """The service has answered with another status than 200, such as 401."""


class PolicyNotAsked(PolicyError):
    """The service has failed so often that it is not asked for now."""


class Unsendable(PolicyError):
    """What is to be sent cannot be written as the service reads it, which denies the call whatever the fail mode."""

    status_code = 422


class UnreadableAnswer(PolicyError):
    """The answer is not understood, which denies the call whatever the hook's fail mode."""

    status_code = 502


ERRORS = (
    PolicyError,
    PolicyUnreachable,
    PolicyTimeout,
    PolicyOverloaded,
    PolicyRefusesRequest,
    PolicyNotAsked,
    Unsendable,
    UnreadableAnswer,
)
for _error in ERRORS:
    _error.__module__ = "spanhook.hooks.remote_policy"  # where users import it from, and what error.type says
