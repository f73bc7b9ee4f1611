"""What commands that measure have in common: their choices, what they tell while they run, what machine it was."""

import argparse
import platform
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from spanhook.instrument import INSTRUMENTORS

_LIBRARIES = ("opentelemetry-sdk", "wrapt", *(one.distribution for one in INSTRUMENTORS.values()))


def some(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """What makes a list of an argument with commas, of which every part must be one of ``choices``."""

    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        for one in chosen:
            if one not in choices:
                raise argparse.ArgumentTypeError(f"{one!r} is none of {', '.join(choices)}")
        return chosen

    return parse


def tell(text: str) -> None:
    """Say what goes on, on standard error."""
    print(text, file=sys.stderr, flush=True)


def machine(libraries: Sequence[str] = _LIBRARIES) -> dict[str, Any]:
    """The interpreter, the processor, and the versions of libraries."""
    versions: dict[str, str] = {}
    for library in libraries:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            versions[library] = "not installed"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"python": python, "processor": platform.machine(), "versions": versions}
