"""Adds up what models, tools, agents and teams yield; the last of a tool's, an agent's or a team's is the result."""

from typing import Any

from strands.agent.agent_result import AgentResult
from strands.multiagent.base import MultiAgentResult
from strands.types._events import ToolInterruptEvent, ToolResultEvent

from spanhook.instrument.formats.bedrock import Converse
from spanhook.instrument.strands.describing import counts_apart
from spanhook.model import Args, Attributes, EndDetails, Kwargs, Usage, current_record

_CONVERSE = Converse()


def _same(told: dict[str, Any]) -> Any:
    return told


class ModelChunks:
    """The events of a model's stream."""

    def __init__(self, instance: Any, args: Args, kwargs: Kwargs) -> None:
        messages = args[0] if args else kwargs.get("messages")
        self.keep = False
        self._chunks: Any = _CONVERSE.chunks({"messages": messages or []}, _same)
        self._apart = counts_apart(instance)

    @property
    def complete(self) -> bool:
        return self._chunks.complete

    def add(self, chunk: Any) -> bool:
        self._chunks.keep = self.keep
        return self._chunks.add(chunk)

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = self._chunks.response()
        if used is not None and not self._apart:  # the other providers' input includes what is cached
            cached = used.cache_read_tokens + used.cache_write_tokens
            reported = used.input_tokens - cached
            used.input_tokens = reported if cached <= reported else used.input_tokens  # more than the whole is no part
        return attributes, used

    def result(self) -> Any:
        return self._chunks.result()


class Last:
    """The last of what is yielded, if it is the result."""

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self._result: Any = None
        self._op = current_record()  # what is current when its chunks have been read depends on who reads them

    def add(self, chunk: Any) -> bool:
        found = chunk.get("result") if isinstance(chunk, dict) else None
        if isinstance(found, AgentResult | MultiAgentResult):  # the application's state is in events too
            self._result, self.complete = found, True
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        """Nothing is reported here, but whether a team has failed is seen in its result. A run that waits for somebody,
        or was stopped, has not.
        """
        op, result = self._op, self._result
        if op is not None and isinstance(result, AgentResult | MultiAgentResult):
            op.result = result
            if getattr(result, "interrupts", None):
                op.part(EndDetails).left = "interrupted"
            elif getattr(result, "stop_reason", None) == "cancelled":
                op.part(EndDetails).left = "cancelled"
        return {}, None

    def result(self) -> Any:
        return self._result


class OutputChunks(Last):
    """What a model yields until it gives structured output."""

    def add(self, chunk: Any) -> bool:
        if isinstance(chunk, dict) and "output" in chunk:
            self._result, self.complete = chunk["output"], True
        return True


class ToolChunks(Last):
    """What a tool yields. An agent reads no further than the event with the result."""

    _waits = False

    def add(self, chunk: Any) -> bool:
        if isinstance(chunk, ToolResultEvent):
            self._result, self.complete = chunk.tool_result, True
        elif isinstance(chunk, ToolInterruptEvent):
            self._result, self.complete, self._waits = None, True, True
        else:
            self._result = chunk
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        """Nothing is reported here, but whether the tool has failed is seen in its result."""
        op = self._op
        if op is not None:
            op.result = self._result
            op.part(EndDetails).left = "interrupted" if self._waits else op.ending.left
        return {}, None
