"""What is kept about an operation for whoever asks: decisions, and its result in common terms."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spanhook import semconv
from spanhook.clock import clock
from spanhook.shape import Message


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """What one hook did to one operation.

    Attributes:
        hook: The hook's name.
        event: Kind and phase, such as ``tool.execute.pre``.
        decision: ``reject``, ``modify``, ``replace``, ``pause``, ``error``, ``timeout`` or ``skipped``.
        reason: The hook's own words, or what went wrong.
        duration_ns: The hook's own time in nanoseconds, without what it called next.
        fail_mode: ``open`` or ``closed``: what a failure of this hook means.
        status_code: The HTTP status of a rejection, else 0.
        time_ns: When, in nanoseconds since the epoch.
    """

    hook: str
    event: str
    decision: semconv.Decision
    reason: str = ""
    duration_ns: int = 0
    fail_mode: str = "open"
    status_code: int = 0
    time_ns: int = field(default_factory=lambda: clock.wall())  # noqa: PLW0108 - which tests may exchange


_TEXTS = {"text": "content", "tool_call_response": "response"}


@dataclass(frozen=True, slots=True)
class Response:
    """A result in terms that do not depend on the library.

    Attributes:
        messages: Output messages in role/parts form, one per choice.
        text: Their text joined, which is what a model said or a tool returned.
    """

    messages: Sequence[Message]

    @property
    def text(self) -> str:
        return "".join(
            str(part.get(_TEXTS[part["type"]], ""))
            for message in self.messages
            for part in message.get("parts", ())
            if part.get("type") in _TEXTS
        )
