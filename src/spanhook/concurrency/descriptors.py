"""Event descriptors, by which a thread is woken at half the cost of a lock.

A lock is released while the interpreter's own lock is held, so the thread that is woken sleeps again until that one is
free, too. A write to a descriptor lets go of the interpreter's lock first.
"""

import _thread
import os
import select
from functools import partial
from types import BuiltinFunctionType
from typing import Any

from spanhook.concurrency.threads import Dropped


class Descriptor:
    """An event descriptor of Linux. It is closed once nobody refers to it: until then, no other file has its number.

    Attributes:
        number: Its number as a file.

    Raises:
        OSError: The process may have no more files, or none of this kind.
    """

    __slots__ = ("_closing", "number")

    def __init__(self) -> None:
        self.number = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._closing = Dropped(partial(os.close, self.number))

    def fileno(self) -> int:
        return self.number


def has_descriptors() -> bool:
    """Whether threads can wait for descriptors here: on Linux, unless gevent has put greenlets in their place."""
    if not (hasattr(os, "eventfd") and hasattr(select, "epoll")):
        return False
    needed: tuple[Any, ...] = (_thread.allocate_lock, select.poll, select.select)
    return all(type(one) is BuiltinFunctionType for one in needed)
