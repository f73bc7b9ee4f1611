"""An OpenID provider on loopback that speaks the protocol: discovery, authorization, tokens, keys.

It checks what providers check: the client's secret, the address, that a code is used once, and PKCE. Tests make it lie.
"""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from spanhook.cli.conformance.servers.loopback import serving

CLIENT, SECRET = "spanhook", "the secret of spanhook at its provider"
Form = dict[str, str]


class Provider:
    """What a provider knows, and how it lies.

    Attributes:
        url: Its address, which is its name.
        key: The key that it signs with.
        published: The key that it publishes.
        algorithm: What it signs with.
        name_of_key: What its key is called.
        claims: Claims of ID tokens that differ; ``None`` for those that are left out.
        described: What differs in its description of itself.
        error: With which error it refuses, if it does.
        away: Whether it fails.
        asked: The requests for authorization.
        redeemed: The requests for tokens.
        sign: Makes an ID token of its claims.
    """

    def __init__(self) -> None:
        self.url = ""
        self.key: Any = ec.generate_private_key(ec.SECP256R1())
        self.published: Any = self.key
        self.algorithm, self.name_of_key = "ES256", "one"
        self.asked, self.redeemed = list[Form](), list[Form]()
        self.reset()

    def reset(self) -> None:
        """Tell the truth."""
        self.claims: dict[str, Any] = {}
        self.described: dict[str, Any] = {}
        self.error, self.away = "", False
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self._codes = dict[str, Form]()

    def signed(self, claims: dict[str, Any]) -> str:
        """An ID token as it should be."""
        return jwt.encode(claims, self.key, self.algorithm, {"kid": self.name_of_key})

    def description(self) -> dict[str, Any]:
        """How it describes itself (OpenID Connect Discovery 1.0, section 3)."""
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "end_session_endpoint": f"{self.url}/end",
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["ES256", "RS256", "HS256", "none"],
            "code_challenge_methods_supported": ["S256"],
            **self.described,
        }

    def keys(self) -> dict[str, Any]:
        """The key that it publishes (RFC 7517)."""
        kind: Any = ECAlgorithm if isinstance(self.published, ec.EllipticCurvePrivateKey) else RSAAlgorithm
        made: Any = kind.to_jwk(self.published.public_key(), as_dict=True)
        return {"keys": [{**made, "kid": self.name_of_key, "use": "sig"}]}

    def authorize(self, given: Form) -> str:
        """Where the browser goes with a code: everybody is logged in, and agrees."""
        self.asked.append(given)
        assert (given["client_id"], given["response_type"]) == (CLIENT, "code")
        assert "openid" in given["scope"].split()
        assert given["code_challenge_method"] == "S256"
        answer = {"state": given["state"], "iss": self.url}
        if self.error:
            return f"{given['redirect_uri']}?{urlencode({**answer, 'error': self.error})}"
        code = secrets.token_urlsafe(16)
        self._codes[code] = given
        return f"{given['redirect_uri']}?{urlencode({**answer, 'code': code})}"

    def redeem(self, given: Form, authorization: str) -> tuple[int, dict[str, Any]]:
        """The status and the body of the answer to a request for tokens."""
        self.redeemed.append(given)
        user, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if "client_secret_post" in self.described.get("token_endpoint_auth_methods_supported", ()):
            user, secret = given.get("client_id", ""), given.get("client_secret", "")
        if (unquote(user), unquote(secret)) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        asked = self._codes.pop(given.get("code", ""), None)  # once
        if asked is None or given.get("redirect_uri") != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        every = {"iss": self.url, "aud": CLIENT, "sub": "ada", "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        every |= {"tenant_id": "acme", "scope": "runs:read hooks:read openid"}
        claims = {name: value for name, value in {**every, **self.claims}.items() if value is not None}
        tokens = {"access_token": secrets.token_urlsafe(16), "token_type": "Bearer", "expires_in": 300}
        return 200, {**tokens, "id_token": self.sign(claims)}


def rsa_key() -> Any:
    """A key of RSA."""
    return rsa.generate_private_key(65537, 2048)


@contextmanager
def provided() -> Generator[Provider]:
    """A provider that runs."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, given = urlsplit(self.path).path, _form(urlsplit(self.path).query)
            if provider.away:
                self._send(500, {})
            elif path == "/.well-known/openid-configuration":
                self._send(200, provider.description())
            elif path == "/keys":
                self._send(200, provider.keys())
            elif path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(given))
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                self._send(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._send(*provider.redeem(_form(body), self.headers.get("Authorization", "")))

        def _send(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: tests are quiet."""

    with serving(Handler) as url:
        provider.url = url
        yield provider


def _form(text: str) -> Form:
    return {name: values[-1] for name, values in parse_qs(text).items()}
