"""Finds the compose file: the given one, else one in the working directory or above it, else the packaged one."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanhook import errors
from spanhook.errors import ConfigurationError

NAME = "docker-compose.yml"
PROFILES = ("demo", "scale", "state")

_OURS = re.compile(r"^name: spanhook$", re.MULTILINE)
_NEEDED = {"state": ("POSTGRES_PASSWORD", "REDIS_PASSWORD")}
"""Variables that a profile needs. The compose file cannot require them, since it would without the profile too."""
_SET = re.compile(r"^\s*(?:export\s+)?(\w+)\s*[=:]\s*[^\s#]", re.MULTILINE)
"""A line of a file ``.env`` that sets a variable to something."""
_SHIPPED = Path(__file__).with_name("files")
"""The folder in an installed package; in a checkout, the same files are at its top."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A compose file, and additional files with variables for it."""

    path: Path
    env_files: tuple[Path, ...] = ()


def compose_file(given: Path | None, profiles: Sequence[str], start: Path | None = None) -> Stack:
    """The compose file to use.

    Args:
        given: The requested file.
        profiles: Profiles to start; ``demo`` installs spanhook from the folder of the compose file.
        start: Where to start looking; the working directory if ``None``.

    Raises:
        ConfigurationError: There is none, or it cannot serve a profile, or a profile's passwords are not set.
    """
    unknown = [profile for profile in profiles if profile not in PROFILES]
    if unknown:
        raise ConfigurationError(f"no profile {unknown[0]!r}; expected one of {', '.join(PROFILES)}")
    here = start or Path.cwd()
    stack = _given(given) if given else _above(here) or _along(here)
    if "demo" in profiles and not (stack.path.parent / "pyproject.toml").exists():
        raise ConfigurationError(
            f"profile 'demo' needs a checkout of spanhook, and {str(stack.path)!r} is not in one; start without it and "
            "run OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 spanhook load"
        )
    unset = sorted({name for profile in profiles for name in _NEEDED.get(profile, ())} - {*_set(stack)})
    if unset:
        raise ConfigurationError(f"profile 'state' needs passwords: set {' and '.join(unset)} in .env")
    return stack


def _set(stack: Stack) -> Iterator[str]:
    """Names of the variables that the compose file gets and that are not empty; the environment's come first."""
    yield from (name for name, value in os.environ.items() if value)
    for path in stack.env_files or (stack.path.with_name(".env"),):
        if path.is_file():
            found = _SET.findall(path.read_text(encoding="utf-8", errors="replace"))
            yield from (name for name in found if name not in os.environ)


def _given(path: Path) -> Stack:
    if not path.is_file():
        raise ConfigurationError(f"no compose file {str(path)!r}")
    return Stack(path.resolve())


def _above(start: Path) -> Stack | None:
    """Compose files of other projects are skipped: they have another name."""
    for folder in (start, *start.parents):
        path = folder / NAME
        if path.is_file() and _OURS.search(path.read_text(encoding="utf-8", errors="replace")):
            return Stack(path.resolve())
    return None


def _along(start: Path) -> Stack:
    for folder in (_SHIPPED, Path(errors.__file__).resolve().parents[2]):
        if (folder / NAME).is_file():
            own = start / ".env"  # compose looks beside its file, which is inside the package
            return Stack(folder / NAME, (own,) if own.is_file() else ())
    raise ConfigurationError(f"no {NAME} of spanhook found here, above or in the package; name one with --file")
