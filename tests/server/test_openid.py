import json
import time

import pytest

from spanhook.errors import ConfigurationError
from spanhook.server import Login, Tokens, sessions
from spanhook.server.openid import SESSION, OpenID, _plain
from tests.server.provider import SECRET

LOGIN = Login(client_id="spanhook", client_secret_env="SPANHOOK_TEST_OPENID", url="http://127.0.0.1:8321")
TOKENS = Tokens(issuer="https://login.example", audience="api", jwks="https://login.example/keys")
LATER = int(time.time()) + 3600


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANHOOK_TEST_OPENID", SECRET)


def session(of: OpenID, **claims: object) -> str:
    return sessions.seal(SESSION, json.dumps({"sub": "ada", "tenant_id": "acme", **claims}), of._key, LATER)


def test_the_secret_is_there_and_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANHOOK_TEST_OPENID", "short")
    with pytest.raises(ConfigurationError, match="has 5 bytes; login needs a secret of at least 32"):
        OpenID(LOGIN, TOKENS)
    monkeypatch.delenv("SPANHOOK_TEST_OPENID")
    with pytest.raises(ConfigurationError, match="is not set"):
        OpenID(LOGIN, TOKENS)


def test_a_session_says_who_it_is() -> None:
    known = OpenID(LOGIN, TOKENS)
    found = known.principal(session(known, scope=["runs:read", "nonsense"]))
    assert found is not None
    assert (found.subject, found.tenant, found.operator, found.how) == ("ada", "acme", False, "login")
    assert found.scopes == {"runs:read"}


def test_a_session_ends_with_the_secret_the_issuer_and_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    known = OpenID(LOGIN, TOKENS)
    given = session(known)
    others = [
        OpenID(LOGIN, TOKENS.model_copy(update={"issuer": "https://other.example"})),
        OpenID(LOGIN.model_copy(update={"client_id": "other"}), TOKENS),
        OpenID(LOGIN, TOKENS.model_copy(update={"tenant_claim": "organization"})),
    ]
    monkeypatch.setenv("SPANHOOK_TEST_OPENID", "b" * 32)
    others.append(OpenID(LOGIN, TOKENS))
    assert [one.principal(given) for one in others] == [None] * 4
    assert known.principal(given) is not None


def test_what_a_session_may_follows_the_settings() -> None:
    known = OpenID(LOGIN, TOKENS)
    found = OpenID(LOGIN, TOKENS.model_copy(update={"operator_tenant": "acme"})).principal(session(known))
    assert found is not None
    assert (found.operator, found.tenant) == (True, "")


def test_only_codes_of_errors_are_shown() -> None:
    assert _plain("access_denied") == "access_denied"
    assert {_plain(one) for one in ("", "call 555", "<b>", "a" * 51, "é")} == {"without a reason"}
