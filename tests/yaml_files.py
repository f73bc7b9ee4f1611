"""YAML of the project, which many tests read: with libyaml, as its parser in Python takes a second for all of it."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # some builds lack libyaml


@cache
def load_file(path: Path) -> Any:
    """The content of a file with one document, the same one for all who ask."""
    return yaml.load(path.read_bytes(), _LOADER)
