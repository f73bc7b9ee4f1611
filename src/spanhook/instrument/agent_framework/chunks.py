"""Adds up the updates of clients' and agents' streams."""

from typing import Any

from spanhook.instrument.agent_framework.responses import (
    agent_response_of,
    chat_response_of,
    noted,
    usage_in,
)
from spanhook.model import Args, Attributes, EndDetails, Kwargs, Record, Usage, copied, current_record


class AgentUpdates:
    """The updates of an agent's stream; keeps them only if ``keep``."""

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self._op = current_record()
        self._kept: list[Any] = []
        self._waits = False

    def add(self, chunk: Any) -> bool:
        if self.keep:
            self._kept.append(copied(chunk))  # its consumer may edit it
        reason = getattr(chunk, "finish_reason", None)
        if reason is not None:
            self.complete = reason != "tool_calls"
        self._waits = self._waits or any(one.user_input_request for one in chunk.contents)
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        """Nothing is reported here, but whether the agent waits for somebody is seen in its updates."""
        if self._waits:
            waiting(self._op)
        return {}, None

    def result(self) -> Any:
        return agent_response_of(self._copies)

    @property
    def _copies(self) -> list[Any]:
        """The library joins updates in place."""
        return [copied(one) for one in self._kept]


def waiting(op: Record | None) -> None:
    """Note that an operation waits for somebody."""
    if op is not None:
        op.part(EndDetails).left = "interrupted"


class ChatUpdates(AgentUpdates):
    """The updates of a client's stream."""

    def __init__(self, instance: Any, args: Args, kwargs: Kwargs) -> None:
        super().__init__(instance, args, kwargs)
        self._told: Attributes = {}
        self._reported: list[Usage | None] = []

    def add(self, chunk: Any) -> bool:
        if self.keep:
            self._kept.append(copied(chunk))
        self._told.update(noted(chunk))
        self.complete = self.complete or chunk.finish_reason is not None
        for content in chunk.contents:
            if content.type == "usage":
                if getattr(content, "merge_mode", None) == "replace":
                    self._reported.clear()
                self._reported.append(usage_in(content.usage_details))
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        used: Usage | None = None
        for one in self._reported:
            if one is not None:
                used = used or Usage()
                used.add(one)
        return self._told, used

    def result(self) -> Any:
        return chat_response_of(self._copies)
