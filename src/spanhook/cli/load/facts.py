"""What one operation must produce: the unit in which a script states its results, and in which they are checked."""

from dataclasses import dataclass, field

from spanhook.model import HookMode
from spanhook.semconv import Coverage, Decision, Kind, Status

REJECT = "spanhook.Reject"
"""The ``error.type`` of everything that a hook refused."""

CLOSED = {
    "within_budget",
    "not_allowed",
    "traced",
    "screened",
    "audit",
    "paying_customers_only",
    "stop_the_run",
    "cached",
    "masked",
    "scanned",
    "judged",
    "fraud_check",
    "vault",
    "ask_a_person",
    "payments",
    "run_budget",
    "redaction",
    "reviewed",
    "redacted",
    "withheld",
    "members_only",
    "second_look",
    "house_style",
    "classified",
    "summarized",
    "no_house_models",
    "known_models_only",
}
"""Hooks whose failure rejects the call; a failure of all others lets it pass."""
TIMED = {"traced", "scanned", "directory", "fraud_check", "deep_scan", "ask_a_person", "payments", "consent"}
"""Async and blocking hooks, whose durations are recorded."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one model call in disjoint buckets: ``input`` is without cached ones, ``output`` without reasoning."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def prompt(self) -> int:
        """Input tokens as providers report them, cached ones included."""
        return self.input + self.cache_read + self.cache_write

    @property
    def completion(self) -> int:
        """Output tokens as providers report them, reasoning included."""
        return self.output + self.reasoning

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    @property
    def unanswered(self) -> "Tokens":
        """What a stream that ended before its last chunk reported: only the prompt."""
        return Tokens(self.input, self.cache_read, self.cache_write)

    def buckets(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision of a hook; ``event`` is the kind and phase, and in ``shadow`` nothing comes of it."""

    hook: str
    event: str
    decision: Decision
    coverage: Coverage = "enforced"
    mode: HookMode = "enforce"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a remote policy.

    Attributes:
        hook: The policy.
        verdict: What the service has decided; ``error``: it has not.
        answer: How it answered every attempt, as the service counts it; empty: it did not.
        error_type: Why it has not decided.
        attempts: How often it was asked.
    """

    hook: str
    verdict: str
    answer: str = ""
    error_type: str = ""
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Fact:
    """One operation.

    Attributes:
        kind, name: Its kind, and the tool, agent or model.
        status: How it ends.
        error_type: The error it fails with; empty if it does not.
        agent: The nearest enclosing agent.
        called: Whether the call was made, not refused or answered by a hook.
        decisions: Hooks' decisions, every ``allow`` included, and those of hooks in shadow mode.
        provider, answered: A model call's provider, and the answering model, if any.
        operation: Its ``gen_ai.operation.name``.
        tokens: What a model call reported; ``None`` if it reported nothing.
        streamed: Whether it is a model call whose answer was streamed, so that a first chunk arrived.
        held_back: Whether hooks hold that stream back.
        foreign: Whether another instrumentation opened its span.
        approvals: What becomes of its request for approval.
        asked: What a remote policy is asked about it.
        redacted, suspected: What ready-made hooks find in its request and result: entities, and rules about injection.
    """

    kind: Kind
    name: str
    status: Status = "success"
    error_type: str = ""
    agent: str = ""
    called: bool = True
    decisions: tuple[Decided, ...] = ()
    provider: str = ""
    answered: str = ""
    operation: str = ""
    tokens: Tokens | None = None
    streamed: bool = False
    held_back: bool = False
    foreign: bool = False
    approvals: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    redacted: tuple[str, ...] = ()
    suspected: tuple[str, ...] = ()
    inside: tuple["Fact", ...] = field(default=(), repr=False)
    """Operations directly inside."""
