"""Configuration: activates what the application asks for, in code or in a file."""

from spanhook.config.aegra_file import INHERITED as AEGRA_VARIABLE
from spanhook.config.bound import (
    bind_functions,
    bound_functions,
    check_functions,
    is_function,
    require_functions,
    unbound_functions,
)
from spanhook.config.completeness import END_MARK, check_marked, lacks_end_mark
from spanhook.config.file import ConfigurationFile, load_file, read_file, schema
from spanhook.config.inheriting import VARIABLE as ACTIVE_VARIABLE
from spanhook.config.inheriting import check_inherited
from spanhook.config.instrumenting import Given, in_force, instrument, limits_of, uninstrument
from spanhook.config.iterating import iteration_hooks
from spanhook.config.locating import locate, locate_aegra
from spanhook.config.other_files import read_model
from spanhook.config.own_hooks import OwnHooks, load_own
from spanhook.config.policies import SETTINGS as SHARED_SETTINGS
from spanhook.config.policies import Shared, built_policies, checked_policies, read_policies
from spanhook.config.presence import FollowingProcess, following
from spanhook.config.reading import Document, shown
from spanhook.config.reading import read as read_document
from spanhook.config.reload import Follower, follow
from spanhook.config.requirements import check_installed, require_bound
from spanhook.config.scheduling import scheduler
from spanhook.gating import load_hooks

__all__ = [
    "ACTIVE_VARIABLE",
    "AEGRA_VARIABLE",
    "END_MARK",
    "SHARED_SETTINGS",
    "ConfigurationFile",
    "Document",
    "Follower",
    "FollowingProcess",
    "Given",
    "OwnHooks",
    "Shared",
    "bind_functions",
    "bound_functions",
    "built_policies",
    "check_functions",
    "check_inherited",
    "check_installed",
    "check_marked",
    "checked_policies",
    "follow",
    "following",
    "in_force",
    "instrument",
    "is_function",
    "iteration_hooks",
    "lacks_end_mark",
    "limits_of",
    "load_file",
    "load_hooks",
    "load_own",
    "locate",
    "locate_aegra",
    "read_document",
    "read_file",
    "read_model",
    "read_policies",
    "require_bound",
    "require_functions",
    "scheduler",
    "schema",
    "shown",
    "unbound_functions",
    "uninstrument",
]
