"""Counts the bytecode instructions that given code executes: exact, and the same on every machine.

A count holds for one minor version of Python and for the versions of the libraries. It does not see what C code does.
"""

import importlib.util
import itertools
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_PACKAGES = ("spanhook", "opentelemetry", "wrapt")
_HOOKS = ("setting.py", "ready_made.py")
"""Modules beside this one that contain the hooks."""


def roots(*more: str) -> tuple[str, ...]:
    """What the paths of counted files begin with: spanhook, OpenTelemetry, the benchmark's hooks.

    Args:
        more: Further packages, by their import names.
    """
    found = [str(Path(__file__).with_name(name)) for name in _HOOKS]
    for package in dict.fromkeys((*_PACKAGES, *more)):
        spec = importlib.util.find_spec(package)
        folders = (spec.submodule_search_locations or [spec.origin or ""]) if spec is not None else []
        found += [folder for folder in folders if folder]
    return tuple(found)


class Bytecode:
    """Counts in the thread that asks, and in all threads that were started after this was created.

    Args:
        counted: What the paths of counted files begin with.
    """

    def __init__(self, counted: tuple[str, ...]) -> None:
        self._counted = counted
        self._known: dict[CodeType, bool] = {}
        self._ticks = itertools.count()
        self._counting = False
        threading.settrace(self._entered)

    def of(self, call: Callable[[], Any]) -> int:
        """How many instructions ``call`` executes."""
        before = next(self._ticks)
        self._counting = True
        sys._getframe().f_trace_opcodes = True  # CPython 3.12 looks for it only as tracing begins
        sys.settrace(self._entered)
        try:
            call()
        finally:
            sys.settrace(None)
            self._counting = False
        return next(self._ticks) - before - 1

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not self._counting:
            return None
        code = frame.f_code
        counted = self._known.get(code)
        if counted is None:
            counted = self._known[code] = code.co_filename.startswith(self._counted)
        if not counted:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._inside

    def _inside(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            next(self._ticks)
        return self._inside
