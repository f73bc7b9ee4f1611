"""Configuration: activates what the application asks for, in code or in a file."""

from spanhook.config.file import ConfigurationFile, load_file, read_file, schema
from spanhook.config.instrumenting import Given, in_force, instrument, limits_of, uninstrument
from spanhook.config.iterating import iteration_hooks
from spanhook.config.locating import locate
from spanhook.config.other_files import read_model
from spanhook.config.own_hooks import OwnHooks, load_own
from spanhook.config.policies import SETTINGS as SHARED_SETTINGS
from spanhook.config.policies import Shared, built_policies, checked_policies, read_policies
from spanhook.config.reload import Follower, follow
from spanhook.config.requirements import check_installed, require_bound
from spanhook.config.scheduling import scheduler
from spanhook.gating import load_hooks

__all__ = [
    "SHARED_SETTINGS",
    "ConfigurationFile",
    "Follower",
    "Given",
    "OwnHooks",
    "Shared",
    "built_policies",
    "check_installed",
    "checked_policies",
    "follow",
    "in_force",
    "instrument",
    "iteration_hooks",
    "limits_of",
    "load_file",
    "load_hooks",
    "load_own",
    "locate",
    "read_file",
    "read_model",
    "read_policies",
    "require_bound",
    "scheduler",
    "schema",
    "uninstrument",
]
