"""What tests need of the system. Where it is missing, they are skipped with the name of Debian's package."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

import pytest

Program = TypeVar("Program")

_MISSING = "Debian's package {} is not installed"


def need(package: str, program: Program | None) -> Program:
    """Return the program, or skip the test if it is ``None``, since Debian's package is not installed."""
    if program is None:
        pytest.skip(_MISSING.format(package))
    return program


def missing(reasons: Iterable[str]) -> str:
    """Which packages to install, in one line, for tests that were skipped for these reasons; empty if none."""
    pattern = re.compile(_MISSING.format(r"(\S+)"))
    packages = Counter(match[1] for match in map(pattern.fullmatch, reasons) if match)
    tests = packages.total()
    names = ", ".join(f"{package} ({count})" for package, count in packages.most_common())
    skipped, them = ("1 test was", "it") if tests == 1 else (f"{tests} tests were", "them")
    return f"{skipped} skipped: install {names} to run {them}" if tests else ""
