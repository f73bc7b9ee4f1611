"""Finds out who sends a request."""

import time
from collections.abc import Mapping
from typing import Protocol

from spanhook.server import sessions
from spanhook.server._requests import Scope, address_of, cookie, has, header, is_page
from spanhook.server.addresses import is_loopback
from spanhook.server.keys import split_key
from spanhook.server.openid import SESSION, Finished, OpenID
from spanhook.server.problems import Problem
from spanhook.server.rates import Rates
from spanhook.server.scopes import LOCAL, Principal
from spanhook.server.tokens import TokenVerifier

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class Keys(Protocol):
    """API keys."""

    async def verify(self, key_id: str, secret: str) -> Principal | None:
        """Whose key it is; ``None`` if there is no such key, or it does not hold any more."""
        ...

    async def kept(self, key_id: str) -> str | None:
        """The hash that is kept of a key's secret; ``None`` if there is no such key."""
        ...


class Authentication:
    """Recognizes callers by their token, or by their API key.

    Args:
        required: Whether callers must say who they are. Otherwise those on loopback who do not are ``local``; what
            others say is checked all the same.
        verifier: Checks tokens; ``None`` accepts none.
        keys: The API keys.
        rates: Where failures are counted.
        openid: Logging in with OpenID Connect; ``None`` if that is not set.
    """

    def __init__(
        self,
        *,
        required: bool,
        verifier: TokenVerifier | None,
        keys: Keys,
        rates: Rates,
        openid: OpenID | None = None,
    ) -> None:
        self._required, self._verifier, self._keys, self._rates = required, verifier, keys, rates
        self.openid = openid

    async def principal(self, scope: Scope) -> Principal:
        """Who sends a request.

        Raises:
            Problem: The caller is not known.
        """
        if has(scope, "authorization"):
            return await self._counted(scope, None)
        if not self._required:
            return _local(scope)
        session = cookie(scope, sessions.COOKIE) if is_page(scope["path"]) else ""
        if session:
            return await self._of_session(session)
        return await self._counted(scope, None)

    async def log_in(self, scope: Scope, key: str) -> str:
        """The cookie of a new session of the web pages.

        Args:
            scope: The request.
            key: The API key.

        Raises:
            Problem: The key is not valid, or too many were not.
        """
        await self._counted(scope, key)
        found = split_key(key)
        if found is None:
            raise Problem("credentials_invalid", "log in with an API key; a token cannot be used here")
        key_id, secret = found
        kept = await self._keys.kept(key_id) or ""
        return sessions.seal(key_id, secret, kept, int(time.time()) + sessions.LASTS_S)

    async def finish_login(self, scope: Scope, given: Mapping[str, str], login: str) -> Finished:
        """The session that a login with OpenID Connect has come to.

        Args:
            scope: The request.
            given: The parameters that the issuer has sent the browser back with.
            login: The cookie of the login.

        Raises:
            Problem: There is none, or too many failed.
        """
        if self.openid is None:
            raise Problem("not_found", "there is nothing here")
        try:
            return await self.openid.finish(given, login)
        except Problem as problem:
            if problem.code == "credentials_invalid":  # as in `_counted`
                await self._rates.check_failures(address_of(scope))
                await self._rates.count_failure(address_of(scope))
            raise

    async def _of_session(self, session: str) -> Principal:
        """Whose session it is. What is none is not counted as a failure: there is nothing to guess."""
        key_id = sessions.key_id_of(session, time.time())
        if key_id == SESSION:
            found = self.openid.principal(session) if self.openid is not None else None
            if found is None:
                raise Problem("credentials_missing", "the session has ended; log in again")
            return found
        kept = await self._keys.kept(key_id) if key_id else None
        secret = sessions.unseal(session, kept) if kept else ""
        principal = await self._keys.verify(key_id, secret) if secret else None
        if principal is None:
            raise Problem("credentials_missing", "the session has ended; log in again")
        return principal

    async def _counted(self, scope: Scope, credentials: str | None) -> Principal:
        """Who has these credentials. Right ones are taken however many wrong ones came from the address: behind a proxy
        it is everybody's, and whoever guesses would lock out all others.
        """
        try:
            return await self._recognized(_credentials(scope) if credentials is None else credentials)
        except Problem as problem:
            if problem.code == "credentials_invalid":
                await self._rates.check_failures(address_of(scope))
                await self._rates.count_failure(address_of(scope))
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
