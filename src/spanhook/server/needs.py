"""What a route asks of its caller: a scope. Every route but the public ones has such a dependency."""

from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute

from spanhook.server.problems import Problem
from spanhook.server.scopes import Principal, Scope
from spanhook.server.services import Services


class Needs:
    """A dependency that gives the caller, who must have a scope.

    Args:
        scope: The scope.
        operator: Whether the caller must be an operator, too.
    """

    def __init__(self, scope: Scope, *, operator: bool = False) -> None:
        self.scope: Scope = scope
        self.operator = operator

    def __call__(self, request: Request) -> Principal:
        principal: Principal = request.state.principal
        if not principal.may(self.scope):
            raise Problem("scope_missing", f"this needs the scope {self.scope}")
        if self.operator and not principal.operator:
            raise Problem("operators_only", "this is for operators: callers without a tenant")
        return principal


def services_of(request: Request) -> Services:
    """The services of the application that serves a request."""
    return request.app.state.services


def needs_of(route: APIRoute) -> Needs | None:
    """What a route asks for; ``None`` if it asks for nothing."""
    for dependency in route.dependant.dependencies:
        call: Any = dependency.call
        if isinstance(call, Needs):
            return call
    return None
