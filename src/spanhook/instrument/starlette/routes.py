"""Which route a request came by."""

from collections.abc import Iterable
from typing import Any

from spanhook.instrument.starlette.incoming import Scope


def route_of(scope: Scope) -> str:
    """The path of a request's route, with names in place of parameters, below all mounts; empty if unknown."""
    mounted = str(scope.get("root_path", "")).removeprefix(str(scope.get("app_root_path", "")))
    route = scope.get("route")
    path = getattr(route, "path_format", None) or getattr(route, "path", None)
    if isinstance(path, str):
        return f"{mounted}{path}"
    routes: Iterable[Any] = getattr(scope.get("router"), "routes", ())
    return _found(routes, scope.get("endpoint"), "") or ""


def _found(routes: Iterable[Any], endpoint: Any, above: str) -> str | None:
    for route in routes:
        path = f"{above}{getattr(route, 'path', '')}"
        if getattr(route, "endpoint", None) is endpoint:
            return path
        below = _found(getattr(route, "routes", None) or (), endpoint, path)
        if below is not None:
            return below
    return None
