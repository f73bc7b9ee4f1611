"""Query parameters of the API: one that a route does not know is a mistake, as an unknown key of a body is.

A filter that is misspelt would otherwise answer about everything, and ``?tennant=acme`` change another tenant's policy.
"""

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute

from spanhook.server.problems import Mistake, Problem


def only_known(request: Request) -> None:
    """A dependency of routes that refuses unknown query parameters, and several of one that takes a single value.

    Raises:
        Problem: There is one: ``invalid``.
    """
    if not request.scope["query_string"]:
        return
    known = _known(request.scope["route"])
    given = Counter(name for name, _ in request.query_params.multi_items())
    mistaken = [name for name, times in given.items() if name not in known or (times > 1 and not known[name])]
    mistakes = [Mistake(place=f"query.{name[:100]}", message=_mistake(name, known)) for name in mistaken[:50]]
    if mistakes:
        raise Problem("invalid", "; ".join(f"{one.place}: {one.message}" for one in mistakes[:3]), errors=mistakes)


def _mistake(name: str, known: dict[str, bool]) -> str:
    if name in known:
        return "given more than once"
    close = get_close_matches(name[:100], known, 1)
    names = ", ".join(sorted(known)) or "no parameters"
    return f"unknown; did you mean {close[0]!r}?" if close else f"unknown; this takes {names}"


def _known(route: APIRoute) -> dict[str, bool]:
    """The query parameters of a route by name, and whether each takes several values."""
    return {
        one.alias: getattr(one.field_info.annotation, "__origin__", None) is list
        for one in _parameters(route.dependant)
    }


def _parameters(dependant: Any) -> Iterator[Any]:
    yield from dependant.query_params
    for one in dependant.dependencies:
        yield from _parameters(one)
