"""Who a run is for."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, cast

from spanhook.model import exact_text

_FIELDS = ("identity", "display_name", "email", "org_id", "permissions")


class User:
    """The user of a run. It is frozen. Further fields, such as ``user.plan``, are attributes too.

    Args:
        identity: The user's id; empty if the user is not known.
        display_name: The name to show.
        email: The address.
        org_id: The organization.
        permissions: What the user may do, such as ``"agents:run"``.
        **further: Further fields.
    """

    identity: str
    display_name: str | None
    email: str | None
    org_id: str | None
    permissions: tuple[str, ...]

    def __init__(
        self,
        identity: str = "",
        *,
        display_name: str | None = None,
        email: str | None = None,
        org_id: str | None = None,
        permissions: Iterable[str] = (),
        **further: Any,
    ) -> None:
        several = (permissions,) if isinstance(permissions, str) else tuple(permissions)
        known = (identity, display_name, email, org_id, several)
        vars(self).update(zip(_FIELDS, known, strict=True), **further)

    @property
    def further(self) -> Mapping[str, Any]:
        """The further fields."""
        return MappingProxyType({name: value for name, value in vars(self).items() if name not in _FIELDS})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the user {vars(self).get('identity')!r} has no field {name!r}; it has {', '.join(vars(self))}"
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a User cannot be changed: {name}={value!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a User cannot be changed: del {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, User) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        return f"User({', '.join(f'{name}={value!r}' for name, value in vars(self).items() if value)})"


_TAKEN = {"self", *vars(User)}


def user_of(given: object) -> User:
    """The user from any form that a server or an application gives: a mapping, an object, or an id."""
    if isinstance(given, User):
        return given
    if isinstance(given, str):
        return User(exact_text(given))
    fields = {name: value for name, value in _fields(given).items() if name.isidentifier()}
    identity = fields.pop("identity", "")
    permissions = fields.pop("permissions", None) or ()
    further: dict[str, Any] = {name: value for name, value in fields.items() if name not in _TAKEN}
    return User(exact_text(identity), permissions=permissions, **further)


def _fields(given: Any) -> dict[str, Any]:
    """The fields of a user that can be found."""
    if isinstance(given, Mapping):
        return {str(name): value for name, value in cast("Mapping[Any, Any]", given).items()}
    fields: dict[str, Any] = {}
    for listed in ("model_dump", "dict"):  # pydantic's models; the users of LangGraph's own server
        listing = getattr(given, listed, None)
        if callable(listing):
            fields = dict(cast("Mapping[str, Any]", listing()))
            break
    else:
        fields = {name: value for name, value in getattr(given, "__dict__", {}).items() if not name.startswith("_")}
    for name in _FIELDS:  # these may be properties
        if name not in fields and (value := getattr(given, name, None)) is not None:
            fields[name] = value
    return fields
