import re
from pathlib import Path

import pytest

from spanhook.errors import ConfigurationError
from spanhook.server import ServerSettings, Tokens, read_settings
from spanhook.server.settings import secret_of

CRON = "cron:\n  - {id: x, schedule: '0 9 * * *', agent: a}"
AGENT = "agents: {a: {target: 'app:a'}}"
TOKENS = {"issuer": "https://login.example", "audience": "spanhook", "secret_env": "SPANHOOK_TEST_SECRET"}


def test_without_a_file_the_server_is_for_this_machine() -> None:
    settings = read_settings()
    assert (settings.host, settings.port, settings.authenticates) == ("127.0.0.1", 8321, False)
    assert settings.hosts == {"127.0.0.1", "localhost", "::1"}


def test_what_is_given_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text("port: 9000\napi_keys: true\nallowed_hosts: [Spanhook.Internal]\n")
    settings = read_settings(file, port=9001, host=None)
    assert (settings.port, settings.host, settings.api_keys) == (9001, "127.0.0.1", True)
    assert "spanhook.internal" in settings.hosts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot: 1", ":1: prot: unknown key; did you mean 'port'?"),
        ("api_keys: true\nport: 70000", ":2: port: 70000: expected a number less than or equal to 65535"),
        ("- 1", "is a list; expected keys such as port: 8321"),
        ("a: [", ":1: is not valid YAML"),
        ("port: 1\nport: 2", ":2: the key 'port' appears twice"),
        ("rate: often", ":1: rate: 'often': expected to match pattern"),
        ("tokens: {issuer: a, audience: b}", ":1: tokens: give one of jwks and secret_env"),
        ("tokens: {issuer: a, audience: b, jwks: x, secret_env: y}", "one of jwks and secret_env"),
        ("tokens: {issuer: a, audience: b, jwks: x, algorithms: [HS256]}", "HS256 cannot be used with jwks"),
        ("tokens: {issuer: a, audience: b, secret_env: x, algorithms: [RS256]}", "RS256 cannot be used"),
        ("tokens: {issuer: a, audience: b, secret_env: x, algorithms: [none]}", "tokens.algorithms[0]"),
        ("tokens: {issuer: a, audience: b, jwks: 'http://login.example/keys'}", "expected https://"),
        ("tokens:\n  audience: b\n  secret_env: x", ":1: tokens.issuer: missing; add issuer: ..."),
        ("tokens: {issuer: a, secret_env: x}", "tokens.audience: missing"),
        ("zzz: 1", "zzz: unknown key; remove it, or use one of host, port, "),
        (f"{CRON}\nagents: {{b: {{target: 'app:b'}}}}", "cron 'x' is for the agent 'a', and agents has b"),
        (f"{CRON}\n  - {{id: x, schedule: '0 9 * * *', agent: a}}\n{AGENT}", "several entries with the id 'x'"),
        (f"{CRON.replace('0 9', '0 25')}\n{AGENT}", ":2: cron[0].schedule: '0 25 * * *': bad hour; expected minute"),
        (f"{CRON.replace('id', 'name')}\n{AGENT}", "cron[0].name: unknown key; remove it, or use one of id, schedule"),
        ("retention: {dais: 5}", "retention.dais: unknown key; did you mean 'days'?"),
        ("webhooks: {key_envv: A}", "webhooks.key_envv: unknown key; did you mean 'key_env'?"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        read_settings(file)


def test_a_file_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "server.yaml").write_text("# port: 8321\n")
    assert read_settings(tmp_path / "server.yaml") == ServerSettings()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.yaml"):
        read_settings(tmp_path / "none.yaml")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "spanhook.internal", ""])
def test_nobody_beyond_this_machine_is_served_without_authentication(host: str) -> None:
    with pytest.raises(ConfigurationError, match="no authentication"):
        read_settings(host=host)


def test_every_address_needs_the_names_of_the_server() -> None:
    with pytest.raises(ConfigurationError, match="allow-host"):
        read_settings(host="0.0.0.0", api_keys=True)
    assert read_settings(host="0.0.0.0", api_keys=True, allowed_hosts=["a.example"]).hosts >= {"a.example"}
    assert "192.0.2.1" in read_settings(host="192.0.2.1", api_keys=True).hosts


def test_algorithms_are_those_of_the_kind_of_key() -> None:
    assert Tokens(issuer="a", audience="b", secret_env="x").accepted == ("HS256",)
    assert Tokens(issuer="a", audience="b", jwks="https://a.example").accepted == ("RS256", "ES256")


def test_a_shared_secret_is_there_and_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens.model_validate(TOKENS)
    monkeypatch.delenv("SPANHOOK_TEST_SECRET", raising=False)
    with pytest.raises(ConfigurationError, match="is not set"):
        secret_of(tokens)
    monkeypatch.setenv("SPANHOOK_TEST_SECRET", "x" * 31)
    with pytest.raises(ConfigurationError, match="has 31 bytes"):
        secret_of(tokens)
    monkeypatch.setenv("SPANHOOK_TEST_SECRET", "x" * 32)
    assert secret_of(tokens) == b"x" * 32


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        ServerSettings().port = 1  # pyright: ignore[reportAttributeAccessIssue]
