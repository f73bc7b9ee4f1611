"""Start spanhook before the application's first import."""

from spanhook.bootstrap.environment import INTERNAL, SETTINGS, Wanted
from spanhook.bootstrap.environment import read as read_environment
from spanhook.bootstrap.launch import run
from spanhook.bootstrap.startup import SITE, auto_instrument, load_aegra, start
from spanhook.bootstrap.target import resolve

__all__ = [
    "INTERNAL",
    "SETTINGS",
    "SITE",
    "Wanted",
    "auto_instrument",
    "load_aegra",
    "read_environment",
    "resolve",
    "run",
    "start",
]
