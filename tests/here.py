"""Which of the libraries that are bound are installed here: each has an environment of its own in CI."""

import sys
from importlib.util import find_spec

from spanhook.instrument import INSTRUMENTORS


def is_here(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        return module in sys.modules or find_spec(module) is not None
    except ImportError:  # of the package around it
        return False


BOUND = tuple(one.library for one in INSTRUMENTORS.values() if is_here(one.module))
"""The libraries that are installed here."""
