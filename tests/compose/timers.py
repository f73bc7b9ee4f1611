"""Runs health checks, as systemd's timers would: podman leaves that to systemd, which CI does not have."""

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress

from tests.compose.container import Container

SECONDS = 0.5


@contextmanager
def checking(containers: Callable[[], Mapping[str, Container]], check: Callable[[str], object]) -> Generator[None]:
    """Check the health of containers until each is healthy, again after each start.

    Args:
        containers: Those that there are.
        check: Runs the check of a container of this name.
    """
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(SECONDS):
            with suppress(AssertionError):  # one that has gone meanwhile, or is not healthy yet
                waiting = [one for one in containers().values() if one.health not in ("", "healthy")]
                for one in waiting:
                    with suppress(AssertionError):
                        check(one.name)

    thread = threading.Thread(target=run, name="timers", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
