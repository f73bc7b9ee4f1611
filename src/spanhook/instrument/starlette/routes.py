"""Which route a request came by."""

from collections.abc import Iterable, Iterator
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
    found = list(_found(routes, scope.get("endpoint"), ""))
    same = [one for one in found if one[0] == mounted]
    return "".join((same or found or [("", "")])[0])


def _found(routes: Iterable[Any], endpoint: Any, above: str) -> Iterator[tuple[str, str]]:
    """The paths of all mounts above an endpoint's routes, and the routes' own."""
    for route in routes:
        path = str(getattr(route, "path", ""))
        if getattr(route, "endpoint", None) is endpoint:
            yield above, path
        yield from _found(getattr(route, "routes", None) or (), endpoint, f"{above}{path}")
