"""The results, as data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from spanhook.cli.conformance.checks.cells import FAILED, NOT_GATED, OK, Cell


@dataclass(frozen=True)
class Line:
    """One way of calling.

    Attributes:
        library, version: The library's import name and version.
        subject, way: What was called, and how.
        note: Whether this version lacks it, or it is documented as not gated.
        cells: The result of each check, by column.
    """

    library: str
    version: str
    subject: str
    way: str
    note: str = ""
    cells: dict[str, Cell] = field(default_factory=dict[str, Cell])

    @property
    def name(self) -> str:
        """The way of calling in words."""
        return f"{self.subject}, {self.way}" if self.way else self.subject

    @property
    def state(self) -> str:
        """The worst result: ``FAILED``, ``not gated``, ``ok``, or ``n/a`` if there was no check."""
        found = {cell.state for cell in self.cells.values()}
        denied = self.cells["denied"].state if "denied" in self.cells else ""
        return FAILED if FAILED in found else NOT_GATED if denied == NOT_GATED else OK if OK in found else "n/a"


@dataclass(frozen=True)
class Absent:
    """A library that is not installed, and how to install it."""

    library: str
    fix: str


@dataclass(frozen=True)
class Report:
    """All results.

    Attributes:
        spanhook, python, executable: The versions and the interpreter used.
        lines: Every way of calling.
        absent: Libraries that are not installed.
        unsupported: Untested versions, a sentence each.
        seconds: How long it took.
        quick: Whether only the ways of calling of ``--quick`` were tried.
        ways: How many ways of calling there are.
        took: The processor time in seconds that each library took.
    """

    spanhook: str
    python: str
    executable: str
    lines: Sequence[Line]
    absent: Sequence[Absent]
    unsupported: Sequence[str]
    seconds: float
    quick: bool = False
    ways: int = 0
    took: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def counts(self) -> Counter[str]:
        """How many ways of calling had each result."""
        return Counter(line.state for line in self.lines)

    @property
    def exit_code(self) -> int:
        """1 if a promise is broken."""
        return 1 if self.counts[FAILED] else 0

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "spanhook": self.spanhook,
            "python": self.python,
            "executable": self.executable,
            "exit_code": self.exit_code,
            "seconds": round(self.seconds, 1),
            "quick": self.quick,
            "ways": self.ways,
            "processor_seconds": {name: round(seconds, 1) for name, seconds in self.took.items()},
            "counts": {state: self.counts[state] for state in (OK, FAILED, NOT_GATED, "n/a")},
            "not_installed": [one.library for one in self.absent],
            "unsupported": list(self.unsupported),
            "rows": [
                {
                    "library": line.library,
                    "version": line.version,
                    "subject": line.subject,
                    "way": line.way,
                    "note": line.note,
                    "state": line.state,
                    "checks": {column: asdict(cell) for column, cell in line.cells.items()},
                }
                for line in self.lines
            ],
        }
