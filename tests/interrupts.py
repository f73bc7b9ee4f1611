"""Interrupting code at a chosen place, the same place each time: Ctrl-C where CPython can deliver it.

A signal's handler runs between two instructions, and only after some of them: where a function begins or a generator
goes on after a ``yield``, after a call of anything but a plain Python function, and where a loop jumps back. What is
raised there is raised by the instruction before, so a place counts only if that one and the next are covered by the
same handlers; raising elsewhere would find faults that no signal can cause. (The function that a call runs inside of
the interpreter's own loop returns without a look at signals; so ``x = f()`` directly before a ``try:`` is safe where
``f`` is plain Python, and is not where it is C.)
"""

import dis
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import spanhook

_OURS = str(Path(spanhook.__file__).parent)
_APPLICATIONS = tuple(f"{_OURS}/{name}" for name in ("testing.py", "cli/"))
_SUSPENDING = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_SWALLOWING = ("__instancecheck__", "__subclasscheck__")
"""Functions that pydantic-core calls; it takes what they raise for "no", and so loses an interrupt, also by itself."""
_CALLS = frozenset(("CALL", "CALL_FUNCTION_EX", "CALL_KW"))


class Interrupts:
    """Raises an exception at the place with a given number, counted from where it is put on.

    Args:
        at: The number; a negative one only counts the places.
        everywhere: Interrupt where functions of any library begin, rather than in spanhook's code.
        raising: What is raised.

    Attributes:
        places: How many places there were.
        where: The one that was interrupted.
        within_sdk: It is in what OpenTelemetry does for spanhook, which may cost what that was at.
    """

    def __init__(
        self, at: int = -1, *, everywhere: bool = False, raising: type[BaseException] = KeyboardInterrupt
    ) -> None:
        self.at, self.everywhere, self.raising = at, everywhere, raising
        self.places = 0
        self.where = ""
        self.within_sdk = False
        self._within: dict[FrameType, bool] = {}

    @contextmanager
    def put_on(self) -> Generator[None]:
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(None)
            self._within.clear()

    def _place(self, frame: FrameType) -> None:
        self.places += 1
        if self.places - 1 == self.at:
            self.where = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname} @{frame.f_lasti}"
            self.within_sdk = _within_sdk(frame)
            raise self.raising

    def _entered(self, frame: FrameType, event: str, _arg: Any) -> Any:
        """A function begins, or a generator goes on."""
        code, caller = frame.f_code, frame.f_back
        if caller in self._within:
            self._within[caller] = not code.co_flags & _SUSPENDING and code.co_name != "__init__"
        if not is_ours(code.co_filename):
            suspends = code.co_flags & _SUSPENDING or _of_the_loop(code.co_filename)
            if self.everywhere and not suspends and code.co_name not in _SWALLOWING:
                self._place(frame)
            return None
        if self.everywhere:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        self._within[frame] = False
        before: int | None = None

        def instruction(frame: FrameType, event: str, _arg: Any) -> Any:
            nonlocal before
            if event == "opcode":
                last, before = before, frame.f_lasti
                plainly, self._within[frame] = self._within[frame], False
                if delivers(code, last, before, plainly):
                    self._place(frame)
            elif event == "return":
                self._within.pop(frame, None)
            return instruction

        return instruction


def delivers(code: CodeType, last: int | None, now: int, plainly: bool) -> bool:
    """Whether a signal can be handled between two instructions; ``plainly`` if the former ran a plain function."""
    names, covered = _read(code)
    if names[now] == "JUMP_BACKWARD":
        return True
    if last is None or covered.get(last) != covered.get(now):
        return False
    name = names[last]
    if name == "RESUME":
        return _argument(code, last) < 2
    return name in _CALLS and (not plainly or name == "CALL_FUNCTION_EX")


def _within_sdk(frame: FrameType | None) -> bool:
    while frame is not None and not is_ours(frame.f_code.co_filename):
        if "/opentelemetry/" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


@cache
def _of_the_loop(filename: str) -> bool:
    """Whether it is a part of the event loop or its threads: interrupted there, they may wait forever by themselves."""
    return any(part in filename for part in ("/asyncio/", "/concurrent/", "selectors.py", "threading.py", "weakref"))


@cache
def is_ours(filename: str) -> bool:
    return filename.startswith(_OURS) and not filename.startswith(_APPLICATIONS)


@cache
def _read(code: CodeType) -> tuple[dict[int, str], dict[int, Any]]:
    """The instructions by offset, and what handles an exception in each of them."""
    listed = list(dis.Bytecode(code))
    entries = getattr(dis, "_parse_exception_table")(code)  # noqa: B009
    covered: dict[int, Any] = {}
    for one in listed:
        for entry in entries:
            if entry.start <= one.offset < entry.end:
                covered[one.offset] = entry.target
    return {one.offset: one.opname for one in listed}, covered


@cache
def _argument(code: CodeType, offset: int) -> int:
    return next(one.arg or 0 for one in dis.Bytecode(code) if one.offset == offset) & 3
