"""Running coroutines to their end, many of them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Do what ``asyncio.run`` does, but leave Ctrl-C alone.

    That would make the ``repr`` of the whole task twice, with every message in it, because
    ``signal.signal`` looks whether its handler is one of an enumeration.
    """
    with asyncio.Runner() as runner:
        return runner.get_loop().run_until_complete(main)
