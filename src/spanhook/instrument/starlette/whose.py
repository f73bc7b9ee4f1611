"""Who sent a request, as the application's own authentication has found out. What a client sends is never believed."""

from collections.abc import Mapping
from typing import Any

from spanhook.instrument.identities import field_of, first_id
from spanhook.instrument.starlette.incoming import Scope
from spanhook.instrument.surroundings import settings
from spanhook.model import exact_text

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
        return {name: exact_text(value) for name, value in asked(scope).items() if value}
    state: Any = scope.get("state") or {}
    found: dict[str, str] = {}
    users = [one for one in (field_of(state, "user"), scope.get("user")) if _is_known(one)]
    for name, names in (("tenant_id", _TENANT), ("user_id", _USER), ("session_id", _SESSION)):
        of_user = (one if isinstance(one, str) and name == "user_id" else first_id((one,), *names) for one in users)
        value = first_id((state,), name) or next(filter(None, of_user), "")
        if value:
            found[name] = value
    return found


def _is_known(user: Any) -> bool:
    return isinstance(user, Mapping) or (user is not None and field_of(user, "is_authenticated") is not False)
