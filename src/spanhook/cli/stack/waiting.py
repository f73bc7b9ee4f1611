"""Waits until services answer."""

import time
from collections.abc import Callable, Sequence

from spanhook.cli.stack.services import Answer, Service, asked

_PAUSE_SECONDS = 0.5


def wait(wanted: Sequence[Service], timeout: float, told: Callable[[Answer], None]) -> list[Answer]:
    """Query until all are ready, or the time is up.

    Args:
        wanted: The services.
        timeout: Seconds.
        told: Called with each answer of services not yet known to be ready.

    Returns:
        The last answer of each, in the given order.
    """
    deadline = time.monotonic() + timeout
    answers: dict[str, Answer] = {}
    while True:
        waiting = [service for service in wanted if service.name not in answers or not answers[service.name].ready]
        for answer in asked(waiting):
            answers[answer.service.name] = answer
            told(answer)
        if all(answer.ready for answer in answers.values()) or time.monotonic() >= deadline:
            return [answers[service.name] for service in wanted]
        time.sleep(min(_PAUSE_SECONDS, max(deadline - time.monotonic(), 0.0)))
