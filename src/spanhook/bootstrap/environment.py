"""The ``SPANHOOK_*`` variables, which only spanhook's commands and loaders read."""

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import get_args

from spanhook.errors import ConfigurationError
from spanhook.gating import is_path
from spanhook.settings import Mode, Settings

HOOKS = "SPANHOOK_HOOKS"
REQUIRE = "SPANHOOK_REQUIRE"
MODE = "SPANHOOK_MODE"
CONSOLE = "SPANHOOK_CONSOLE"
STEPS = "SPANHOOK_STEPS"
STREAM_USAGE = "SPANHOOK_STREAM_USAGE"
STRICT = "SPANHOOK_STRICT"
ALLOW = "SPANHOOK_ALLOW"
ERROR_MESSAGES = "SPANHOOK_ERROR_MESSAGES"
INPUT_OUTPUT_VALUES = "SPANHOOK_INPUT_OUTPUT_VALUES"
SETTINGS = (
    HOOKS,
    REQUIRE,
    MODE,
    CONSOLE,
    STEPS,
    STREAM_USAGE,
    STRICT,
    ALLOW,
    ERROR_MESSAGES,
    INPUT_OUTPUT_VALUES,
)
"""Variables that users set."""

STARTED = "SPANHOOK_STARTED"
PATH = "SPANHOOK_PATH"
PROBE = "SPANHOOK_PROBE"
INTERNAL = (STARTED, PATH, PROBE)
"""Variables between spanhook's own processes: that ``spanhook run`` started this one, where the application's modules
were found, and that the start-up code should only answer a check."""

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to start an application.

    Attributes:
        hooks: Specs such as ``./hooks.py:hooks``; see ``spanhook.config.load_hooks``.
        require: Libraries that must be bound for it to start.
        mode, steps, stream_usage, strict, allow, error_messages, input_output_values: See ``spanhook.Settings``.
        console: Print each finished run on standard error.
    """

    hooks: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    mode: Mode = "enforce"
    console: bool = False
    steps: bool = False
    stream_usage: bool = False
    strict: bool = False
    allow: tuple[str, ...] = ()
    error_messages: bool = False
    input_output_values: bool = False

    @property
    def settings(self) -> Settings:
        return Settings(
            mode=self.mode,
            steps=self.steps,
            stream_usage=self.stream_usage,
            strict=self.strict,
            allow=self.allow,
            error_messages=self.error_messages,
            input_output_values=self.input_output_values,
        )

    def anchored(self) -> "Wanted":
        """The same with absolute paths, which also work for children with another working directory."""
        return replace(self, hooks=tuple(_absolute(spec) for spec in self.hooks))

    def variables(self) -> dict[str, str]:
        """The same settings as environment variables."""
        return {
            HOOKS: _joined(self.hooks),
            REQUIRE: ",".join(self.require),
            MODE: self.mode,
            CONSOLE: str(int(self.console)),
            STEPS: str(int(self.steps)),
            STREAM_USAGE: str(int(self.stream_usage)),
            STRICT: str(int(self.strict)),
            ALLOW: ",".join(self.allow),
            ERROR_MESSAGES: str(int(self.error_messages)),
            INPUT_OUTPUT_VALUES: str(int(self.input_output_values)),
        }


def read(
    environ: Mapping[str, str],
    *,
    hooks: Iterable[str] = (),
    require: Iterable[str] = (),
    mode: str | None = None,
    console: bool = False,
    steps: bool = False,
    stream_usage: bool = False,
    strict: bool = False,
    allow: Iterable[str] = (),
    error_messages: bool = False,
    input_output_values: bool = False,
) -> Wanted:
    """The settings from the arguments, and from the environment where an argument is not given.

    Raises:
        ConfigurationError: A variable or an argument has an invalid value, or a variable is misspelt.
    """
    hooks, require, allow = tuple(hooks), tuple(require), tuple(allow)
    for option, values in (("--hooks", hooks), ("--require", require), ("--allow", allow)):
        if not all(value.strip() for value in values):
            raise ConfigurationError(
                f"{option} was given an empty value; leave it out, or check the variable it was taken from"
            )
    for name in environ:
        meant = misspelt(name)
        if meant:
            raise ConfigurationError(f"{name} is unknown; did you mean {meant}?")
    return Wanted(
        hooks=hooks or tuple(split_specs(environ.get(HOOKS, ""))),
        require=_names(require, environ, REQUIRE),
        mode=_mode(mode or environ.get(MODE, "")),
        console=console or _switch(environ, CONSOLE),
        steps=steps or _switch(environ, STEPS),
        stream_usage=stream_usage or _switch(environ, STREAM_USAGE),
        strict=strict or _switch(environ, STRICT),
        allow=_names(allow, environ, ALLOW),
        error_messages=error_messages or _switch(environ, ERROR_MESSAGES),
        input_output_values=input_output_values or _switch(environ, INPUT_OUTPUT_VALUES),
    )


def misspelt(name: str) -> str:
    """The spanhook variable of which ``name`` is probably a misspelling; empty if none."""
    if not name.startswith("SPANHOOK") or name in SETTINGS or name in INTERNAL:
        return ""
    return next(iter(difflib.get_close_matches(name, SETTINGS, 1, 0.88)), "")


def split_specs(value: str) -> list[str]:
    """Specs separated by commas, by newlines or by ``os.pathsep``, which also appears inside a spec."""
    if "\n" in value:
        return [line.strip() for line in value.splitlines() if line.strip()]
    specs: list[str] = []
    for part in filter(None, map(str.strip, value.split(","))):
        pieces = part.split(os.pathsep)
        if len(pieces) > 2 and len(pieces) % 2 == 0:
            specs += [f"{target}:{name}" for target, name in zip(pieces[::2], pieces[1::2], strict=True)]
        else:
            specs.append(part)
    return specs


def split_names(values: Iterable[str]) -> list[str]:
    """Names separated by commas, from several values."""
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _names(given: Iterable[str], environ: Mapping[str, str], variable: str) -> tuple[str, ...]:
    return tuple(split_names(given)) or tuple(split_names([environ.get(variable, "")]))


def _joined(specs: tuple[str, ...]) -> str:
    joined = ",".join(specs)
    return joined if split_specs(joined) == list(specs) else "\n".join((*specs, ""))


def _absolute(spec: str) -> str:
    target, separator, name = spec.rpartition(":")
    if not separator or not is_path(target):
        return spec
    return f"{os.path.abspath(os.path.expanduser(target))}:{name}"


def _mode(value: str) -> Mode:
    for known in get_args(Mode):
        if value.strip().lower() == known:
            return known
    if not value.strip():
        return "enforce"
    raise ConfigurationError(f"mode {value!r} is unknown; expected one of {', '.join(get_args(Mode))}")


def _switch(environ: Mapping[str, str], variable: str) -> bool:
    value = environ.get(variable, "").strip().lower()
    if value not in _YES + _NO:
        raise ConfigurationError(f"{variable}={value!r}, expected 1 or 0")
    return value in _YES
