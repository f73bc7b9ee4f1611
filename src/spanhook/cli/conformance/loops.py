"""Runs many coroutines, each to its end."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Do what ``asyncio.run`` does, but leave Ctrl-C alone.

    Handling it would build the ``repr`` of the whole task twice, with every message in it, because ``signal.signal``
    checks whether its handler is a member of an enumeration.
    """
    with asyncio.Runner() as runner:
        return runner.get_loop().run_until_complete(main)
