"""One operation as the engine keeps it, from its request to its outcome.

Hooks never get it: each run of a hook gets its own view, an ``Operation``.
"""

from collections.abc import Container, Mapping
from typing import Any

from spanhook import semconv
from spanhook.model._clock import clock
from spanhook.model._later import Later, resolved
from spanhook.model._rewriting import Rewritten
from spanhook.model._state import State
from spanhook.model.arguments import Attributes
from spanhook.model.encoding import encodable, exact_text, make_encodable
from spanhook.model.identity import NOBODY, Identity, identity_of
from spanhook.model.record_parts import EndDetails, HookDecisions, P, StreamState
from spanhook.model.request import Request
from spanhook.model.usage import Usage


class Record(State):
    """One unit of agent work: its state, and what follows from that."""

    __slots__ = ()

    # ----------------------------------------------------------------- what it is about

    @property
    def name(self) -> str:
        name = self.attributes.get(self.adapter.target_key, "")
        return name if type(name) is str else exact_text(name)

    @property
    def model(self) -> str:
        model = self.attributes.get(semconv.GEN_AI_REQUEST_MODEL, "")
        return model if type(model) is str else exact_text(model)

    @property
    def provider(self) -> str:
        told = self.attributes.get(semconv.GEN_AI_PROVIDER_NAME)
        if told is None or told == semconv.UNKNOWN_PROVIDER:
            return ""
        return told if type(told) is str else exact_text(told)

    @property
    def event(self) -> str:
        """Kind and phase, such as ``tool.execute.pre``."""
        return f"{self.kind}.{self.phase}"

    def works_on(self, names: Container[str]) -> bool:
        """Whether its name, or one of its names, is or may be in ``names``."""
        if self.name in names:
            return True
        if self.adapter.reading.names is None:
            return False
        several = self.names
        return several is None or any(name in names for name in several)

    @property
    def names(self) -> tuple[str, ...] | None:
        """``name``, and its other names, such as a tool's at its server; ``None`` if these cannot be known."""
        name = self.name
        if self.adapter.reading.names is None:
            return (name,)
        several = self.adapter.reading.names(self.instance, self.args, self.kwargs)
        if several is None:
            return None
        return (name, *sorted(one for one in map(exact_text, several) if one != name))

    @property
    def root(self) -> "Record":
        """The outermost operation around this one, or itself."""
        op = self
        while op.parent is not None:
            op = op.parent
        return op

    @property
    def identity(self) -> Identity:
        """Who it belongs to: ``spanhook.context`` first, then what the library knows, then the enclosing operation."""
        known = self._identity
        if known is None:
            parent, agent = self.parent, self.agent
            if parent is None or self.given or self.ambient is not parent.ambient:
                known = identity_of(self.ambient, self.given, NOBODY if parent is None else parent.identity, agent)
            else:
                known = parent._identity or parent.identity
                if known[4] != agent:
                    known = known._replace(agent_id=agent)
            self._identity = known
        return known

    def request(self) -> Request:
        """The request in common terms; parts of it are the application's own objects."""
        return self.adapter.reading.request(self.instance, self.args, self.kwargs)

    @property
    def result(self) -> Any:
        """What the call returned, or hooks made of that; for a stream, made when it is first read."""
        result = self._result
        return result.value() if type(result) is Later else result

    @result.setter
    def result(self, result: Any) -> None:
        self._result = result

    @property
    def whole(self) -> Any:
        """The result as hooks read it: of a stream with which a hook answered, the sum of its chunks.

        Raises:
            Exception: The chunks cannot be read; a gate that needs them fails.
        """
        result = self.result
        if not self.adapter.may_stream or not (self.decided.answered or self.decided.replaced):
            return result
        known = self.stream.answered
        if known is None or known[0] is not result:
            known = self.part(StreamState).answered = result, self._added_up(result)
        return known[1]

    def _added_up(self, result: Any) -> Any:
        """The sum of the chunks of a hook's answer; the result itself if it is not a stream."""
        streaming, call = self.adapter.streaming, (self.instance, self.args, self.kwargs)
        if streaming is None or streaming.stream_of is None:
            return result
        if not (streamed := streaming.stream_of(result)) and self._is_readable(result):
            return result
        body = None if streaming.body is None else streaming.body(*call, result)
        if body is not None:  # also of what has come as a whole, such as bytes
            chunks, pieces = body.chunks, body.answer(self.decided.answer)
        elif streamed and streaming.chunks is not None and streaming.answer_chunks is not None:
            chunks, pieces = streaming.chunks(*call), streaming.answer_chunks(*call, self.decided.answer)
        else:
            return result
        chunks.keep = True
        for piece in pieces:
            chunks.add(piece)
        return resolved(chunks.result())

    def _is_readable(self, result: Any) -> bool:
        """Whether hooks can read a result as it is: it has messages, and no body that is still to be read."""
        try:
            return bool(self.adapter.reading.output(result))
        except Exception:  # such as of a body that is read once
            return False

    # ----------------------------------------------------------------- what it used

    @property
    def usage(self) -> Usage:
        """Tokens and cost, as ``Operation.usage``; for a model call, the usage that is counted."""
        own, leaves, made = self.own_usage, self.leaves, self.called and not self.in_hook
        if leaves is not None:
            used = leaves.total()
            if own is not None:
                used.add_call(self._answered_by, own)
        elif own is not None:
            return own
        else:
            used = Usage()
            used.llm_calls = int(made and self.kind == "llm.call")
        if made and self.kind == "tool.execute":
            used.add_tool(self.name)
        return used

    def totals(self) -> Usage:
        """``usage``, without what is counted by model and by tool, of an operation that has calls inside."""
        assert self.leaves is not None
        used = self.leaves.flat()
        if self.kind == "tool.execute" and self.called and not self.in_hook:
            used.tool_calls += 1
        return used

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        """``usage`` by answering model; only models that used tokens."""
        used = self.usage
        per_model = used.by_model or {self._answered_by: used}
        return {model: one for model, one in per_model.items() if one.total_tokens}

    @property
    def _answered_by(self) -> str:
        return exact_text((self.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_MODEL)) or self.model

    # ----------------------------------------------------------------- its progress

    def note(self, event: str, attributes: Attributes) -> None:
        """Note an event that the library reports inside it."""
        make_encodable(attributes)
        self.part(EndDetails).__dict__.setdefault("events", []).append((event, attributes, clock.wall()))

    @property
    def out(self) -> bool:
        """Whether the result, or part of it, has already been handed to the application."""
        stream = self.stream
        return stream.streamed and not stream.buffered and not self.decided.answered

    def part(self, kind: type[P]) -> P:
        """Its part of this kind, to be written."""
        return self.__dict__.setdefault(kind.name, kind())

    def rewrite(self, rewritten: Rewritten) -> None:
        """Replace the call."""
        self.args, self.kwargs = rewritten.args, rewritten.kwargs
        self.part(HookDecisions).modified = tuple(dict.fromkeys((*self.decided.modified, *rewritten.fields)))
        if rewritten.model != self.model:
            model = self.attributes[semconv.GEN_AI_REQUEST_MODEL] = encodable(rewritten.model)
            self.span.set_attribute(semconv.GEN_AI_REQUEST_MODEL, model)
            if self.adapter.naming_key == semconv.GEN_AI_REQUEST_MODEL and not self.foreign:
                self.span.update_name(f"{self.attributes[semconv.GEN_AI_OPERATION_NAME]} {model}")

    def __repr__(self) -> str:
        return f"<Operation {self.kind} {self.name!r} {self.status or self.phase}>"
