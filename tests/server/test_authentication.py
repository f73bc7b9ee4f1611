from collections.abc import Generator
from pathlib import Path

import pytest

from tests.server.serving import SECRET, TOKENS, Served, bearer, served, token

SEEN = "/metrics"
"""A path that any known operator with ``usage:read`` may read."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(tmp_path_factory.mktemp("auth"), api_keys=True, tokens=TOKENS, failures="1000/minute") as one:
            yield one


def test_nobody_is_served_without_credentials(server: Served) -> None:
    response = server.client.get(SEEN)
    assert (response.status_code, response.json()["code"]) == (401, "credentials_missing")
    assert response.headers["www-authenticate"] == "Bearer"


def test_what_is_not_there_is_as_secret_as_what_is(server: Served) -> None:
    assert server.client.get("/v1/nothing").json() == server.client.get(SEEN).json()


@pytest.mark.parametrize(
    "given",
    [
        "Bearer:aaaaaaaaaaaaaaaaaaaaaaaa",
        "Bearer xyz xyz xyz xyz xyz",
        "Basic YTpiYTpiYTpiYTpiYTpiYTpi",
        "Token xyzxyzxyzxyzxyzxyzxyz",
        "shk_000000000000_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "Bearer shk_000000000000_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        f"Bearer {'x' * 10000}",
    ],
)
def test_what_is_no_credential_is_refused(server: Served, given: str) -> None:
    response = server.client.get(SEEN, headers={"Authorization": given})
    assert (response.status_code, response.json()["code"]) == (401, "credentials_invalid")
    assert given[-20:] not in response.text


def test_two_credentials_are_none(server: Served) -> None:
    key = server.key("", "usage:read")["Authorization"]
    response = server.client.get(SEEN, headers=[("Authorization", key), ("Authorization", "Bearer x")])
    assert response.status_code == 401


def test_a_key_holds_until_it_is_revoked(server: Served) -> None:
    from spanhook.server import LOCAL, KeyStore

    key = server.key("", "usage:read")
    assert server.client.get(SEEN, headers=key).status_code == 200
    key_id = key["Authorization"].split("_")[1]
    assert server.with_database(lambda one: KeyStore(one).revoke(LOCAL, key_id))
    assert server.client.get(SEEN, headers=key).json()["code"] == "credentials_invalid"


def test_a_key_with_another_secret_is_refused(server: Served) -> None:
    one, two = server.key("", "usage:read")["Authorization"], server.key("", "usage:read")["Authorization"]
    mixed = f"{one[:-43]}{two[-43:]}"
    assert server.client.get(SEEN, headers={"Authorization": mixed}).status_code == 401


def test_scopes_are_asked_for(server: Served) -> None:
    response = server.client.get(SEEN, headers=server.key("", "runs:read"))
    assert (response.status_code, response.json()["code"]) == (403, "scope_missing")
    response = server.client.get(SEEN, headers=server.key("acme", "usage:read"))
    assert (response.status_code, response.json()["code"]) == (403, "operators_only")


def test_tokens_are_accepted_beside_keys(server: Served) -> None:
    good = bearer(token("the operators", ["usage:read"]))
    assert server.client.get(SEEN, headers=good).status_code == 200
    assert server.client.get(SEEN, headers=bearer(token("the operators", ["usage:read"], exp=1))).status_code == 401


def test_without_authentication_a_caller_on_this_machine_may_do_everything(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert server.client.get(SEEN).status_code == 200
        for header in ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"):
            response = server.client.get(SEEN, headers={header: "192.0.2.1"})
            assert (response.status_code, response.json()["code"]) == (403, "forwarded")


def test_without_authentication_wrong_credentials_are_still_wrong(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert server.client.get(SEEN, headers=bearer("x")).status_code == 401
        assert server.client.get(SEEN, headers=server.key("", "runs:read")).status_code == 403
