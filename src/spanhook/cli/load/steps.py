"""The steps of a scripted run: what each does, and the operations that it must produce.

Only data: ``performing`` runs the steps. What a step must produce is written by hand, here and in ``tricks``, not taken
from any counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from spanhook.cli.load.catalogue import (
    BUDGETED,
    HELD_BACK,
    MASKED,
    MASKED_TOO_LATE,
    MODEL_DECISIONS,
    MODELS,
    REFUSED_BY_BUDGET,
    WITHIN_BUDGET,
)
from spanhook.cli.load.facts import REJECT, Asked, Decided, Fact, Tokens
from spanhook.cli.load.tricks import TRICKS, Ending
from spanhook.semconv import Status

CANCELLED = "asyncio.exceptions.CancelledError"
RATE_LIMITED = "spanhook.cli.load.models.RateLimitError"


class Step(Protocol):
    """One thing a run does."""

    @property
    def ending(self) -> Ending | None:
        """How it ends the run; ``None`` if the run continues."""
        ...

    def facts(self, agent: str, tenant: str) -> tuple[Fact, ...]:
        """The operations that it produces."""
        ...


How = Literal["answer", "stream", "stop", "fail", "break", "hang", "refuse"]
"""A complete answer; a stream read to its end; a stream closed after its first chunk; an error instead of an answer; an
error in the middle of a stream; a cancelled call; none, as a hook refuses the call."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Call a model.

    Attributes:
        model: One of ``MODELS``.
        tokens: The reported usage.
        how: How it answers.
        otherwise: What is called if it fails.
    """

    model: str
    tokens: Tokens
    how: How = "answer"
    otherwise: "Ask | None" = None

    @property
    def ending(self) -> Ending | None:
        if self._is_refused:
            return "rejected", REJECT
        if self.how == "hang":
            return "cancelled", CANCELLED
        return ("error", RATE_LIMITED) if self.how in ("fail", "break") and self.otherwise is None else None

    @property
    def _is_refused(self) -> bool:
        return self.model == "forbidden-1" or self.how == "refuse"

    def facts(self, agent: str, tenant: str) -> tuple[Fact, ...]:
        return (self._fact(agent), *(self.otherwise.facts(agent, tenant) if self.otherwise is not None else ()))

    def _fact(self, agent: str) -> Fact:
        known = MODELS[self.model]
        refused = self._is_refused
        outcome: Mapping[How, tuple[Status, str, Tokens | None]] = {
            "answer": ("success", "", self.tokens),
            "stream": ("success", "", self.tokens),
            "stop": ("abandoned", "", self.tokens.unanswered),
            "fail": ("error", RATE_LIMITED, None),
            "break": ("error", RATE_LIMITED, self.tokens.unanswered),
            "hang": ("cancelled", CANCELLED, None),
            "refuse": ("rejected", REJECT, None),
        }
        status, error_type, tokens = outcome["refuse" if refused else self.how]
        return Fact(
            kind="llm.call",
            name=self.model,
            status=status,
            error_type=error_type,
            agent=agent,
            called=not refused,
            decisions=self._decisions(),
            provider=known.provider,
            answered=known.answers_as if tokens is not None else "",
            operation="chat",
            tokens=tokens,
            streamed=self.how in ("stream", "stop", "break"),
            held_back=self.model == HELD_BACK,
        )

    def _decisions(self) -> tuple[Decided, ...]:
        if self.model == BUDGETED:
            return REFUSED_BY_BUDGET if self.how == "refuse" else WITHIN_BUDGET
        if self.model == "claude-sonnet-4-5":
            late: Mapping[How, tuple[Decided, ...]] = {
                "answer": (MASKED,),
                "stream": (MASKED_TOO_LATE,),
                "stop": (MASKED_TOO_LATE,),
            }
            return late.get(self.how, ())
        return MODEL_DECISIONS.get(self.model, ())


JUDGE = Ask("gpt-4o-mini", Tokens(input=40, output=2))
"""What the hook ``judged`` calls before anything is published."""


@dataclass(frozen=True, slots=True)
class Use:
    """Use a tool, as one of ``TRICKS``.

    Attributes:
        trick: The trick.
        inside: The model call of the agent to which the tool delegates.
    """

    trick: str
    inside: Ask | None = None

    @property
    def ending(self) -> Ending | None:
        return TRICKS[self.trick].ending

    def facts(self, agent: str, tenant: str) -> tuple[Fact, ...]:
        trick = TRICKS[self.trick]
        inside: tuple[Fact, ...] = ()
        if trick.tool == "publish":
            inside = JUDGE.facts(agent, tenant)
        if self.inside is not None:
            inside = (agent_fact(RESEARCHER, tenant, ("success", ""), self.inside.facts(RESEARCHER, tenant)),)
        return (
            Fact(
                kind="tool.execute",
                name=trick.tool,
                status=trick.status,
                error_type=trick.error_type,
                agent=agent,
                called=trick.called,
                decisions=trick.decided(tenant),
                operation="execute_tool",
                approvals=trick.approvals,
                asked=trick.asked,
                inside=inside,
            ),
        )


@dataclass(frozen=True, slots=True)
class Recall:
    """Search the policies, which embeds the query, and remember the customer."""

    @property
    def ending(self) -> Ending | None:
        return None

    def facts(self, agent: str, tenant: str) -> tuple[Fact, ...]:  # noqa: ARG002 - as every step
        embedded = Fact("embeddings.create", "", agent=agent, provider="scripted", operation="embeddings", answered="")
        return (
            Fact(
                "retrieval.query",
                "Policies",
                agent=agent,
                operation="retrieval",
                decisions=(
                    Decided("scan", "retrieval.query.pre", "allow"),
                    Decided("scan", "retrieval.query.post", "allow"),
                ),
                suspected=("override",),
                inside=(embedded,),
            ),
            Fact(
                "memory.store",
                "customers",
                agent=agent,
                operation="upsert_memory",
                decisions=(
                    Decided("redaction", "memory.store.pre", "modify"),
                    Decided("redaction", "memory.store.post", "allow"),
                    Decided("consent", "memory.store.pre", "error"),
                    Decided("consent", "memory.store.post", "allow"),
                ),
                asked=(Asked("consent", "error", error_type="spanhook.hooks.remote_policy.PolicyTimeout"),),
                redacted=("EMAIL",),
            ),
        )


@dataclass(frozen=True, slots=True)
class HandOff:
    """Pass the work on to another agent."""

    to: str

    @property
    def ending(self) -> Ending | None:
        return None

    def facts(self, agent: str, tenant: str) -> tuple[Fact, ...]:  # noqa: ARG002 - as every step
        return (Fact("agent.delegate", self.to, agent=agent),)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A model call that spanhook sees only through another instrumentation's span."""

    tokens: Tokens
    refused: bool = False

    @property
    def model(self) -> str:
        return "foreign-forbidden-1" if self.refused else "foreign-model-1"

    @property
    def ending(self) -> Ending | None:
        return ("rejected", REJECT) if self.refused else None

    def facts(self, agent: str, tenant: str) -> tuple[Fact, ...]:  # noqa: ARG002 - as every step
        decisions = (
            (Decided("not_allowed", "llm.call.pre", "attempted", "best_effort"),)
            if self.refused
            else (
                Decided("known_models_only", "llm.call.pre", "attempted", "best_effort", mode="shadow"),
                Decided("screened", "llm.call.pre", "allow", "best_effort"),
                Decided("noticed", "llm.call.post", "allow", "observed"),
            )
        )
        return (
            Fact(
                kind="llm.call",
                name=self.model,
                status="rejected" if self.refused else "success",
                error_type=REJECT if self.refused else "",
                agent=agent,
                called=not self.refused,
                decisions=decisions,
                provider="foreign",
                answered="" if self.refused else self.model,
                operation="chat",
                tokens=None if self.refused else self.tokens,
                foreign=True,
            ),
        )


RESEARCHER = "researcher"
"""The agent to which others delegate."""
CAREFUL = "initech"
"""The tenant that has a budget."""


def agent_fact(name: str, tenant: str, ending: Ending, inside: tuple[Fact, ...], *, refused: bool = False) -> Fact:
    """The operation of an agent, with hooks' decisions about agents."""
    status, error_type = ending
    before = ()
    if tenant == CAREFUL:
        before = (Decided("within_budget", "agent.invoke.pre", "reject" if refused else "allow"),)
    after = (
        Decided("billed", "agent.invoke.post", "allow")
        if status in ("success", "interrupted", "abandoned")
        else Decided("alerted", "agent.invoke.error", "allow")
    )
    return Fact(
        kind="agent.invoke",
        name=name,
        status=status,
        error_type=error_type,
        agent=name,
        called=not refused,
        decisions=(*before, after),
        operation="invoke_agent",
        inside=inside,
    )
