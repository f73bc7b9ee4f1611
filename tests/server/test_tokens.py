import base64
import json
import time
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from spanhook.errors import ConfigurationError
from spanhook.server import Principal, Tokens
from spanhook.server.problems import Problem
from spanhook.server.tokens import TokenVerifier
from tests.server.serving import AUDIENCE, ISSUER, SECRET, TOKENS, token

PRIVATE = rsa.generate_private_key(65537, 2048)
STRANGER = rsa.generate_private_key(65537, 2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
KEYS: dict[str, Any] = {
    "keys": [
        {**RSAAlgorithm.to_jwk(PRIVATE.public_key(), as_dict=True), "kid": "one", "use": "sig", "alg": "RS256"},
        {**ECAlgorithm.to_jwk(CURVE.public_key(), as_dict=True), "kid": "two", "use": "sig"},
    ]
}


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANHOOK_TEST_SECRET", SECRET)


def verify(verifier: TokenVerifier, text: str) -> Principal:
    return anyio.run(verifier.verify, text)


def refused(verifier: TokenVerifier, text: str) -> str:
    with pytest.raises(Problem) as refusal:
        verify(verifier, text)
    assert refusal.value.code == "credentials_invalid"
    return refusal.value.detail


def test_a_token_says_who_it_is_of_which_tenant_and_what_it_may() -> None:
    found = verify(TokenVerifier(TOKENS), token("acme", ["hooks:manage", "other:scope"]))
    assert found == Principal("ada", "acme", False, frozenset({"hooks:manage", "hooks:read"}), "token")


def test_scopes_may_be_a_list() -> None:
    found = verify(TokenVerifier(TOKENS), token("acme", scope=["runs:read", 1, None]))
    assert found.scopes == {"runs:read"}


def test_operators_are_those_of_the_tenant_that_is_named() -> None:
    found = verify(TokenVerifier(TOKENS), token("the operators", ["runs:read"]))
    assert (found.operator, found.tenant) == (True, "")


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"exp": None},
        {"iss": None},
        {"aud": None},
        {"iss": "https://other.example"},
        {"aud": "other"},
        {"nbf": 4102444800},
        {"tenant_id": None},
        {"tenant_id": ""},
        {"tenant_id": 7},
        {"tenant_id": ["acme"]},
        {"tenant_id": "a" * 201},
        {"exp": "soon"},
        {"sub": 5},
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(claims: dict[str, Any]) -> None:
    refused(TokenVerifier(TOKENS), token(**{"tenant": "acme", **claims}))


def unsigned(**header: Any) -> str:
    """A token by hand, with the header that is given and no signature."""
    claims = {"iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 60, "tenant_id": "acme", "scope": "hooks:admin"}
    parts = (base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode() for one in (header, claims))
    return f"{'.'.join(parts)}."


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "HS256", "RS256", "", None, 5])
def test_an_unsigned_token_is_refused(algorithm: Any) -> None:
    refused(TokenVerifier(TOKENS), unsigned(alg=algorithm, typ="JWT"))


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.b.c", "....", "é.é.é", "\0", "a" * 9000, "null.null.null"])
def test_what_is_no_token_is_refused(text: str) -> None:
    refused(TokenVerifier(TOKENS), text)


def test_a_token_of_another_secret_or_algorithm_is_refused() -> None:
    refused(TokenVerifier(TOKENS), token(key="another secret, of thirty-two bytes or more"))
    refused(TokenVerifier(TOKENS), token(algorithm="HS512", key=SECRET * 2))


@pytest.fixture
def of_file(tmp_path: Path) -> TokenVerifier:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(KEYS))
    return TokenVerifier(Tokens(issuer=ISSUER, audience=AUDIENCE, jwks=str(file)))


def test_keys_of_a_file_are_chosen_by_their_id(of_file: TokenVerifier) -> None:
    assert verify(of_file, token(key=PRIVATE, algorithm="RS256", headers={"kid": "one"})).tenant == "acme"
    assert verify(of_file, token(key=CURVE, algorithm="ES256", headers={"kid": "two"})).tenant == "acme"


def test_a_key_is_used_only_as_it_is_meant(of_file: TokenVerifier) -> None:
    refused(of_file, token(key=STRANGER, algorithm="RS256", headers={"kid": "one"}))
    refused(of_file, token(key=PRIVATE, algorithm="RS256", headers={"kid": "three"}))
    refused(of_file, token(key=PRIVATE, algorithm="RS256"))
    refused(of_file, token(key=PRIVATE, algorithm="PS256", headers={"kid": "one"}))
    refused(of_file, token(key=SECRET, headers={"kid": "one"}))
    refused(of_file, unsigned(alg="none", kid="one"))


def test_a_public_key_is_no_shared_secret(of_file: TokenVerifier) -> None:
    """The oldest attack on tokens: the public key, which everybody has, as the secret of HMAC."""
    refused(of_file, token(key=KEYS["keys"][0]["n"], headers={"kid": "one"}))


def test_a_file_without_keys_is_a_mistake(tmp_path: Path) -> None:
    for content in ("", "{}", "[]", '{"keys": []}', '{"keys": [{"kty": "??"}]}'):
        (tmp_path / "keys.json").write_text(content)
        with pytest.raises(ConfigurationError, match="no usable keys"):
            TokenVerifier(Tokens(issuer=ISSUER, audience=AUDIENCE, jwks=str(tmp_path / "keys.json")))


class Issuer(BaseHTTPRequestHandler):
    asked = 0
    status = 200

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(json.dumps(KEYS).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def of_issuer() -> Generator[tuple[TokenVerifier, type[Issuer]]]:
    handler = type("OneIssuer", (Issuer,), {})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/keys"
        yield TokenVerifier(Tokens(issuer=ISSUER, audience=AUDIENCE, jwks=url)), handler
        server.shutdown()
        thread.join()


def test_an_issuers_keys_are_fetched_once(of_issuer: tuple[TokenVerifier, type[Issuer]]) -> None:
    verifier, issuer = of_issuer
    for _ in range(3):
        assert verify(verifier, token(key=PRIVATE, algorithm="RS256", headers={"kid": "one"})).tenant == "acme"
    assert issuer.asked == 1


def test_unknown_keys_do_not_make_the_server_ask_again_and_again(of_issuer: tuple[TokenVerifier, type[Issuer]]) -> None:
    verifier, issuer = of_issuer
    for number in range(20):
        refused(verifier, token(key=STRANGER, algorithm="RS256", headers={"kid": f"unknown {number}"}))
    assert issuer.asked <= 2


def test_an_issuer_that_is_away_is_no_fault_of_the_caller(of_issuer: tuple[TokenVerifier, type[Issuer]]) -> None:
    verifier, issuer = of_issuer
    issuer.status = 500
    with pytest.raises(Problem) as refusal:
        verify(verifier, token(key=PRIVATE, algorithm="RS256", headers={"kid": "one"}))
    assert refusal.value.code == "unavailable"


def test_many_tokens_do_not_wait_for_an_issuer_that_is_away(of_issuer: tuple[TokenVerifier, type[Issuer]]) -> None:
    verifier, issuer = of_issuer
    issuer.status = 500
    one = token(key=PRIVATE, algorithm="RS256", headers={"kid": "one"})

    async def every() -> set[str]:
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(refusal)
        return codes

    async def refusal() -> None:
        with pytest.raises(Problem) as found:
            await verifier.verify(one)
        codes.add(found.value.code)

    codes = set[str]()
    assert anyio.run(every) == {"unavailable"}
    assert issuer.asked < 20
