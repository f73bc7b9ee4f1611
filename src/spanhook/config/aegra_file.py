"""Which file is Aegra's configuration, found as Aegra finds it. It does not know what is in the file.

Aegra's own code is ``aegra_api.config._resolve_config_path``; pydantic-settings reads its variable in any case.
"""

import os
from collections.abc import Mapping

NAMES = ("aegra.json", "langgraph.json")
"""The names of the file in the working directory, unless the variable names another; in this order."""

VARIABLE = "AEGRA_CONFIG"
INHERITED = "SPANHOOK_AEGRA"
"""The variable between spanhook's own processes with the path of Aegra's file whose hooks are active."""


def named_file(folder: str, environ: Mapping[str, str]) -> str:
    """The absolute path of the file that ``AEGRA_CONFIG`` names; empty if it names none that exists."""
    value = {name.upper(): text for name, text in environ.items()}.get(VARIABLE, "")
    path = os.path.abspath(os.path.join(folder, value))
    return path if value and os.path.exists(path) else ""


def default_file(folder: str) -> str:
    """The absolute path of the file in the working directory; empty if there is none."""
    paths = (os.path.abspath(os.path.join(folder, name)) for name in NAMES)
    return next(filter(os.path.exists, paths), "")


def is_aegra_file(path: str) -> bool:
    """Whether the file at an absolute path is Aegra's."""
    if os.path.basename(path) in NAMES:
        return True
    return path in (os.environ.get(INHERITED), named_file(os.getcwd(), os.environ))
