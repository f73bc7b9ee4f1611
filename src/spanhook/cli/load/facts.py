"""What must come of one operation: the unit in which a script says what it produces, and in which it is checked."""

from dataclasses import dataclass, field

from spanhook.model import HookMode
from spanhook.semconv import Coverage, Decision, Kind, Status

REJECT = "spanhook.Reject"
"""The ``error.type`` of whatever a hook refused."""


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
        """What a stream has reported that ended before its last chunk: the prompt alone."""
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
class Fact:
    """One operation.

    Attributes:
        kind, name: Which sort, and the tool, agent or model it works on.
        status: How it ends.
        error_type: What it fails with; empty where it does not.
        agent: The nearest agent around it.
        called: Whether the call was made, rather than refused or answered by a hook.
        decisions: What hooks decided, or would have decided in shadow, every ``allow`` included.
        provider, answered: Of a model call: its provider, and the model that answered, if one did.
        operation: Its ``gen_ai.operation.name``.
        tokens: What a model call reported; ``None`` if it reported nothing.
        streamed: Whether it is a model call whose answer was streamed; a first chunk came then.
        foreign: Whether another instrumentation opened its span.
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
    foreign: bool = False
    inside: tuple["Fact", ...] = field(default=(), repr=False)
    """Operations directly inside."""
