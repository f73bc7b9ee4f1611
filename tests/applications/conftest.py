"""Leaves these tests out where the applications are not installed: CI has an environment for them."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("deepagents") else ["test_*.py"]
