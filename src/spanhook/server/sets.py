"""The sets that processes of agents follow: made when something has changed, and kept until then."""

import hashlib
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.control_plane import SigningKey, sealed
from spanhook.errors import ConfigurationError
from spanhook.server.policy_store import policies_in
from spanhook.server.revisions import version_of
from spanhook.server.scopes import Principal
from spanhook.store.control import Database, tables

_KEPT = 256
_hooks, _policies = tables.hooks, tables.policies


class Sent(NamedTuple):
    """A set as it is sent.

    Attributes:
        version: Its version.
        etag: What names these bytes.
        content: The bytes.
    """

    version: int
    etag: str
    content: bytes


class Sets:
    """The sets of a database.

    Args:
        database: The database.
        key: What they are signed with; ``None`` if they are not.
    """

    def __init__(self, database: Database, key: SigningKey | None) -> None:
        self._database, self._key = database, key
        self._known: OrderedDict[str | None, Sent] = OrderedDict()

    async def of(self, principal: Principal) -> Sent:
        """The set for the caller's processes: for operators, that of all tenants.

        Raises:
            StoreError: The database cannot be used now.
        """
        tenant = None if principal.operator else principal.tenant
        known = self._known.get(tenant)
        async with self._database.reading() as connection:
            if connection.dialect.name == "postgresql":  # SQLite reads one state in any case
                await connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            version = await version_of(connection, tenant)
            if known is not None and known.version == version:
                return known
            sent = await self._made(connection, tenant, version)
        self._known[tenant] = sent
        self._known.move_to_end(tenant)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return sent

    async def _made(self, connection: AsyncConnection, tenant: str | None, version: int) -> Sent:
        definitions = await _definitions(connection, tenant)
        policies, settings = await _shared(connection, tenant)
        content = sealed(
            tenant or "", version, definitions=definitions, policies=policies, settings=settings, key=self._key
        )
        return Sent(version, f'"{hashlib.sha256(content).hexdigest()[:32]}"', content)


async def _definitions(connection: AsyncConnection, tenant: str | None) -> list[Any]:
    query = (
        select(_hooks.c.definition).where(_hooks.c.enabled.is_(True)).order_by(_hooks.c.created_ns, _hooks.c.hook_id)
    )
    if tenant is not None:
        query = query.where(_hooks.c.tenant_id.in_(("", tenant)))
    return list((await connection.execute(query)).scalars())


async def _shared(connection: AsyncConnection, tenant: str | None) -> tuple[list[Any], dict[str, Any]]:
    """The policies in force, those for all tenants first, and the settings: a tenant's own override the others."""
    newest = select(func.max(_policies.c.version)).group_by(_policies.c.tenant_id)
    query = select(_policies.c.tenant_id, _policies.c.content).where(_policies.c.version.in_(newest))
    if tenant is not None:
        query = query.where(_policies.c.tenant_id.in_(("", tenant)))
    groups, settings = list[Any](), dict[str, Any]()
    for whose, content in await connection.execute(query.order_by(_policies.c.tenant_id)):
        shared = await policies_in(content)
        own = {"tenant_id": whose} if whose else {}
        groups.append({"tenant_id": whose, "policies": [{**one, **own} for one in shared.policies]})
        if whose in ("", tenant):
            settings.update(shared.settings)
    return groups, settings


def read_signing_key(path: str) -> SigningKey | None:
    """The private key in a file; ``None`` if no file is named.

    Raises:
        ConfigurationError: The file has none.
    """
    if not path:
        return None
    try:
        key = load_pem_private_key(Path(path).read_bytes(), None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ConfigurationError(f"signing_key: {path!r} cannot be read: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigurationError(f"signing_key: {path!r} is not an Ed25519 key; make one with openssl genpkey")
    return key
