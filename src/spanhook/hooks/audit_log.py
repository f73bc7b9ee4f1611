"""Records every operation and decision for auditors, in a chain of hashes that shows later changes."""

import logging
import os
import time
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from spanhook import semconv
from spanhook.errors import ConfigurationError, Reject
from spanhook.gating import NEUTRAL, Auditor, Looser, Measures, emit_event, handler, validated
from spanhook.hooks._audit_entry import Content, operation_entry, shadow_entry
from spanhook.model import DecisionRecord, Operation
from spanhook.store import AuditFile, Fsync, Head

log = logging.getLogger("spanhook.hooks.audit_log")
Target = Literal["file", "logging", "otlp"]
_SHORTEST_KEY = 16


@handler
class AuditLog(Auditor):
    """Records each operation that has ended, with every decision about it.

    Args:
        path: The directory for the files, which are named after host, process and time.
        to: Where records go: ``file``, ``logging`` (the logger ``spanhook.audit``) and ``otlp`` (log events).
        content: What is kept of requests and results besides their digests: nothing, the arguments of tools, or all.
        key_env: The environment variable with the key of the hashes; empty for hashes without a key.
        max_bytes: The size in bytes at which another file is begun.
        keep: How many files of a process are kept; ``None`` for all.
        fsync: When files are flushed to the disk itself.
        required: Refuse operations while the log cannot be written.
        head_every: After how many records the last hash is reported as telemetry; also once a minute, and at exit.

    Raises:
        ConfigurationError: A setting cannot be used, or the key is not set.
    """

    kinds = ("*",)
    name = "audit_log"
    priority = 0

    class Config(BaseModel):
        """Settings of ``audit_log``."""

        model_config = ConfigDict(extra="forbid")

        path: str = Field(default="audit", min_length=1, description="The directory for the files.")
        to: list[Target] = Field(default=["file"], min_length=1, description="Where records go.")
        content: Annotated[Content, NEUTRAL] = Field(default="none", description="What is kept besides digests.")
        key_env: str = Field(default="", description="The environment variable with the key of the hashes.")
        max_bytes: Annotated[int, NEUTRAL] = Field(
            default=100_000_000, ge=1000, description="The size at which another file is begun."
        )
        keep: Annotated[int | None, NEUTRAL] = Field(
            default=None, ge=1, description="How many files of a process are kept."
        )
        fsync: Annotated[Fsync, Looser(("always", "interval", "never"))] = Field(
            default="never", description="When files are flushed to the disk itself."
        )
        required: Annotated[bool, Looser((True, False))] = Field(
            default=False, description="Refuse operations while the log cannot be written."
        )
        head_every: Annotated[int, NEUTRAL] = Field(
            default=100, ge=1, description="Report the last hash after so many records."
        )

    def __init__(
        self,
        path: str = "audit",
        to: list[Target] | None = None,
        content: Content = "none",
        key_env: str = "",
        max_bytes: int = 100_000_000,
        keep: int | None = None,
        fsync: Fsync = "never",
        required: bool = False,
        head_every: int = 100,
    ) -> None:
        given = {"path": path, "content": content, "key_env": key_env, "max_bytes": max_bytes, "keep": keep}
        given |= {"fsync": fsync, "required": required, "head_every": head_every, "to": ["file"] if to is None else to}
        config = validated(self.Config, given, "audit_log")
        self._content, self._to, self._required = config.content, frozenset(config.to), config.required
        self.fail_mode = "closed" if config.required else "open"
        self._key = _read_key(config.key_env)
        self._every, self._told_at = config.head_every, time.monotonic()
        measures = Measures("audit_log")
        self._records = measures.counter(semconv.METRIC_AUDIT_RECORDS, "{record}", "Records written")
        self._failures = measures.counter(semconv.METRIC_AUDIT_FAILURES, "{record}", "Failed attempts to write one")
        self._file = AuditFile(
            Path(config.path).absolute() if "file" in self._to else None,
            key=self._key,
            max_bytes=config.max_bytes,
            keep=config.keep,
            fsync=config.fsync,
            written=self._written,
        )

    @property
    def head(self) -> Head | None:
        """The last record of this process; ``None`` before the first."""
        return self._file.head

    def before(self, op: Operation) -> None:  # noqa: ARG002
        """Refuse the operation if the log is required and cannot be written.

        Raises:
            Reject: It cannot be written.
        """
        if self._required:
            try:
                self._file.check()
            except OSError as error:
                self._failed()
                raise Reject("The audit log cannot be written", status_code=503) from error

    def ended(self, op: Operation) -> None:
        """Record an operation."""
        self._write(operation_entry(op, self._content, self._key))

    def decided(self, op: Operation, decision: DecisionRecord) -> None:
        """Record a decision in shadow mode."""
        self._write(shadow_entry(op, decision))

    def close(self) -> None:
        """Write the closing record, as at exit."""
        self._file.close()

    def _write(self, entry: dict[str, Any]) -> None:
        try:
            self._file.write(entry)
        except OSError:
            self._failed()
            raise

    def _failed(self) -> None:
        self._failures(1, {semconv.HOOK: self.name})

    def _written(self, line: bytes, head: Head) -> None:
        text = line.decode().rstrip()
        self._records(1, {semconv.HOOK: self.name})
        about: dict[str, str | int] = {
            semconv.AUDIT_CHAIN: head.chain,
            semconv.AUDIT_SEQUENCE: head.sequence,
            semconv.AUDIT_HASH: head.hash,
        }
        if "logging" in self._to:
            log.info("%s", text)
        if "otlp" in self._to:
            emit_event(semconv.EVENT_AUDIT_RECORD, about, text)
        now, closing = time.monotonic(), '"kind":"close"' in text
        if closing or (head.sequence + 1) % self._every == 0 or now - self._told_at >= 60:
            self._told_at = now
            emit_event(semconv.EVENT_AUDIT_HEAD, {**about, semconv.AUDIT_FILE: head.file} if head.file else about)


def _read_key(variable: str) -> bytes | None:
    if not variable:
        return None
    key = os.environ.get(variable, "").encode()
    if len(key) < _SHORTEST_KEY:
        raise ConfigurationError(
            f"audit_log: key_env={variable!r}: the variable has {len(key)} bytes, expected at least {_SHORTEST_KEY}; "
            "set it to a random key"
        )
    return key
