"""What callers may do: scopes, and who a caller is."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Scope = Literal[
    "hooks:read",
    "hooks:manage",
    "hooks:admin",
    "hooks:sync",
    "policies:manage",
    "approvals:decide",
    "usage:read",
    "runs:read",
    "jobs:run",
    "jobs:read",
    "telemetry:write",
    "webhooks:manage",
]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_INCLUDES: dict[Scope, tuple[Scope, ...]] = {
    "hooks:admin": ("hooks:manage", "hooks:read", "policies:manage"),
    "hooks:manage": ("hooks:read",),
}
"""Scopes that are part of another one."""
OPERATORS: Scope = "hooks:admin"
"""The scope for what all tenants have in common. Nobody with a tenant has it."""
OF_TENANTS: tuple[Scope, ...] = ("hooks:manage", "policies:manage")
"""What callers with a tenant have in its place."""


def scopes_of(given: Iterable[object], *, operator: bool) -> frozenset[Scope]:
    """The scopes of a caller: those among what was given, and those that are part of them. Everything else is ignored.

    Args:
        given: Names of scopes.
        operator: Whether the caller has no tenant. Others have the scopes of tenants in place of ``hooks:admin``.
    """
    wanted = {one for one in given if isinstance(one, str)}
    if not operator and OPERATORS in wanted:
        wanted = {*(wanted - {OPERATORS}), *OF_TENANTS}
    known = frozenset[Scope]([scope for scope in SCOPES if scope in wanted])
    return known.union(part for one in known for part in _INCLUDES.get(one, ()))


@dataclass(frozen=True, slots=True)
class Principal:
    """Who sends a request.

    Attributes:
        subject: Who it is, for the audit record: the subject of a token, or the id of an API key.
        tenant: The tenant; empty for operators.
        operator: Whether everything belongs to the caller: all tenants, and what belongs to none.
        scopes: What the caller may do.
        how: How the caller was recognized. ``local`` is a caller on loopback of a server without authentication.
    """

    subject: str
    tenant: str
    operator: bool
    scopes: frozenset[Scope]
    how: Literal["local", "token", "key", "login"]

    def may(self, scope: Scope) -> bool:
        """Whether the caller has a scope."""
        return scope in self.scopes

    def sees(self, tenant: str) -> bool:
        """Whether what belongs to a tenant, or to none if it is empty, is the caller's."""
        return self.operator or (bool(tenant) and tenant == self.tenant)


LOCAL = Principal("local", "", True, frozenset(SCOPES), "local")
"""A caller on loopback, if the server has no authentication."""
