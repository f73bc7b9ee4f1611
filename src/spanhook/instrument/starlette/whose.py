"""Who sent a request, as the application's own authentication has found out. What a client sends is never believed."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from spanhook.instrument.starlette.incoming import Scope
from spanhook.instrument.surroundings import settings

_USER = ("user_id", "identity", "id", "sub", "username")
_TENANT = ("tenant_id", "org_id", "organization_id")
_SESSION = ("session_id",)


def whose(scope: Scope) -> Mapping[str, str]:
    """Tenant, user and session of a request.

    They are what ``Settings(request_identity=...)`` returns if that is set; else attributes of ``request.state``
    (``tenant_id``, ``user_id``, ``session_id``), and of the user that stands there or in ``scope["user"]``.
    """
    asked = settings().request_identity
    if asked is not None:
        return {name: str(value) for name, value in asked(scope).items() if value}
    state: Any = scope.get("state") or {}
    found: dict[str, str] = {}
    users = [one for one in (_get(state, "user"), scope.get("user")) if _is_known(one)]
    for name, names in (("tenant_id", _TENANT), ("user_id", _USER), ("session_id", _SESSION)):
        for holder, asked_for in ((state, (name,)), *((user, names) for user in users)):
            value = holder if isinstance(holder, str) and name == "user_id" else _first(holder, asked_for)
            if value:
                found[name] = value
                break
    return found


def _is_known(user: Any) -> bool:
    if isinstance(user, Mapping):
        return True
    try:
        return user is not None and getattr(user, "is_authenticated", True) is not False
    except Exception:  # as in `_get`
        return True


def _first(holder: Any, names: Iterable[str]) -> str:
    for name in names:
        value = _get(holder, name)
        if value is not None and not isinstance(value, bool | Mapping) and not callable(value) and str(value):
            return str(value)
    return ""


def _get(holder: Any, name: str) -> Any:
    """A field of a mapping or an object; a property that fails is none."""
    if isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name)
    try:
        return getattr(holder, name, None)
    except Exception:  # such as Starlette's BaseUser.identity, unless it is overridden
        return None
