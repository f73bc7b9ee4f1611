"""What processes of agents get and report, as JSON."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field
from sqlalchemy import RowMapping

from spanhook.server.routes.hook_models import Given, time_of
from spanhook.store.control import Execution, ExecutionEntry, HookCount

Short = Annotated[str, Field(max_length=200)]
Long = Annotated[str, Field(max_length=500)]
_BIG = 2**63 - 1
Count = Annotated[int, Field(ge=0, le=2**62, strict=True)]
Milliseconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False, strict=True)]
YesNo = Annotated[bool, Field(strict=True)]


class SetSent(BaseModel):
    """A set, as it is signed."""

    payload: str = Field(
        description="JSON with format, tenant, version, definitions, policies and settings, exactly as it was signed."
    )
    digest: str = Field(description="SHA-256 of the payload, in hexadecimal digits.")
    signature: str = Field(
        description="The signature (Ed25519, Base64) of the line `spanhook set 1` and the payload; empty if the server "
        "has no key."
    )


class ActiveHook(Given):
    """A hook of the process's own code or file."""

    name: Short
    kinds: list[Short] = Field(default_factory=list[str], max_length=50)
    priority: int = Field(default=100, ge=0, le=1000, strict=True)
    mode: Annotated[str, Field(max_length=20)] = "enforce"


class Trouble(Given):
    """Something of the set that is not in force."""

    subject: Short = Field(description="The id of a definition, a policy, or `set` for the whole set.")
    message: Long


class Counted(Given):
    """What one hook has done for one event since the process began."""

    hook: Short
    event_type: Short
    executions: Count = 0
    failures: Count = 0
    rejections: Count = 0
    time_ns: Count = Field(default=0, description="Its own time, of all executions together.")
    p50_ms: Milliseconds | None = Field(default=None, description="Of its latest times, if they are known.")
    p95_ms: Milliseconds | None = None


class LoggedResult(Given):
    """What one hook did."""

    hook_name: Short
    decision: Annotated[str, Field(max_length=20)] = "allow"
    success: YesNo = True
    fail_mode: Annotated[str, Field(max_length=20)] = ""
    duration_ms: Milliseconds = 0.0
    error: Long = ""
    status_code: int = Field(default=0, ge=0, le=999, strict=True)


class Logged(Given):
    """One entry of the process's execution log."""

    log_id: Annotated[str, Field(min_length=1, max_length=100)]
    event_type: Short
    tenant_id: Short = Field(default="", description="That of the key, if the key has one.")
    name: Short = ""
    mode: Annotated[str, Field(max_length=20)] = "enforce"
    request_id: Short = ""
    aborted: YesNo = False
    abort_reason: Long = ""
    time_ns: Count
    hook_results: list[LoggedResult] = Field(default_factory=list[LoggedResult], max_length=100)

    def entry(self) -> ExecutionEntry:
        """The same for the database."""
        results = tuple(
            Execution(
                one.hook_name,
                one.decision,
                one.success,
                int(one.duration_ms * 1e6),
                one.error,
                {"status_code": one.status_code} if one.status_code else None,
                one.fail_mode,
            )
            for one in self.hook_results
        )
        given = self.model_dump(exclude={"hook_results"})
        return ExecutionEntry(**given, duration_ns=sum(one.duration_ns for one in results), results=results)


class Report(Given):
    """What is in force in a process."""

    process_id: Annotated[str, Field(min_length=1, max_length=100)]
    service: Short = ""
    host: Short = ""
    pid: int = Field(default=0, ge=0, le=_BIG, strict=True)
    spanhook_version: Annotated[str, Field(max_length=50)] = ""
    set_version: int = Field(default=0, ge=0, le=_BIG, strict=True)
    digest: Annotated[str, Field(max_length=64)] = ""
    hooks: list[ActiveHook] = Field(default_factory=list[ActiveHook], max_length=500)
    problems: list[Trouble] = Field(default_factory=list[Trouble], max_length=500)
    executions: list[Counted] = Field(default_factory=list[Counted], max_length=1000)
    logs: list[Logged] = Field(default_factory=list[Logged], max_length=200)

    def columns(self) -> dict[str, Any]:
        """The columns that are stored."""
        return {
            "service": self.service,
            "host": self.host,
            "pid": self.pid,
            "version": self.spanhook_version,
            "revision": self.set_version,
            "digest": self.digest,
            "hooks": [one.model_dump(mode="json") for one in self.hooks],
            "problems": [one.model_dump(mode="json") for one in self.problems],
        }

    def counts(self) -> list[HookCount]:
        """What its hooks have done."""
        return [HookCount(**one.model_dump()) for one in self.executions]

    def entries(self) -> list[ExecutionEntry]:
        """What is new in its execution log."""
        return [one.entry() for one in self.logs]


class Reported(BaseModel):
    """The report is stored."""

    set_version: int = Field(description="The version that is in force on the server.")


class Process(BaseModel):
    """A process that follows the server."""

    tenant_id: str
    service: str
    host: str
    pid: int
    spanhook_version: str
    set_version: int
    digest: str
    hooks: list[ActiveHook]
    problems: list[Trouble]
    first_seen: datetime
    last_seen: datetime

    @classmethod
    def of(cls, row: RowMapping) -> "Process":
        """What is shown of a row."""
        return cls(
            tenant_id=row["tenant_id"],
            service=row["service"],
            host=row["host"],
            pid=row["pid"],
            spanhook_version=row["version"],
            set_version=row["revision"],
            digest=row["digest"],
            hooks=row["hooks"],
            problems=row["problems"],
            first_seen=time_of(row["first_seen_ns"]),
            last_seen=time_of(row["last_seen_ns"]),
        )


class ProcessPage(BaseModel):
    """Some processes, the latest heard of first."""

    processes: list[Process]
    next_cursor: str
