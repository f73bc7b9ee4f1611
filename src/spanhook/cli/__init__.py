"""The command ``spanhook``."""

from spanhook.cli.main import main

__all__ = [
    "main",
]
