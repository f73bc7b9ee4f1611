"""One session of an agent: from its start to its end, with the numbers of what is told in between."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from opentelemetry.trace import format_span_id, format_trace_id

from spanhook.hooks import _agent_context as contract
from spanhook.hooks.agent_hooks._points import Point
from spanhook.hooks.agent_hooks._streaming import Segments
from spanhook.model import Operation


@dataclass(slots=True)
class Session:
    """A session: an operation that no other session is around, with everything inside it.

    Attributes:
        builder: Makes contexts, and numbers them.
        aside: Makes contexts whose numbers do not count.
        closed: Whether it has ended.
        blocked: Why nothing more may be done in it, if a verdict said so about what cannot be withheld.
        labels: What interceptors have said about results so far.
    """

    builder: Any
    aside: Any
    identifier: str
    closed: bool = False
    blocked: str = ""
    labels: list[str] = field(default_factory=list[str])
    _calls: Iterator[int] = field(default_factory=itertools.count)

    def context(self, point: Point, op: Operation, *, traced: bool) -> dict[str, Any]:
        """The context of a point."""
        made: dict[str, Any] = getattr(self.builder, point.name)(**point.members)
        made.update(_optional(op, traced=traced))
        if self.labels:
            made["extensions"] = {contract.FRAMEWORK: {"source_labels": list(self.labels)}}
        return made

    def target(self, point: Point) -> Any:
        """The target of the context that a point would have; no number is taken for it."""
        return getattr(self.aside, point.name)(**point.members)["target"]

    def call_id(self, op: Operation) -> str:
        """The id of a call of a tool; a new one if the model gave it none."""
        return op.tool_call_id or f"call-{next(self._calls)}"

    def skip(self) -> int:
        """The number of a context that cannot be made."""
        skipped: int = self.builder.input(content="")["sequence"]
        return skipped

    def note(self, labels: list[str]) -> None:
        """Keep labels of what has been let through."""
        self.labels += [label for label in labels if label not in self.labels]


@dataclass(slots=True)
class Told:
    """What is kept of an operation.

    Attributes:
        session: Its session.
        opens: Whether the session is about this operation, and ends with it.
        call_id: The id of a tool's call.
        point, target: What was let pass last, and at which point.
        segments: The texts of its stream.
    """

    session: Session
    opens: bool
    call_id: str = ""
    point: str = ""
    target: Any = None
    segments: Segments | None = None


def opened(builder: Any, op: Operation) -> Session:
    """A new session; ``builder`` is the class of the contract's builder."""
    identifier = uuid4().hex
    named = op.identity.agent_id or (op.name if op.kind == "agent.invoke" else op.agent) or contract.UNNAMED
    made, aside = (builder(agent_id=named, framework=contract.FRAMEWORK, session_id=identifier) for _ in range(2))
    return Session(made, aside, identifier)


def _optional(op: Operation, *, traced: bool) -> dict[str, Any]:
    """What the contract leaves open: the trace, the tenant and the user."""
    told: dict[str, Any] = {}
    span = op.span.get_span_context()
    if traced and span.is_valid:
        told["trace"] = {"trace_id": format_trace_id(span.trace_id), "span_id": format_span_id(span.span_id)}
    who = op.identity
    if who.tenant_id:
        told["tenant"] = {"id": who.tenant_id}
    if who.user_id:
        told["actor"] = {"id": who.user_id, "kind": "human"}
    return told
