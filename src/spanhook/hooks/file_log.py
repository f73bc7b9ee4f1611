"""Writes events as lines of JSON to files that are replaced daily or by size, and compressed."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from spanhook.gating import Subscriber, handler, validated
from spanhook.hooks._event_record import EventContent, line_of, record_of
from spanhook.model import Event
from spanhook.store import RotatingFile

_STEM = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


@handler
class FileLog(Subscriber):
    """Appends a line for each event that it receives, on a thread of its own.

    Several processes may have the same ``path`` and ``file``: they append to the same files.

    Args:
        path: The directory for the files.
        file: What the names of the files begin with.
        events: The events, by kind, dotted or short name; ``"*"`` for all of ``level``.
        level: What ``"*"`` covers: agents, jobs and schedules at ``summary``, everything at ``trace``.
        content: What is kept besides names, ids and numbers: nothing, messages of exceptions, or input and output.
        rotation: Begin another file each day (by UTC), or only by size.
        max_bytes: The size in bytes that no file exceeds, unless by a single line.
        compress: Compress files with gzip once they are not written to any more.
        keep: How many files are kept besides the current one; ``None`` for all.

    Raises:
        ConfigurationError: A setting cannot be used.
    """

    name = "file_log"

    class Config(BaseModel):
        """Settings of ``file_log``."""

        model_config = ConfigDict(extra="forbid")

        path: str = Field(default="logs", min_length=1, description="The directory for the files.")
        file: str = Field(
            default="events", pattern=_STEM, max_length=100, description="What the names of the files begin with."
        )
        events: list[str] = Field(
            default=["*"], min_length=1, description="Events, such as agent:end, tool.execute.post or tool.execute."
        )
        level: Literal["summary", "trace"] = Field(default="summary", description="What * covers.")
        content: EventContent = Field(default="none", description="What is kept of the content of calls.")
        rotation: Literal["daily", "size"] = Field(
            default="daily", description="Begin another file each day, by UTC, or only by size."
        )
        max_bytes: int = Field(default=100_000_000, ge=1000, description="The size at which another file is begun.")
        compress: bool = Field(default=True, description="Compress the files before the current one.")
        keep: int | None = Field(default=None, ge=0, description="How many files are kept besides the current one.")

    def __init__(
        self,
        path: str = "logs",
        file: str = "events",
        events: list[str] | None = None,
        level: Literal["summary", "trace"] = "summary",
        content: EventContent = "none",
        rotation: Literal["daily", "size"] = "daily",
        max_bytes: int = 100_000_000,
        compress: bool = True,
        keep: int | None = None,
    ) -> None:
        given = {"path": path, "file": file, "events": ["*"] if events is None else events, "level": level}
        given |= {"content": content, "rotation": rotation, "max_bytes": max_bytes, "compress": compress, "keep": keep}
        config = validated(self.Config, given, "file_log")
        super().__init__(config.events, config.level)
        self._content = config.content
        self._file = RotatingFile(
            Path(config.path).absolute(),
            config.file,
            daily=config.rotation == "daily",
            max_bytes=config.max_bytes,
            keep=config.keep,
            compressed=config.compress,
        )

    def receive(self, event: Event) -> None:
        """Write an event.

        Raises:
            OSError: It could not be written.
        """
        self._file.write(f"{line_of(record_of(event, self._content))}\n".encode())
