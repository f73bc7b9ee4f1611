"""The libraries with ways of calling, and the rows that each adds to the matrix.

Imports a library only when its rows are asked for.
"""

import importlib
from dataclasses import dataclass
from importlib import metadata

from spanhook.cli.conformance import libraries
from spanhook.cli.conformance.checks import Checks, checks_of, checks_of_ungated
from spanhook.cli.conformance.checks.cells import ways_of
from spanhook.instrument import INSTRUMENTORS


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
    """

    subject: str
    way: str
    checks: Checks
    note: str = ""


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
            "not in this version" if way.lacking else "",
        )
        for subject in (*module.SUBJECTS, *getattr(module, "MORE", ()))
        for way in ways_of(subject)
    ]
    ungated = getattr(module, "UNGATED", ())
    return found + [Row(one.name, "", checks_of_ungated(one), "documented as not gated") for one in ungated]
