"""What the doctor found, as plain data, for both text and JSON."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from spanhook.config import FollowingProcess
from spanhook.instrument import BOUND, WAITING

Level = Literal["configuration", "requirement", "warning", "note"]
"""The first two prevent ``spanhook run`` from starting, with exit codes 2 and 3."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth knowing: its subject, and what it means or how to fix it."""

    level: Level
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class Library:
    """A library that spanhook binds.

    Attributes:
        version: The installed version; empty if it is not installed.
        points: State of each point by its name.
        optional: Points that may be missing in this version.
        ungated: Methods of subclasses that cannot be bound, as ``module.Class.method``.
        late: A server whose points are bound when it is started, and not before.
    """

    name: str
    requirement: str
    version: str
    supported: bool
    points: dict[str, str]
    optional: tuple[str, ...]
    ungated: tuple[str, ...] = ()
    late: bool = False

    @property
    def bound(self) -> int:
        return sum(state == BOUND for state in self.points.values())

    @property
    def waits(self) -> bool:
        """Whether it is a server that is bound once it is started."""
        return self.late and WAITING in self.points.values()

    @property
    def missing(self) -> list[str]:
        settled = (BOUND, WAITING) if self.late else (BOUND,)
        return [point for point, state in self.points.items() if state not in settled and point not in self.optional]


@dataclass(frozen=True, slots=True)
class NotBound:
    """An agent library that is installed but not bound.

    Attributes:
        state: ``imported`` (by the hooks, or what they import) or ``importable``.
        bypass: What bypasses spanhook.
        allowed: Whether that is accepted.
    """

    name: str
    version: str
    state: Literal["imported", "importable"]
    bypass: str
    allowed: bool


@dataclass(frozen=True, slots=True)
class SelfTracing:
    """An SDK that creates spans for its calls itself. ``scopes`` are their instrumentation scopes."""

    name: str
    version: str
    scopes: tuple[str, ...]
    when: str


@dataclass(frozen=True, slots=True)
class HookFound:
    """One function of a hook.

    Attributes:
        timeout_s: The limit in seconds, ``None`` for no limit.
        holds_back: Whether streams wait for it.
        windows: Whether it sees the text of streams before it goes out.
    """

    name: str
    events: tuple[str, ...]
    form: str
    priority: int
    fail_mode: str
    timeout_s: float | None
    tenant_id: str
    holds_back: bool
    windows: bool


@dataclass(frozen=True, slots=True)
class SignalFound:
    """A signal's provider, and the exporters that ``OTEL_*`` asks for with their destinations."""

    signal: str
    provider: str
    exporters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Telemetry:
    sdk: str
    disabled: bool
    sampler: str
    content: str
    signals: tuple[SignalFound, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """Another package that records the same calls: its spans appear beside ours. ``libraries`` are those that both
    record.
    """

    name: str
    version: str
    libraries: tuple[str, ...]
    when: str


@dataclass(frozen=True, slots=True)
class Followed:
    """The configuration file as it is now, and the processes of this user that follow it.

    Attributes:
        path: The file.
        digest: The digest of its content; empty if it cannot be used.
    """

    path: str
    digest: str
    processes: tuple[FollowingProcess, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was found.

    Attributes:
        aegra: Aegra's configuration file, if it names hooks; empty otherwise.
    """

    spanhook: str
    python: str
    executable: str
    mode: str
    libraries: tuple[Library, ...]
    unbound: tuple[NotBound, ...]
    hooks: tuple[HookFound, ...]
    telemetry: Telemetry
    others: tuple[Other, ...]
    self_tracing: tuple[SelfTracing, ...]
    findings: tuple[Finding, ...]
    configuration: Followed | None = None
    aegra: str = ""

    @property
    def exit_code(self) -> int:
        levels = {finding.level for finding in self.findings}
        return 2 if "configuration" in levels else 3 if "requirement" in levels else 0

    @property
    def verdict(self) -> str:
        """One line: whether ``spanhook run`` would start, and with what."""
        wrong = [one for one in self.findings if one.level in ("configuration", "requirement")]
        if wrong:
            more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            about, text = wrong[0].about, wrong[0].text
            return f"not ready: {about}{' ' if text.startswith('is ') else ': '}{text}{more}"
        bound = sum(bool(library.bound) or library.waits for library in self.libraries)
        signals = [one.signal for one in self.telemetry.signals if one.exporters and not self.telemetry.disabled]
        hooks = len({hook.name for hook in self.hooks})
        return (
            f"ready: {bound} {'library' if bound == 1 else 'libraries'} bound, "
            f"{hooks} {'hook' if hooks == 1 else 'hooks'}{' (off)' if self.mode == 'off' and hooks else ''}, "
            f"{' and '.join(signals) or 'nothing'} exported"
        )

    def as_json(self) -> dict[str, Any]:
        document = asdict(self)
        for library, found in zip(document["libraries"], self.libraries, strict=True):
            library["bound"], library["missing"] = found.bound, found.missing
        events: dict[str, list[str]] = {}
        for hook in self.hooks:
            for event in hook.events:
                events.setdefault(event, []).append(hook.name)
        return {**document, "events": events, "verdict": self.verdict, "exit_code": self.exit_code}
