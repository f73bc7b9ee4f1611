"""Which functions one operation visits, in order: exact, and the same on every machine.

A path holds for the versions of the libraries. It is that of the thread that makes the call.
"""

import sys
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from benchmarks.bytecode import roots
from benchmarks.process import Process
from benchmarks.variants import named
from benchmarks.workloads import CASES

PATHS = {"tool": "mixed hooks", "stream": "mixed hooks", "node": "3 hooks on *"}
"""The cases whose paths are counted, each with the variant that it is counted in."""
WARM = 3
"""Which of the calls after the first, which is not typical."""

_OURS = "spanhook/"
_IMPLICIT = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
"""Code that is no function to a reader; later versions of Python have fewer of them."""


class Visit(NamedTuple):
    """A function that was called, or a generator that went on.

    Attributes:
        file: From the folder of its package on, such as ``spanhook/engine/calls.py``.
        function: Its qualified name.
    """

    file: str
    function: str


class Counted(NamedTuple):
    """How long a path is.

    Attributes:
        files: spanhook's files, in the order of their first visits.
        functions: How many of its functions were visited.
        returns: How often a call led back to one of these files after others.
    """

    files: list[str]
    functions: int
    returns: int


def visits(call: Callable[[], object]) -> list[Visit]:
    """What ``call`` visits of spanhook, OpenTelemetry, wrapt and the benchmark's hooks and work."""
    benchmarks = Path(__file__).parent
    followed = (*roots(), str(benchmarks / "workloads"))
    found: list[Visit] = []

    def entered(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(followed) and code.co_name not in _IMPLICIT:
            root = next(root for root in followed if code.co_filename.startswith(root))
            package = benchmarks if root.startswith(str(benchmarks)) else Path(root)
            found.append(Visit(Path(code.co_filename).relative_to(package.parent).as_posix(), code.co_qualname))

    sys.setprofile(entered)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def counted(path: Iterable[Visit]) -> Counted:
    """How long a path is within spanhook."""
    ours = [Visit(file.removeprefix(_OURS), function) for file, function in path if file.startswith(_OURS)]
    entered = [file for file, _ in groupby(visit.file for visit in ours)]
    files = list(dict.fromkeys(entered))
    return Counted(files, len(set(ours)), len(entered) - len(files))


def measure(name: str) -> dict[str, object]:
    """The length of a case's path, or why it cannot be measured here."""
    case, variant = CASES[name], named(PATHS[name])
    if case.missing:
        return {"about": case.about, "skipped": case.missing}
    return {"about": case.about, "variant": variant.name, **counted(traced(name))._asdict()}


def traced(name: str) -> list[Visit]:
    """The path of a case, in a process of its own."""
    with Process(name, named(PATHS[name]), -1) as process:
        return [Visit(*visit) for visit in process.ask("visits")]
