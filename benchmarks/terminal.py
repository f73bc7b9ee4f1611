"""What the benchmark commands share: choices, progress messages, and the machine's description."""

import argparse
import platform
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from spanhook.instrument import INSTRUMENTORS

_LIBRARIES = ("opentelemetry-sdk", "wrapt", *(one.distribution for one in INSTRUMENTORS.values()))


def some(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """An argument type: a comma-separated list of items from ``choices``."""

    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        for one in chosen:
            if one not in choices:
                raise argparse.ArgumentTypeError(f"{one!r} is none of {', '.join(choices)}")
        return chosen

    return parse


def tell(text: str) -> None:
    """Print progress on standard error."""
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
