"""Prints events as they happen, for people or as JSON."""

import sys
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from spanhook.gating import Subscriber, handler, validated
from spanhook.hooks._event_line import text_of
from spanhook.hooks._event_record import EventContent, line_of, record_of
from spanhook.model import Event, encodable_to, is_coloured

Output = Literal["stderr", "stdout"]
_DASH = "\u2014"


@handler
class ConsoleLog(Subscriber):
    """Prints a line for each event that it receives, on a thread of its own.

    Args:
        events: The events, by kind, dotted or short name; ``"*"`` for all of ``level``.
        level: What ``"*"`` covers: agents, jobs and schedules at ``summary``, everything at ``trace``.
        format: ``pretty`` for people, in colour on a terminal, or ``json``.
        content: What is printed besides names, ids and numbers: nothing, messages of exceptions, or input and output.
        to: Standard error or standard output.

    Raises:
        ConfigurationError: A setting cannot be used.
    """

    name = "console_log"

    class Config(BaseModel):
        """Settings of ``console_log``."""

        model_config = ConfigDict(extra="forbid")

        events: list[str] = Field(
            default=["*"], min_length=1, description="Events, such as agent:end, tool.execute.post or tool.execute."
        )
        level: Literal["summary", "trace"] = Field(default="summary", description="What * covers.")
        format: Literal["pretty", "json"] = Field(default="pretty", description="For people, or lines of JSON.")
        content: EventContent = Field(default="errors", description="What is printed of the content of calls.")
        to: Output = Field(default="stderr", description="Where lines go.")

    def __init__(
        self,
        events: list[str] | None = None,
        level: Literal["summary", "trace"] = "summary",
        format: Literal["pretty", "json"] = "pretty",
        content: EventContent = "errors",
        to: Output = "stderr",
    ) -> None:
        given = {"events": ["*"] if events is None else events, "level": level, "format": format}
        config = validated(self.Config, {**given, "content": content, "to": to}, "console_log")
        super().__init__(config.events, config.level)
        self._format, self._content, self._to = config.format, config.content, config.to

    def receive(self, event: Event) -> None:
        """Print an event."""
        stream: Any = getattr(sys, self._to)
        if stream is None:  # a process without a console
            return
        record = record_of(event, self._content)
        text = line_of(record) if self._format == "json" else _for_people(event, record, stream)
        stream.write(f"{text}\n")
        stream.flush()


def _for_people(event: Event, record: dict[str, Any], stream: Any) -> str:
    dash = _DASH if encodable_to(_DASH, stream) == _DASH else "-"
    return encodable_to(text_of(event.kind, event.name, record, coloured=is_coloured(stream), dash=dash), stream)
