"""Bearer tokens: JSON Web Tokens of one issuer, checked with its published keys or a shared secret."""

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import jwt

from spanhook.errors import ConfigurationError
from spanhook.server.problems import Problem
from spanhook.server.scopes import Principal, scopes_of
from spanhook.server.settings import Tokens, secret_of

_LONGEST = 8192
_REQUIRED = ("exp", "iss", "aud")
_AGAIN_S = 1.0
"""The shortest time between two questions to an issuer that does not answer."""


class TokenVerifier:
    """Checks tokens.

    Args:
        settings: Which tokens are accepted.

    Raises:
        ConfigurationError: The secret or the file with the keys cannot be used.
    """

    def __init__(self, settings: Tokens) -> None:
        self._settings = settings
        self._secret = secret_of(settings) if settings.secret_env else None
        self._client: jwt.PyJWKClient | None = None
        self._keys: jwt.PyJWKSet | None = None
        self._asking, self._not_before = asyncio.Lock(), 0.0
        if "://" in settings.jwks:
            self._client = jwt.PyJWKClient(settings.jwks, timeout=5, ssl_context=ssl.create_default_context())
        elif settings.jwks:
            self._keys = _keys_in(Path(settings.jwks))

    async def verify(self, token: str) -> Principal:
        """Whose token it is.

        Raises:
            Problem: It is not valid, or the issuer's keys cannot be had now.
        """
        if len(token) > _LONGEST:
            raise _invalid("is too long")
        try:
            key = await self._key(token)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(self._settings.accepted),
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=self._settings.leeway,
                options={"require": list(_REQUIRED)},
            )
        except jwt.ExpiredSignatureError:
            raise _invalid("has expired") from None
        except jwt.MissingRequiredClaimError as error:
            raise _invalid(f"has no {error.claim}") from None
        except jwt.PyJWKClientConnectionError:
            raise Problem("unavailable", "the issuer's keys cannot be read now") from None
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            raise _invalid("is not valid") from None
        return principal_of(claims, self._settings, "token")

    async def _key(self, token: str) -> Any:
        if self._secret is not None:
            return self._secret
        if self._client is not None:
            return await self._published(self._client, token)
        assert self._keys is not None
        name = jwt.get_unverified_header(token).get("kid")
        signing = [one for one in self._keys.keys if one.public_key_use in ("sig", None)]
        found = [one for one in signing if one.key_id == name]
        if not found:
            raise _invalid("names no key of the issuer")
        return found[0]

    async def _published(self, client: jwt.PyJWKClient, token: str) -> Any:
        """The issuer's key for a token. However many tokens come, one thread waits for an issuer that is away."""
        async with self._asking:
            known = client.jwk_set_cache is not None and client.jwk_set_cache.get() is not None
            if not known and time.monotonic() < self._not_before:
                raise Problem("unavailable", "the issuer's keys could not be read just now")
            try:
                return await asyncio.to_thread(client.get_signing_key_from_jwt, token)
            except jwt.PyJWKClientConnectionError:
                self._not_before = time.monotonic() + _AGAIN_S
                raise


def principal_of(claims: Mapping[str, Any], settings: Tokens, how: Literal["token", "login"]) -> Principal:
    """Whose claims they are.

    Args:
        claims: Claims that were checked.
        settings: Which of them say what.
        how: How they came here.

    Raises:
        Problem: They have no tenant.
    """
    tenant = claims.get(settings.tenant_claim)
    if not isinstance(tenant, str) or not tenant or len(tenant) > 200:
        raise _invalid(f"has no tenant in {settings.tenant_claim!r}")
    given: Any = claims.get(settings.scope_claim, ())
    scopes: list[Any] = (
        given.split() if isinstance(given, str) else cast("list[Any]", given) if isinstance(given, list) else []
    )
    subject = claims.get("sub")
    who = subject[:200] if isinstance(subject, str) and subject else "unknown"
    operator = bool(settings.operator_tenant) and tenant == settings.operator_tenant
    return Principal(who, "" if operator else tenant, operator, scopes_of(scopes, operator=operator), how)


def _keys_in(file: Path) -> jwt.PyJWKSet:
    try:
        return jwt.PyJWKSet.from_dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, AttributeError, jwt.PyJWTError) as error:
        raise ConfigurationError(f"jwks: {str(file)!r} has no usable keys: {error}") from None


def _invalid(why: str) -> Problem:
    return Problem("credentials_invalid", f"the token {why}")
