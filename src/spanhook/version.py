"""The version of the package, which the build reads from here, and where the project is at home."""

__version__ = "0.1.0"

HOME = ""
"""The address of the project. Empty until there is one; nothing else may print or link it."""
