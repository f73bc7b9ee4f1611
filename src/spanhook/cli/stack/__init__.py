"""``spanhook up``, ``down`` and ``status``: the observability stack, on this machine's container engine."""

import json
from collections.abc import Sequence
from pathlib import Path

from spanhook.cli.stack.containers import Engine, found_engine
from spanhook.cli.stack.files import PROFILES, compose_file
from spanhook.cli.stack.printing import Progress, print_addresses, print_answers, print_failure
from spanhook.cli.stack.services import Answer, asked, placed
from spanhook.cli.stack.waiting import wait

__all__ = ["run_down", "run_status", "run_up"]

_WITHOUT = "spanhook run --console shows runs without one"


def run_up(file: Path | None, profiles: Sequence[str], addresses: Sequence[str], timeout: float) -> int:
    """Start the stack, wait until all services answer, and print their addresses.

    Args:
        file: The compose file; looked for if ``None``.
        profiles: Profiles of the compose file, such as ``demo``.
        addresses: ``name=url`` for services at other addresses than in the compose file.
        timeout: Seconds to wait for all services.

    Returns:
        The exit code: 0 if all services answer, 1 if the engine failed or a service does not answer in time.

    Raises:
        ConfigurationError: There is no container engine, no compose file, or an address is not valid.
    """
    wanted = placed(addresses)
    stack = compose_file(file, profiles)
    engine = found_engine(_WITHOUT)
    code = engine.compose(stack, profiles, "up", "--detach", "--remove-orphans")
    if code:
        return _failed(engine, "up", code)
    with Progress(len(wanted)) as progress:
        answers = wait(wanted, timeout, progress)
    print_addresses(answers)
    return 0 if all(answer.ready for answer in answers) else 1


def run_down(file: Path | None, *, volumes: bool) -> int:
    """Stop the stack, whatever profiles it was started with.

    Args:
        file: The compose file; looked for if ``None``.
        volumes: Also delete the stored data.

    Returns:
        The exit code: 0 if it stopped, 1 if the engine failed.

    Raises:
        ConfigurationError: There is no container engine or no compose file.
    """
    stack = compose_file(file, ())
    engine = found_engine()
    code = engine.compose(stack, PROFILES, "down", "--remove-orphans", *(["--volumes"] if volumes else []))
    return _failed(engine, "down", code) if code else 0


def run_status(addresses: Sequence[str], as_json: bool) -> int:
    """Print which services answer; contacts only them, so it needs no container engine.

    Args:
        addresses: ``name=url`` for services at other addresses than in the compose file.
        as_json: Print only one JSON document.

    Returns:
        The exit code: 0 if all answer, 1 if not.

    Raises:
        ConfigurationError: An address is not valid.
    """
    answers = asked(placed(addresses))
    if as_json:
        print(json.dumps({"ready": _ready(answers), "services": [one.as_json() for one in answers]}, indent=2))  # noqa: T201
    else:
        print_answers(answers)
    return 0 if _ready(answers) else 1


def _ready(answers: Sequence[Answer]) -> bool:
    return all(answer.ready for answer in answers)


def _failed(engine: Engine, what: str, code: int) -> int:
    print_failure([*engine.command, what], code)
    return 1
