import pytest
from pydantic import ValidationError

from spanhook.server import ServerSettings

ISSUER = {"issuer": "https://login.example/", "audience": "api", "jwks": "keys.json"}
LOGIN = {"client_id": "spanhook", "client_secret_env": "SECRET", "url": "http://localhost:8321/"}


def test_people_log_in_at_the_issuer_of_tokens() -> None:
    settings = ServerSettings.model_validate({"tokens": ISSUER, "login": {**LOGIN, "scopes": ["profile"]}})
    assert settings.login is not None
    assert (settings.login.url, settings.login.scopes) == ("http://localhost:8321", ("openid", "profile"))


@pytest.mark.parametrize(
    ("tokens", "login", "said"),
    [
        (None, LOGIN, "login needs tokens with jwks"),
        ({"issuer": "a", "audience": "b", "secret_env": "C"}, LOGIN, "login needs tokens with jwks"),
        ({**ISSUER, "issuer": "http://login.example"}, LOGIN, "an issuer with https://"),
        (ISSUER, {**LOGIN, "url": "http://control.internal"}, "expected the address of this server"),
        (ISSUER, {**LOGIN, "url": "https://localhost/runs"}, "expected the address of this server"),
        (ISSUER, {**LOGIN, "url": "https://user@localhost"}, "expected the address of this server"),
        (ISSUER, {**LOGIN, "url": "https://["}, "expected the address of this server"),
        (ISSUER, {**LOGIN, "url": "https://control.internal"}, "see allowed_hosts"),
    ],
)
def test_login_is_safe_and_possible(tokens: object, login: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ServerSettings.model_validate({"tokens": tokens, "login": login})
