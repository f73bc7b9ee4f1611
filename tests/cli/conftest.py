"""Tests of commands whose extra is not installed here are left out."""

from importlib.util import find_spec

_SERVER = ("fastapi", "sqlalchemy", "jwt", "jinja2", "sse_starlette")

collect_ignore = (
    [] if all(map(find_spec, _SERVER)) else ["test_serving.py", "demo/test_serving.py"]
)  # `.ci/run control-plane` runs them
