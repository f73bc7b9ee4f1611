"""The libraries with ways of calling, and the rows that each adds to the matrix.

Imports a library only when its rows are asked for.
"""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata

from spanhook.cli.conformance import libraries
from spanhook.cli.conformance.checks import Checks, checks_of, checks_of_ungated
from spanhook.cli.conformance.checks.cells import ways_of
from spanhook.instrument import INSTRUMENTORS

LACKING = "not in this version"


@dataclass(frozen=True)
class Library:
    """A library with known ways of calling, in the module of ``libraries`` with the same name.

    Attributes:
        name: Its import name; ``own_code`` for the application's own code.
        distribution: The name under which it is installed.
        extra: The extra of spanhook that installs it, if one does.
    """

    name: str
    distribution: str
    extra: str = ""

    @property
    def version(self) -> str:
        """The installed version, or empty."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return ""


LIBRARIES = {
    one.name: one
    for one in (
        *(Library(one.library, one.distribution, one.extra) for one in INSTRUMENTORS.values()),
        # These are not bound themselves, but what they call is.
        Library("langchain", "langchain", "langchain"),
        Library("langchain_openai", "langchain-openai", "demo"),
        Library("own_code", "spanhook", "test"),
        Library("langchain_anthropic", "langchain-anthropic"),
        Library("langchain_aws", "langchain-aws"),
    )
}


@dataclass(frozen=True)
class Row:
    """One row of the matrix, before it is filled in.

    Attributes:
        subject: What is called.
        way: How it is called.
        checks: The functions that fill it in, by column.
        note: Whether this version lacks it, or it is documented as not gated.
        kind: The kind of operation that it creates; empty if it is not gated.
    """

    subject: str
    way: str
    checks: Checks
    note: str = ""
    kind: str = ""


def rows(library: str) -> list[Row]:
    """The rows of one library, always in the same order. Imports the library.

    Raises:
        ImportError: The library, or something its ways of calling need, cannot be imported.
    """
    module = importlib.import_module(f"{libraries.__name__}.{library}")
    found = [
        Row(
            subject.name.removeprefix(f"{library} "),
            way.name,
            checks_of(way),
            LACKING if way.lacking else "",
            subject.kind,
        )
        for subject in (*module.SUBJECTS, *getattr(module, "MORE", ()))
        for way in ways_of(subject, library)
    ]
    ungated = getattr(module, "UNGATED", ())
    return found + [Row(one.name, "", checks_of_ungated(one), "documented as not gated") for one in ungated]


def quick_rows(every: Iterable[Row]) -> list[Row]:
    """One subject of each kind, called in one way, and all that is documented as not gated.

    Both are taken by turns: the first way of the first kind's first subject, the second way of the next kind's last
    subject, and so on. So there are sync and async calls, streams and references taken before among all the rows, and
    clients and servers among those of MCP.
    """
    rows_in_order = [*every]
    by_kind: dict[str, dict[str, list[Row]]] = {}
    for row in rows_in_order:
        by_kind.setdefault(row.kind or row.subject, {}).setdefault(row.subject, []).append(row)
    chosen: list[Row] = []
    for number, subjects in enumerate(by_kind.values()):
        ways = [*subjects.values()][-(number % 2)]
        possible = [row for row in ways if row.note != LACKING] or ways
        chosen.append(possible[number % len(possible)])
    wanted = set(map(id, chosen))
    return [row for row in rows_in_order if id(row) in wanted]
