"""Services that answer over HTTP: each has a format, and all share one way of being asked."""

import os
from collections.abc import AsyncIterator, Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from spanhook.errors import ConfigurationError
from spanhook.gating import per_loop
from spanhook.hooks.remote_policy._config import Config
from spanhook.hooks.remote_policy._facts import Facts, encoded
from spanhook.hooks.remote_policy._reading import parsed
from spanhook.hooks.remote_policy._verdict import (
    PolicyOverloaded,
    PolicyRefusesRequest,
    PolicyUnreachable,
    UnreadableAnswer,
    Verdict,
)

LARGEST_ANSWER = 1_048_576


class Address(NamedTuple):
    """Where a service is; empty for what runs in the process."""

    host: str = ""
    port: int | None = None


class Service(Protocol):
    """What decides."""

    address: Address

    async def ask(self, facts: Facts) -> Verdict:
        """Ask once.

        Raises:
            PolicyError: It has not decided.
        """
        ...


class Format(Protocol):
    """How a service is asked and answers. It knows no HTTP."""

    def request(self, facts: Facts) -> Any:
        """The question, as plain data.

        Raises:
            Unsendable: The facts cannot be asked about.
        """
        ...

    def read(self, answer: Any, facts: Facts, /) -> Verdict:
        """The verdict in an answer.

        Raises:
            UnreadableAnswer: It is not understood.
        """
        ...


class HTTPService:
    """A service that is asked by ``POST``.

    Args:
        config: The settings.
        format: What it speaks.

    Raises:
        ConfigurationError: A header cannot be had, or a package is missing.
    """

    def __init__(self, config: Config, format: Format) -> None:
        try:
            import httpx
        except ImportError:
            raise ConfigurationError(
                f'service={config.service!r} needs the package httpx; pip install "spanhook[remote-policy]"'
            ) from None
        try:
            httpx.URL(config.url)
        except httpx.InvalidURL:
            raise ConfigurationError("url: it has characters that addresses cannot have") from None
        self._httpx: Any = httpx
        httpx.AsyncClient(verify=_trust())  # loads what httpx loads late, so that the first call has not to wait for it
        self._url, self._format = config.url, format
        self._headers = {
            **config.headers,
            **_from_environment(config.headers_env),
            "content-type": "application/json",
            "accept-encoding": "identity",
        }
        parts = urlsplit(config.url)
        self.address = Address(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))

    async def ask(self, facts: Facts) -> Verdict:
        body = encoded(self._format.request(facts))
        client = await _clients().client()
        try:
            async with client.stream("POST", self._url, content=body, headers=self._headers) as response:
                _check_status(response.status_code)
                answer = await _whole(response)
        except self._httpx.HTTPError as error:
            raise PolicyUnreachable(f"the connection failed: {type(error).__name__}") from None
        return self._format.read(parsed(answer), facts)


def _check_status(status: int) -> None:
    if status == 429 or status >= 500:
        raise PolicyOverloaded(f"status {status}")
    if status != 200:
        raise PolicyRefusesRequest(f"status {status}")


async def _whole(response: Any) -> bytes:
    whole = bytearray()
    async for chunk in response.aiter_raw():
        whole += chunk
        if len(whole) > LARGEST_ANSWER:
            raise UnreadableAnswer(f"the answer has more than {LARGEST_ANSWER:,} bytes")
    return bytes(whole)


def _from_environment(names: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for header, name in names.items():
        value = os.environ.get(name, "").strip()
        if not value:
            raise ConfigurationError(f"the environment variable {name} is not set; it has the header {header}")
        found[header] = value
    return found


class _Client:
    """The connections of one event loop, to all services. They are closed with it: a loop that ends closes the
    asynchronous generators that were begun on it.
    """

    def __init__(self) -> None:
        self._made: Any = None
        self._lasting: AsyncIterator[Any] | None = self._connections()

    async def client(self) -> Any:
        if self._made is None and self._lasting is not None:
            self._made = await anext(self._lasting)  # it waits for nothing, so that no other task is in between
        return self._made

    async def _connections(self) -> AsyncIterator[Any]:
        import httpx

        try:
            # Whoever asks has a time limit for all of it; httpx has only limits of single steps.
            async with httpx.AsyncClient(timeout=None, verify=_trust(), follow_redirects=False) as client:  # noqa: S113
                yield client
        finally:
            self._made = self._lasting = None  # they refer to the loop, which would never be freed


_clients = per_loop(_Client)


@cache
def _trust() -> Any:
    """The certificates that are trusted; reading them takes long."""
    import httpx

    return httpx.create_ssl_context()
