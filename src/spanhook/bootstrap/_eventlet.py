"""Refuses eventlet under ``spanhook run``: an application that it has patched does not run there."""

from collections.abc import Callable
from typing import Any

import wrapt

from spanhook.errors import ConfigurationError

_WHY = (
    "eventlet.monkey_patch() replaces the threads and sockets of this process, in which spanhook runs; that is not "
    "supported under `spanhook run`: use threads, asyncio or gevent (gunicorn: -k gthread or -k gevent)"
)


def refuse(stop: Callable[[BaseException], Any]) -> None:
    """End the process if eventlet patches it.

    Args:
        stop: Ends the process with a message.

    Raises:
        ConfigurationError: It has patched it already.
    """

    def imported(patcher: Any) -> None:
        if getattr(patcher, "already_patched", None):
            raise ConfigurationError(_WHY)

        def monkey_patch(*_: Any, **__: Any) -> None:
            stop(ConfigurationError(_WHY))

        patcher.monkey_patch = monkey_patch

    wrapt.register_post_import_hook(imported, "eventlet.patcher")
