"""Counts the machine instructions of this process in user mode, where the kernel gives them (``perf_event_open(2)``).

Many virtual machines and containers do not. Counts repeat within a few percent, on a busy machine too.
"""

import ctypes
import os
import platform
import struct
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self


class Event(NamedTuple):
    """What is counted, as numbers of ``linux/perf_event.h``."""

    kind: int
    config: int


INSTRUCTIONS = Event(0, 1)
"""``PERF_TYPE_HARDWARE``, ``PERF_COUNT_HW_INSTRUCTIONS``."""
TASK_CLOCK = Event(1, 1)
"""``PERF_TYPE_SOFTWARE``, ``PERF_COUNT_SW_TASK_CLOCK``: nanoseconds on a core; needs no counter in the processor."""

_SYSCALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241}
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")  # struct perf_event_attr, PERF_ATTR_SIZE_VER0
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_CLOSE_ON_EXEC = 8


class Counter:
    """A running count of this thread and of all that it starts from now on.

    Raises:
        OSError: The kernel does not give this count here.
    """

    def __init__(self, event: Event = INSTRUCTIONS) -> None:
        self._file = _open(event)

    def read(self) -> int:
        """The count so far."""
        return int.from_bytes(os.read(self._file, 8), "little")

    def of(self, call: Callable[[], Any]) -> int:
        """How much is counted while ``call`` runs."""
        before = self.read()
        call()
        return self.read() - before

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)


def given(event: Event = INSTRUCTIONS) -> bool:
    """Whether the kernel gives this count to this process."""
    try:
        with Counter(event):
            return True
    except OSError:
        return False


def _open(event: Event) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None or platform.system() != "Linux":
        raise OSError(f"no performance counters on {platform.system()}, {platform.machine()}")
    flags = _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
    attributes = _ATTRIBUTES.pack(event.kind, _ATTRIBUTES.size, event.config, 0, 0, 0, flags, 0, 0, 0)
    call: Any = ctypes.CDLL(None, use_errno=True).syscall
    file: int = call(
        ctypes.c_long(number),
        ctypes.c_char_p(attributes),
        ctypes.c_long(0),
        ctypes.c_long(-1),
        ctypes.c_long(-1),
        ctypes.c_ulong(_CLOSE_ON_EXEC),
    )
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file
