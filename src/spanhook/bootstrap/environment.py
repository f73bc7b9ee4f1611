"""The ``SPANHOOK_*`` variables, which only spanhook's commands and loaders read."""

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, cast, get_args

from spanhook.config import ACTIVE_VARIABLE, AEGRA_VARIABLE, locate, locate_aegra
from spanhook.errors import ConfigurationError
from spanhook.gating import is_path
from spanhook.settings import Settings

HOOKS = "SPANHOOK_HOOKS"
REQUIRE = "SPANHOOK_REQUIRE"
CONSOLE = "SPANHOOK_CONSOLE"
CONFIG = "SPANHOOK_CONFIG"
OF_SETTINGS: dict[str, Field[Any]] = {
    f"SPANHOOK_{one.name.upper()}": one for one in fields(Settings) if one.name not in ("content", "request_identity")
}
"""A variable for each setting but ``content``, for which the conventions have one of their own, and a function."""

SETTINGS = (HOOKS, REQUIRE, CONSOLE, CONFIG, *OF_SETTINGS)
"""Variables that users set."""

STARTED = "SPANHOOK_STARTED"
PATH = "SPANHOOK_PATH"
PROBE = "SPANHOOK_PROBE"
INTERNAL = (STARTED, PATH, PROBE, ACTIVE_VARIABLE, AEGRA_VARIABLE)
"""Variables between spanhook's own processes: the process that ``spanhook run`` has become, where the application's
modules were found, that the start-up code should only answer a check, which configuration is active, and which file of
Aegra's.
"""

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to start an application, from options and variables.

    Attributes:
        hooks: Specs such as ``./hooks.py:hooks``, which replace those of the configuration file; see
            ``spanhook.config.load_hooks``.
        require: Libraries that must be bound for it to start.
        console: Print each finished run on standard error.
        config: The configuration file; empty for none, ``None`` for the one in the working directory.
        aegra: Aegra's configuration file, if it names hooks: they are active too. Only known where paths are absolute.
        over: Settings by name, which override those of the file; see ``spanhook.Settings``.
        origins: The option or variable that each of these settings comes from.
    """

    hooks: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    console: bool = False
    config: str | None = None
    aegra: str = ""
    over: Mapping[str, Any] = field(default_factory=dict[str, Any])
    origins: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)

    @property
    def settings(self) -> Settings:
        """The settings if there is no configuration file."""
        return Settings(**self.over)

    def anchored(self) -> "Wanted":
        """The same with absolute paths, which also work for children with another working directory.

        Raises:
            ConfigurationError: The working directory has several configuration files, or one that cannot be read.
        """
        folder = os.getcwd()
        aegra = locate_aegra(folder, os.environ)
        if self.config is None:
            config = locate(folder) or aegra
        elif self.config and self.config == os.environ.get(AEGRA_VARIABLE):
            config = aegra  # the parent process has no other
        else:
            config = os.path.abspath(os.path.expanduser(self.config)) if self.config else ""
        over = dict(self.over)
        if "definitions_dir" in over:
            over["definitions_dir"] = os.path.abspath(os.path.expanduser(over["definitions_dir"]))
        return replace(self, hooks=tuple(map(_absolute, self.hooks)), config=config, aegra=aegra, over=over)

    def variables(self) -> dict[str, str]:
        """The same settings as environment variables; settings that are not given have none."""
        said = {HOOKS: _joined(self.hooks), REQUIRE: ",".join(self.require), CONSOLE: str(int(self.console))}
        if self.config is not None:
            said |= {CONFIG: self.config, AEGRA_VARIABLE: self.aegra}
        for variable, setting in OF_SETTINGS.items():
            if setting.name in self.over:
                said[variable] = _said(self.over[setting.name])
        return said


def read(
    environ: Mapping[str, str],
    *,
    hooks: Iterable[str] = (),
    require: Iterable[str] = (),
    console: bool = False,
    config: str | None = None,
    allow: Iterable[str] = (),
    **options: Any,
) -> Wanted:
    """The settings from the arguments, and from the environment where an argument is not given.

    Args:
        environ: The environment.
        hooks, require, console, config, allow: The options with these names.
        **options: Options for other settings; false or ``None`` if not given.

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
    over, origins = dict[str, Any](), dict[str, str]()
    for variable, setting in OF_SETTINGS.items():
        text = environ.get(variable, "").strip()
        option = allow and tuple(split_names(allow)) if setting.name == "allow" else options.pop(setting.name, None)
        if option:
            over[setting.name], origins[setting.name] = option, f"--{setting.name.replace('_', '-')}"
        elif text:
            over[setting.name], origins[setting.name] = _value(variable, setting, text), variable
    assert not options, options
    return Wanted(
        hooks=hooks or tuple(split_specs(environ.get(HOOKS, ""))),
        require=tuple(split_names(require)) or tuple(split_names([environ.get(REQUIRE, "")])),
        console=console or _switch(CONSOLE, environ.get(CONSOLE, "").strip() or "0"),
        config=environ.get(CONFIG) if config is None else config,
        over=over,
        origins=origins,
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


def _joined(specs: tuple[str, ...]) -> str:
    joined = ",".join(specs)
    return joined if split_specs(joined) == list(specs) else "\n".join((*specs, ""))


def _absolute(spec: str) -> str:
    target, separator, name = spec.rpartition(":")
    if not separator or not is_path(target):
        return spec
    return f"{os.path.abspath(os.path.expanduser(target))}:{name}"


def _said(value: Any) -> str:
    """The text of a variable for a setting."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(cast("Iterable[str]", value))
    return str(value)


def _value(variable: str, setting: Field[Any], text: str) -> Any:
    """The value of a setting from the text of its variable."""
    if setting.name == "mode":
        return _mode(setting, text)
    if setting.name in ("allow", "definitions_allow"):
        return tuple(split_names([text]))
    kinds = (setting.type, *get_args(setting.type))
    if bool in kinds:
        return _switch(variable, text)
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                raise ConfigurationError(
                    f"{variable}={text!r}, expected {'a whole number' if number is int else 'a number'}"
                ) from None
    return text


def _mode(setting: Field[Any], text: str) -> str:
    modes = get_args(setting.type)
    if text.lower() not in modes:
        raise ConfigurationError(f"mode {text!r} is unknown; expected one of {', '.join(modes)}")
    return text.lower()


def _switch(variable: str, text: str) -> bool:
    if text.lower() not in _YES + _NO:
        raise ConfigurationError(f"{variable}={text!r}, expected 1 or 0")
    return text.lower() in _YES
