import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from spanhook.control_plane import SetError, opened
from spanhook.definitions import HookDefinition
from spanhook.errors import ConfigurationError
from spanhook.server import LOCAL, Principal, ServerSettings
from spanhook.server.handlers import Handlers
from spanhook.server.hook_store import HookStore
from spanhook.server.policy_store import PolicyStore
from spanhook.server.scopes import scopes_of
from spanhook.server.sets import Sets, read_signing_key
from spanhook.store.control import Database

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def principal(tenant: str) -> Principal:
    return Principal("ada", tenant, False, scopes_of(["hooks:admin", "hooks:sync"], operator=not tenant), "key")


def definition(name: str, tenant: str = "") -> HookDefinition:
    fields: dict[str, Any] = {
        "name": name,
        "event_type": "tool.execute.pre",
        "handler_ref": "spanhook.hooks.tool_policy:ToolPolicy",
        "config": {"default": "deny"},
        "tenant_id": tenant,
    }
    return HookDefinition.model_validate(fields)


HANDLERS = Handlers(ServerSettings())
POLICY = "version: 1\n{settings}\npolicies: [{{use: tool_policy, id: {id}, with: {{default: deny}}}}]"


async def names(sets: Sets, tenant: str) -> tuple[list[str], list[tuple[str, list[str]]], dict[str, Any]]:
    """Definitions, policies by tenant, and settings of the set for a tenant's processes, or for all without tenant."""
    found = opened((await sets.of(principal(tenant) if tenant else LOCAL)).content, None)
    assert found.tenant == tenant
    policies = [(group["tenant_id"], [one["id"] for one in group["policies"]]) for group in found.policies]
    return [one["name"] for one in found.definitions], policies, dict(found.settings)


async def test_a_tenants_set_has_its_own_hooks_and_those_for_all(database: Database) -> None:
    hooks, policies, sets = HookStore(database), PolicyStore(database, HANDLERS), Sets(database, None)
    for name, tenant in (("everybody's", ""), ("acme's", "acme"), ("globex's", "globex")):
        await hooks.create(LOCAL, definition(name, tenant))
        text = POLICY.format(settings=f"settings: {{chain_timeout_ms: {len(name) * 100}}}", id=name[:-2])
        await policies.put(LOCAL, tenant, text, "", None)
    await policies.put(LOCAL, "acme", POLICY.format(settings="mode: shadow", id="newer"), "", None)

    everybody, acme, globex = ("", ["everybody"]), ("acme", ["newer"]), ("globex", ["globex"])
    assert await names(sets, "acme") == (
        ["everybody's", "acme's"],
        [everybody, acme],
        {"chain_timeout_ms": 1100.0, "mode": "shadow"},
    )
    assert await names(sets, "globex") == (
        ["everybody's", "globex's"],
        [everybody, globex],
        {"chain_timeout_ms": 800.0},
    )
    assert await names(sets, "initech") == (["everybody's"], [everybody], {"chain_timeout_ms": 1100.0})
    assert await names(sets, "") == (
        ["everybody's", "acme's", "globex's"],
        [everybody, acme, globex],
        {"chain_timeout_ms": 1100.0},
    )


async def test_a_tenants_policies_are_for_its_own_operations(database: Database) -> None:
    await PolicyStore(database, HANDLERS).put(principal("acme"), None, POLICY.format(settings="", id="a"), "", None)
    for who in (principal("acme"), LOCAL):
        (group,) = opened((await Sets(database, None).of(who)).content, None).policies
        assert [one["tenant_id"] for one in group["policies"]] == ["acme"]


async def test_a_disabled_definition_is_in_no_set(database: Database) -> None:
    hooks, sets = HookStore(database), Sets(database, None)
    made = await hooks.create(LOCAL, definition("a"))
    await hooks.enable(LOCAL, made.definition.hook_id, enabled=False)
    assert (await names(sets, "acme"))[0] == []


async def test_the_version_grows_with_what_concerns_a_tenant_alone(database: Database) -> None:
    hooks, sets = HookStore(database), Sets(database, None)

    async def versions() -> list[int]:
        return [(await sets.of(who)).version for who in (principal("acme"), principal("globex"), LOCAL)]

    assert await versions() == [0, 0, 0]
    await hooks.create(LOCAL, definition("a", "acme"))
    assert await versions() == [1, 0, 1]
    made = await hooks.create(LOCAL, definition("b"))
    assert await versions() == [2, 1, 2]
    await hooks.delete(LOCAL, made.definition.hook_id)
    assert await versions() == [3, 2, 3]


async def test_a_set_stays_the_same_until_something_changes(database: Database) -> None:
    hooks, sets = HookStore(database), Sets(database, None)
    await hooks.create(LOCAL, definition("a"))
    first = await sets.of(LOCAL)
    assert await sets.of(LOCAL) is first
    assert await Sets(database, None).of(LOCAL) == first
    await hooks.create(LOCAL, definition("b", "acme"))
    assert (await sets.of(LOCAL)).etag != first.etag


async def test_no_set_is_half_of_a_change(database: Database) -> None:
    hooks, policies = HookStore(database), PolicyStore(database, HANDLERS)

    async def change(text: str) -> None:
        await policies.put(LOCAL, "", text, "", None)
        await hooks.create(LOCAL, definition(text[-2]))

    async def look(until: "asyncio.Task[Any]") -> dict[int, set[str]]:
        seen: dict[int, set[str]] = {}
        while not until.done():
            sent = await Sets(database, None).of(LOCAL)
            seen.setdefault(sent.version, set()).add(sent.etag)
        return seen

    async def changes() -> None:
        for number in range(8):
            await change(POLICY.format(settings="", id=f"p{number}"))

    task = asyncio.create_task(changes())
    for seen in await asyncio.gather(look(task), look(task)):
        assert all(len(etags) == 1 for etags in seen.values())
    await task


def written(path: Path, key: Any) -> str:
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return str(path)


async def test_sets_are_signed_with_the_servers_key(database: Database, tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    sent = await Sets(database, read_signing_key(written(tmp_path / "key.pem", key))).of(principal("acme"))
    assert opened(sent.content, public).tenant == "acme"
    assert json.loads(sent.content)["signature"]
    with pytest.raises(SetError, match="is not signed"):
        opened((await Sets(database, None).of(principal("acme"))).content, public)


BAD: dict[str, Callable[[Path], Any]] = {
    "nothing": lambda path: None,
    "something else": lambda path: path.write_text("key"),
    "another kind": lambda path: written(path, generate_private_key(SECP256R1())),
}


@pytest.mark.parametrize("bad", BAD)
async def test_a_key_that_cannot_be_used_is_named(tmp_path: Path, bad: str) -> None:
    BAD[bad](tmp_path / "key.pem")
    with pytest.raises(ConfigurationError, match=r"^signing_key: .*key\.pem"):
        read_signing_key(str(tmp_path / "key.pem"))
    assert read_signing_key("") is None
