import pytest
from sqlalchemy import select, update

from spanhook.errors import ConfigurationError
from spanhook.server import LOCAL, KeyStore
from spanhook.server.keys import split_key
from spanhook.store.control import Database, tables

pytestmark = pytest.mark.anyio


async def test_a_key_says_whose_it_is_and_what_it_may(database: Database) -> None:
    keys = KeyStore(database)
    text, kept = await keys.create(LOCAL, "ci", "acme", ["hooks:manage"])
    found = split_key(text)
    assert found is not None
    principal = await keys.verify(*found)
    assert principal is not None
    assert (principal.tenant, principal.operator, principal.how) == ("acme", False, "key")
    assert principal.scopes == {"hooks:manage", "hooks:read"}
    assert (await keys.all())[0].used_ns > 0
    assert await keys.verify(kept.key_id, "x" * 43) is None
    assert await keys.verify("0" * 12, found[1]) is None


async def test_a_key_without_a_tenant_is_an_operators(database: Database) -> None:
    keys = KeyStore(database)
    text, _ = await keys.create(LOCAL, "ops", "", ["hooks:admin"])
    principal = await keys.verify(*(split_key(text) or ("", "")))
    assert principal is not None
    assert principal.operator


async def test_an_expired_key_is_none(database: Database) -> None:
    keys = KeyStore(database)
    text, kept = await keys.create(LOCAL, "ci", "acme", ["hooks:read"], days=1)
    found = split_key(text) or ("", "")
    assert await keys.verify(*found) is not None
    async with database.writing() as connection:
        await connection.execute(update(tables.api_keys).values(expires_ns=kept.created_ns))
    assert await keys.verify(*found) is None


async def test_only_scopes_that_there_are_can_be_given(database: Database) -> None:
    keys = KeyStore(database)
    for scopes in ([], ["hooks:write"], ["hooks:read", "*"]):
        with pytest.raises(ConfigurationError, match="scope"):
            await keys.create(LOCAL, "ci", "acme", scopes)
    assert await keys.all() == []


async def test_the_secret_is_nowhere_in_the_database(database: Database) -> None:
    text, _ = await KeyStore(database).create(LOCAL, "ci", "acme", ["hooks:read"])
    secret = text.split("_", 2)[2]
    for table in tables.metadata.sorted_tables:
        async with database.reading() as connection:
            rows = (await connection.execute(select(table))).all()
        assert secret not in str(rows), table.name
