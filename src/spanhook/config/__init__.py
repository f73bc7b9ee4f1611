"""Configuration: activates what the application asks for, in code or in a file."""

from spanhook.config.file import ConfigurationFile, load_file, read_file, schema
from spanhook.config.instrumenting import Given, check_installed, instrument, load_hooks, require_bound, uninstrument
from spanhook.config.locating import locate
from spanhook.config.own_hooks import OwnHooks, load_own
from spanhook.config.reload import follow

__all__ = [
    "ConfigurationFile",
    "Given",
    "OwnHooks",
    "check_installed",
    "follow",
    "instrument",
    "load_file",
    "load_hooks",
    "load_own",
    "locate",
    "read_file",
    "require_bound",
    "schema",
    "uninstrument",
]
