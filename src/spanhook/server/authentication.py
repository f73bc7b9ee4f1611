"""Finds out who sends a request."""

from typing import Protocol

from spanhook.server._requests import Scope, address_of, has, header
from spanhook.server.keys import split_key
from spanhook.server.problems import Problem
from spanhook.server.rates import Rates
from spanhook.server.scopes import LOCAL, Principal
from spanhook.server.settings import is_loopback
from spanhook.server.tokens import TokenVerifier

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class Keys(Protocol):
    """API keys."""

    async def verify(self, key_id: str, secret: str) -> Principal | None:
        """Whose key it is; ``None`` if there is no such key, or it does not hold any more."""
        ...


class Authentication:
    """Recognizes callers by their token, or by their API key.

    Args:
        required: Whether callers must say who they are. Otherwise those on loopback who do not are ``local``; what
            others say is checked all the same.
        verifier: Checks tokens; ``None`` accepts none.
        keys: The API keys.
        rates: Where failures are counted.
    """

    def __init__(self, *, required: bool, verifier: TokenVerifier | None, keys: Keys, rates: Rates) -> None:
        self._required, self._verifier, self._keys, self._rates = required, verifier, keys, rates

    async def principal(self, scope: Scope) -> Principal:
        """Who sends a request.

        Raises:
            Problem: The caller is not known.
        """
        if not self._required and not has(scope, "authorization"):
            return _local(scope)
        address = address_of(scope)
        await self._rates.check_failures(address)
        try:
            return await self._recognized(_credentials(scope))
        except Problem as problem:
            if problem.code == "credentials_invalid":
                await self._rates.count_failure(address)
            raise

    async def _recognized(self, credentials: str) -> Principal:
        key = split_key(credentials)
        if key is not None:
            principal = await self._keys.verify(*key)
            if principal is None:
                raise Problem("credentials_invalid", "the API key is not valid")
            return principal
        if self._verifier is None:
            raise Problem("credentials_invalid", "the API key is not valid, and the server accepts no tokens")
        return await self._verifier.verify(credentials)


def _credentials(scope: Scope) -> str:
    given = header(scope, "authorization")
    if given is None:
        raise Problem("credentials_missing", "send an API key or a token: Authorization: Bearer ...")
    kind, _, credentials = given.partition(" ")
    if kind.lower() != "bearer" or not credentials.strip():
        raise Problem("credentials_invalid", "expected Authorization: Bearer, and an API key or a token")
    return credentials.strip()


def _local(scope: Scope) -> Principal:
    """The caller on this machine. What a proxy passes on comes from anywhere."""
    if not is_loopback(address_of(scope)):
        raise Problem("credentials_missing", "the server has no authentication, and serves this machine alone")
    if any(has(scope, name) for name in _FORWARDED):
        raise Problem("forwarded", "a proxy passed this on; a server behind one needs authentication")
    return LOCAL
