"""Logging in with OpenID Connect: the authorization code flow with state, nonce and PKCE, by Authlib.

Neither a login under way nor a session is kept on the server: both are sealed into cookies, with a key that is derived
from the client's secret. So all processes know them, and they end with that secret.
"""

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from spanhook.errors import ConfigurationError
from spanhook.server import sessions
from spanhook.server.addresses import is_secure
from spanhook.server.login import Login
from spanhook.server.problems import Problem
from spanhook.server.scopes import Principal
from spanhook.server.settings import Tokens, secret_in
from spanhook.server.tokens import principal_of

COOKIE = "spanhook_login"
"""The cookie of a login under way."""
SESSION = "openid"
"""What sessions are sealed as; no API key has such an id."""
CALLBACK = "/login/callback"
LOGIN_S = 600
"""Seconds until a login must be done."""
LONGEST_S = 8 * 3600
"""Seconds of a session at most, unless the setting says how long."""
_LOGIN = "login"
_KNOWN_S = 3600.0
_TIMEOUT_S = 5.0
_AGAIN_S = 1.0
_BASIC = "client_secret_basic"
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_logger = logging.getLogger(__name__)


class Begun(NamedTuple):
    """A login that has begun.

    Attributes:
        url: Where the browser has to go.
        cookie: What it has to keep meanwhile.
    """

    url: str
    cookie: str


class Finished(NamedTuple):
    """A login that was successful.

    Attributes:
        session: The cookie of the session.
        seconds: How long it lasts.
        to: The page that was asked for.
    """

    session: str
    seconds: int
    to: str


class OpenID:
    """Logs people in.

    Args:
        login: How.
        tokens: The issuer, which claims say what, and which algorithms are accepted.

    Raises:
        ConfigurationError: Authlib is not installed, or the client's secret is not there.
    """

    def __init__(self, login: Login, tokens: Tokens) -> None:
        try:
            from authlib.integrations.starlette_client import StarletteOAuth2App
        except ImportError:
            raise ConfigurationError('login needs Authlib and httpx: pip install "spanhook[oidc]"') from None
        self._login, self._tokens, self._app_class = login, tokens, StarletteOAuth2App
        self._secret = secret_in(login.client_secret_env, "login needs").decode()
        self._key = "\0".join((tokens.issuer, login.client_id, self._secret))
        self._app: Any = None
        self._known_until = self._not_before = 0.0
        self._asking = asyncio.Lock()

    @property
    def name(self) -> str:
        """What the issuer is called."""
        return self._login.name

    async def begin(self, to: str) -> Begun:
        """Begin a login.

        Args:
            to: The page that was asked for.

        Raises:
            Problem: The issuer cannot be asked now.
        """
        try:
            app = await self._issuer()
            made = await app.create_authorization_url(self._login.url + CALLBACK)
        except Problem:
            raise
        except Exception as error:
            raise self._away(error) from None
        kept = {"state": made["state"], "nonce": made["nonce"], "verifier": made["code_verifier"], "to": to[:1000]}
        sealed = sessions.seal(_LOGIN, json.dumps(kept), self._key, int(time.time()) + LOGIN_S)
        return Begun(made["url"], sealed)

    async def finish(self, given: Mapping[str, str], login: str) -> Finished:
        """Exchange the code that the browser has brought for an ID token, and check that.

        Args:
            given: The parameters that the issuer has sent the browser back with.
            login: The cookie of the login.

        Raises:
            Problem: The login was not begun here, the issuer has refused it or cannot be asked now, or what it has sent
                is not valid.
        """
        kept = self._begun(given, login)
        if "code" not in given:
            raise _failed(f"{self.name} has refused the login ({_plain(given.get('error', ''))})")
        claims = await self._claims(given["code"], kept)
        try:
            principal = principal_of(claims, self._tokens, "login")
        except Problem:
            raise _failed(
                f"{self.name} knows you as {str(claims.get('sub'))[:200]!r}, but its ID token has no tenant in the "
                f"claim {self._tokens.tenant_claim!r}; ask whoever runs {self.name} to add it"
            ) from None
        if not principal.scopes:
            raise _failed(
                f"{self.name} knows you as {principal.subject!r}, but its ID token gives you no scope of spanhook in "
                f"the claim {self._tokens.scope_claim!r}; ask whoever runs {self.name} to add one, such as runs:read"
            )
        now = time.time()
        seconds = max(1, round(self._lasting(claims["exp"] - now)))
        names = ("sub", self._tokens.tenant_claim)
        session = {name: claims[name] for name in names} | {self._tokens.scope_claim: sorted(principal.scopes)}
        sealed = sessions.seal(SESSION, json.dumps(session), self._key, int(now) + seconds)
        return Finished(sealed, seconds, str(kept["to"]))

    def _lasting(self, valid: float) -> float:
        """Seconds of a session after a login with an ID token that is valid for some seconds more."""
        return self._login.hours * 3600 if self._login.hours is not None else min(LONGEST_S, valid)

    def principal(self, session: str) -> Principal | None:
        """Whose session it is; ``None`` if it was sealed with another secret, or for another issuer."""
        opened = sessions.unseal(session, self._key)
        try:
            return principal_of(json.loads(opened), self._tokens, "login") if opened else None
        except Problem:  # the claims' names have changed since
            return None

    def end_address(self) -> str:
        """Where people log out of the issuer, too; empty if it is not known.

        Source: OpenID Connect RP-Initiated Logout 1.0, section 2.
        """
        found = str(self._app.server_metadata.get("end_session_endpoint", "")) if self._app is not None else ""
        return found if is_secure(found) else ""

    def _begun(self, given: Mapping[str, str], login: str) -> dict[str, Any]:
        begun = sessions.key_id_of(login, time.time()) == _LOGIN
        opened = sessions.unseal(login, self._key) if begun else ""
        if not opened:
            raise _failed(f"the login was begun in another browser, or more than {LOGIN_S // 60} minutes ago")
        kept: dict[str, Any] = json.loads(opened)
        if not hmac.compare_digest(kept["state"].encode(), given.get("state", "").encode("utf-8", "replace")):
            raise _failed("this is not the answer to the login that was last begun in this browser")
        if given.get("iss", self._tokens.issuer) != self._tokens.issuer:  # RFC 9207, section 2.4
            raise _failed("this is the answer of another issuer")
        return kept

    async def _claims(self, code: str, kept: Mapping[str, Any]) -> Mapping[str, Any]:
        """The checked claims of the ID token for a code.

        Source: OpenID Connect Core 1.0, section 3.1.3.7.
        """
        from authlib.integrations.base_client import OAuthError
        from joserfc.errors import JoseError

        issuer = {"essential": True, "value": self._tokens.issuer}
        audience = {"essential": True, "value": self._login.client_id}
        try:
            app = await self._issuer()
            redirect = self._login.url + CALLBACK
            token = await app.fetch_access_token(redirect, code=code, code_verifier=kept["verifier"])
            claims = await app.parse_id_token(
                token,
                kept["nonce"],
                claims_options={"iss": issuer, "aud": audience},
                leeway=self._tokens.leeway,
            )
        except Problem:
            raise
        except OAuthError as error:
            raise _failed(f"{self.name} has refused the code ({_plain(str(error.error))})") from None
        except (JoseError, ValueError, TypeError, KeyError) as error:
            _logger.warning("the ID token of %s is not valid: %s", self._tokens.issuer, error)
            raise _failed(f"what {self.name} has sent is not valid; tell whoever runs this server") from None
        except Exception as error:
            raise self._away(error) from None
        if claims is None:
            raise _failed(f"{self.name} has sent no ID token; tell whoever runs this server")
        return claims

    async def _issuer(self) -> Any:
        """The issuer as it describes itself (OpenID Connect Discovery 1.0), looked up again after a while."""
        async with self._asking:  # whoever opens the page many times does not make us ask as often
            if time.monotonic() >= self._known_until:
                if time.monotonic() < self._not_before:
                    raise Problem("unavailable", f"{self.name} could not be reached just now; try again in a while")
                try:
                    self._app = await self._described()
                except BaseException:
                    self._not_before = time.monotonic() + _AGAIN_S
                    raise
                self._known_until, self._not_before = time.monotonic() + _KNOWN_S, 0.0
            return self._app

    async def _described(self) -> Any:
        app: Any = self._app_class(
            None,
            client_id=self._login.client_id,
            client_secret=self._secret,
            server_metadata_url=f"{self._tokens.issuer.rstrip('/')}/.well-known/openid-configuration",
            client_kwargs={
                "scope": " ".join(self._login.scopes),
                "code_challenge_method": "S256",
                "timeout": _TIMEOUT_S,
                "follow_redirects": False,
            },
        )
        found: dict[str, Any] = await app.load_server_metadata()
        wrong = [name for name in _ENDPOINTS if not is_secure(str(found.get(name, "")))]
        if found.get("issuer") != self._tokens.issuer or wrong:
            said = f"has no secure {wrong[0]}" if wrong else f"calls itself {found.get('issuer')!r}"
            _logger.warning("the issuer %s %s", self._tokens.issuer, said)
            raise Problem("unavailable", f"{self.name} describes itself wrongly; tell whoever runs this server")
        if _BASIC not in found.get("token_endpoint_auth_methods_supported", (_BASIC,)):
            app.client_kwargs["token_endpoint_auth_method"] = "client_secret_post"
        found["id_token_signing_alg_values_supported"] = list(self._tokens.accepted)  # not what it claims, such as none
        return app

    def _away(self, error: Exception) -> Problem:
        _logger.warning("the issuer %s cannot be asked: %s: %s", self._tokens.issuer, type(error).__name__, error)
        host = urlsplit(self._tokens.issuer).hostname
        return Problem("unavailable", f"{self.name} cannot be reached at {host} now; try again in a while")


def _failed(why: str) -> Problem:
    return Problem("credentials_invalid", why)


def _plain(code: str) -> str:
    """An error code as OAuth has them (RFC 6749, section 4.1.2.1), not whatever somebody has put into a link."""
    return code if code.isascii() and code.replace("_", "").isalnum() and len(code) <= 50 else "without a reason"
