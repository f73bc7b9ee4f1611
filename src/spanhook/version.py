"""The version of the package, which the build reads from here, and the project's address."""

__version__ = "0.1.0"

HOME = ""
"""The address of the project. Empty until there is one; no other file may hold an address."""
