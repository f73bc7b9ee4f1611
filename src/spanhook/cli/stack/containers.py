"""Finds the container engine, and runs compose commands with it."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from spanhook.cli.stack.files import Stack
from spanhook.errors import ConfigurationError

#: Commands that understand compose files, in order of preference, and how to check that each has an engine.
_KNOWN: tuple[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]], ...] = (
    (("docker", "compose"), (("docker", "compose", "version"), ("docker", "info"))),
    (("podman", "compose"), (("podman", "compose", "version"), ("podman", "info"))),
    (("docker-compose",), (("docker-compose", "version"), ("docker-compose", "ls"))),
)
_PROBE_SECONDS = 20

#: What commands without compose say to a probe, and what helps.
_ADVICE: tuple[tuple[str, str, str], ...] = (
    (
        "podman compose version",
        "unrecognized command",
        "podman has compose from 4.7 on: install that, or docker-compose and set DOCKER_HOST to podman's socket",
    ),
    ("podman compose version", "compose provider", "podman compose needs docker-compose: install it"),
    ("docker compose version", "unknown command", "docker has no compose: install its compose plugin"),
    ("docker compose version", "not a docker command", "docker has no compose: install its compose plugin"),
    ("docker-compose ls", "No such command", "this docker-compose is of version 1: install a newer one"),
)


@dataclass(frozen=True, slots=True)
class Engine:
    """A command that understands compose files, with a working engine."""

    command: tuple[str, ...]

    def compose(self, stack: Stack, profiles: Sequence[str], *arguments: str) -> int:
        """Run a compose command; it shares our standard output and error.

        Args:
            stack: The compose file.
            profiles: Profiles to enable.
            arguments: The command and its options.

        Returns:
            Its exit code.
        """
        chosen = [word for profile in profiles for word in ("--profile", profile)]
        file = [word for path in stack.env_files for word in ("--env-file", str(path))]
        line = [*self.command, "--file", str(stack.path), *file, *chosen, *arguments]
        return subprocess.run(line, check=False, env=_environ(arguments[0])).returncode  # noqa: S603


def _environ(command: str) -> dict[str, str]:
    """The environment; the compose file needs passwords even to stop, where they are not used."""
    return {"GRAFANA_ADMIN_PASSWORD": "-", **os.environ} if command == "down" else dict(os.environ)


def found_engine(instead: str = "") -> Engine:
    """The first installed command with a working engine.

    Args:
        instead: The alternative without an engine, for the message.

    Raises:
        ConfigurationError: There is none; the message says what was found.
    """
    silent: list[str] = []
    for command, probes in _KNOWN:
        if shutil.which(command[0]) is None:
            continue
        failure = next((told for told in map(_failure, probes) if told), None)
        if failure is None:
            return Engine(command)
        silent.append(failure)
    advice = f"; {instead}" if instead else ""
    if silent:
        raise ConfigurationError(f"no container engine answers ({'; '.join(silent)}){advice}")
    names = ", ".join(" ".join(command) for command, _ in _KNOWN)
    raise ConfigurationError(f"no container engine found (looked for {names}){advice}")


def _failure(command: Sequence[str]) -> str | None:
    """A description of a command's failure, with the first line of its output; ``None`` if it succeeded."""
    what = f"{' '.join(command)} failed"
    try:
        ran = subprocess.run(  # noqa: S603
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"{what}: no answer in {_PROBE_SECONDS} s"
    except OSError as error:
        return f"{what}: {error}"
    if ran.returncode == 0:
        return None
    said = ran.stderr.decode(errors="replace").strip()
    for probe, words, advice in _ADVICE:
        if probe == " ".join(command) and words in said:
            return advice
    said = said.split("\n", 1)[0].strip()
    return f"{what}: {said}" if said else what
