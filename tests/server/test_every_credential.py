"""Keys and sessions that have ended, and forms that no page of ours has sent, on every route and page."""

import time
from collections.abc import Generator
from typing import Any

import pytest
from sqlalchemy import update

from spanhook.server import LOCAL, SCOPES, KeyStore
from spanhook.server.keys import hash_of
from spanhook.server.sessions import COOKIE, seal
from spanhook.store.control import Database, tables
from tests.server.browsing import Browser
from tests.server.serving import SECRET, TOKENS, Served, bearer, served, token
from tests.server.test_every_route import EVERY, FORGED, GUARDED, HOOK, IN_PATHS, PAGES, ask

FORMS = [row for row in PAGES if row[0] == "POST" and row[1] != "/login"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    settings: dict[str, Any] = {"rate": "1000000/minute", "failures": "1000000/minute"}
    settings["webhooks"] = {"key_env": "SPANHOOK_TEST_SECRET"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(tmp_path_factory.mktemp("credentials"), api_keys=True, tokens=TOKENS, **settings) as one:
            yield one


def session_of(key: str, ends: int = 3600) -> dict[str, str]:
    """The cookie of a session, made as somebody does who knows the whole key and how the server seals."""
    _, key_id, secret = key.removeprefix("Bearer ").split("_", 2)
    return {"Cookie": f"{COOKIE}={seal(key_id, secret, hash_of(secret), int(time.time()) + ends)}"}


@pytest.fixture(scope="module")
def ended(server: Served) -> dict[str, dict[str, str]]:
    """Headers with what was good once."""
    keys = {name: server.key("", *SCOPES)["Authorization"] for name in ("expired", "revoked", "deleted")}
    ids = {name: key.split("_")[1] for name, key in keys.items()}

    async def end(database: Database) -> None:
        table = tables.api_keys
        async with database.writing() as connection:
            past = {"expires_ns": time.time_ns() - 1}
            await connection.execute(update(table).where(table.c.key_id == ids["expired"]).values(past))
            await connection.execute(table.delete().where(table.c.key_id == ids["deleted"]))
        await KeyStore(database).revoke(LOCAL, ids["revoked"])

    server.with_database(end)
    good = server.key("", *SCOPES)["Authorization"]
    other = server.key("", *SCOPES)["Authorization"]
    swapped = session_of(good)["Cookie"].replace(good.split("_")[1], other.split("_")[1])
    return {
        **{f"a key that is {name}": {"Authorization": key} for name, key in keys.items()},
        **{f"a session of a key that is {name}": session_of(key) for name, key in keys.items()},
        "a session that has ended": session_of(good, -1),
        "a session for another key": {"Cookie": swapped},
        "half a key": {"Authorization": good[:-1]},
        "a key in another case": {"Authorization": f"Bearer {good.removeprefix('Bearer ').upper()}"},
    }


@pytest.mark.parametrize("row", GUARDED, ids=" ".join)
def test_nobody_gets_in_with_what_has_ended(
    server: Served, ended: dict[str, dict[str, str]], row: tuple[str, str]
) -> None:
    for name, headers in ended.items():
        status, code = ask(server, row, headers)
        assert (status, code[:12]) == (401, "credentials_"), name


def test_nobody_logs_in_with_what_is_no_key(server: Served, ended: dict[str, dict[str, str]]) -> None:
    texts = [
        one["Authorization"].removeprefix("Bearer ")
        for one in (*ended.values(), *FORGED.values())
        if "Authorization" in one
    ]
    texts += [token("the operators", SCOPES), "", " ", "\0", "é" * 10, "shk_" * 20_000]
    texts += ["' OR 1=1 --", "shk__", "shk_%_%"]
    browser = Browser(server)
    browser.open("/login")
    for text in texts:
        answer = browser.client.post("/login", data={"csrf": browser.token, "key": text})
        assert answer.status_code == 401, text[:50]
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("row", GUARDED, ids=" ".join)
def test_a_session_is_for_pages_and_has_the_scopes_of_its_key(server: Served, row: tuple[str, str]) -> None:
    needed = EVERY[row][0]
    for scope in ("runs:read", "usage:read", "hooks:sync", "telemetry:write"):
        cookie = session_of(server_key(server, scope))
        status, code = ask(server, row, cookie)
        if row not in PAGES:
            assert (status, code) == (401, "credentials_missing")
        elif scope != needed:
            assert (status, code) == (403, "scope_missing") or (row in FORMS and code == "cross_site")


_keys = dict[tuple[str, str], str]()


def server_key(server: Served, scope: str) -> str:
    """One key for each scope."""
    known = (server.url, scope)
    if known not in _keys:
        _keys[known] = server.key("acme", scope)["Authorization"]
    return _keys[known]


@pytest.fixture(scope="module")
def theirs(server: Served) -> str:
    """The id of a hook that a form of somebody else could change."""
    made = server.client.post("/v1/hooks", json=HOOK, headers=bearer(token("acme", ["hooks:manage"])))
    assert made.status_code == 201, made.text
    return made.json()["hook_id"]


@pytest.mark.parametrize("row", FORMS, ids=" ".join)
def test_no_form_is_taken_without_the_token_of_its_own_page(server: Served, theirs: str, row: tuple[str, str]) -> None:
    good, other = Browser(server), Browser(server)
    for browser in (good, other):
        browser.open("/login")
        browser.send("/login", key=server.key("acme", *SCOPES)["Authorization"].removeprefix("Bearer "))
    path, data = row[1].format(**{**dict.fromkeys(IN_PATHS, "x"), "hook_id": theirs}), EVERY[row][1]
    strange = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    for csrf, headers in (("", {}), ("0" * 64, {}), (other.token, {}), (good.token[:-1], {}), (good.token, strange)):
        answer = good.client.post(path, data={**data, "csrf": csrf}, headers=headers)
        assert (answer.status_code, "cross_site" in answer.text) == (403, True), csrf
    found = server.client.get(f"/v1/hooks/{theirs}", headers=bearer(token("acme", ["hooks:read"])))
    assert (found.status_code, found.json()["version"]) == (200, 1)
