"""Leaves these tests out where the instrumentations are not installed: CI has an environment for them."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("logfire") and find_spec("openinference") else ["test_*.py"]
