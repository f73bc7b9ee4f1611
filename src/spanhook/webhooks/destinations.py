"""Where deliveries may go: public addresses, unless the configuration of the process allows more.

Whoever registers an endpoint chooses its URL, so it may name what only this machine can reach. A name is resolved once,
every address that it has must be allowed, and the connection goes to one of these: a name that resolves otherwise the
next time changes nothing.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from spanhook.concurrency import Workers
from spanhook.errors import ConfigurationError
from spanhook.webhooks._addresses import IP, Network, is_global, is_within

LONGEST_URL = 2048
Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Gives the addresses of a name for a port. It raises ``OSError`` if there are none."""
_URL = re.compile(r"[!-~]+", re.ASCII)
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_PORTS = {"https": 443, "http": 80}
_RESERVED = 1024


class DestinationError(Exception):
    """A URL that nothing is sent to. The message may be shown to whoever has given the URL."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A URL that may be sent to, as far as that can be said without resolving its name.

    Attributes:
        secure: Whether TLS is used.
        host: The name, or the IP address without brackets.
        port: The port.
        target: Path and query.
        authority: The value of ``Host``.
    """

    secure: bool
    host: str
    port: int
    target: str
    authority: str


class Destinations:
    """Where deliveries may go.

    Args:
        networks: Networks that are allowed besides the public internet, such as ``10.1.0.0/16``.
        plain_http: Whether ``http://`` is allowed.
        resolve: How names are resolved; by default as the system does.

    Raises:
        ConfigurationError: A network is none.
    """

    def __init__(
        self, networks: Iterable[str] = (), *, plain_http: bool = False, resolve: Resolve | None = None
    ) -> None:
        self._networks = tuple(map(_network, networks))
        self._plain_http, self._resolve = plain_http, resolve or _resolved

    def parse(self, url: str) -> Destination:
        """Read a URL. Its name is not resolved yet; an address must be allowed.

        Raises:
            DestinationError: It is none, or one that nothing is sent to.
        """
        if len(url) > LONGEST_URL or not _URL.fullmatch(url) or "\\" in url:
            raise DestinationError(f"the URL must be ASCII without spaces and backslashes, of {LONGEST_URL} at most")
        try:
            parts = urlsplit(url)
            scheme, port = parts.scheme, parts.port
        except ValueError:
            raise DestinationError("the URL cannot be read") from None
        if scheme != "https" and not (scheme == "http" and self._plain_http):
            unless = ", unless the setting plain_http allows it" if scheme == "http" else ""
            raise DestinationError(f"the URL has the scheme {scheme!r}; expected https{unless}")
        if "@" in parts.netloc or parts.fragment or "#" in url:
            raise DestinationError("the URL may have no user, password and fragment")
        if port is not None and port < _RESERVED and port not in _PORTS.values():
            raise DestinationError(
                f"port {port} is reserved for other protocols; expected 443, 80, or one from 1024 on"
            )
        host, bracketed = (parts.hostname or "").lower(), "[" in parts.netloc
        shown = f"[{host}]" if bracketed else host
        self._check_host(host, bracketed=bracketed)
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        authority = shown if port is None or port == _PORTS[scheme] else f"{shown}:{port}"
        return Destination(scheme == "https", host.removesuffix("."), port or _PORTS[scheme], target, authority)

    async def addresses(self, destination: Destination) -> list[str]:
        """The addresses that a destination has now, all of which are allowed.

        Raises:
            DestinationError: One is not allowed.
            OSError: The name cannot be resolved now.
        """
        literal = _literal(destination.host)
        if literal is not None:
            self._check(literal)
            return [str(literal)]
        found = await self._resolve(destination.host, destination.port)
        if not found:
            raise OSError("the name has no address")
        for one in found:
            address = _literal(one)
            if address is None:
                raise DestinationError("the name resolves to something that is not an address")
            self._check(address)
        return list(dict.fromkeys(found))

    def _check_host(self, host: str, *, bracketed: bool) -> None:
        if bracketed or _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]):
            address = _literal(host)
            if address is None or (address.version == 6) != bracketed:
                raise DestinationError(f"{host!r} is no IP address as it is usually written")
            self._check(address)
        elif not _NAME.fullmatch(host.removesuffix(".")):
            raise DestinationError(f"{host!r} is not a host name; write international names in Punycode")

    def _check(self, address: IP) -> None:
        if not is_global(address) and not is_within(address, self._networks):
            raise DestinationError(
                "the URL leads to an address that is not public; the setting allowed_networks can allow it"
            )


def _literal(text: str) -> IP | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ConfigurationError(f"{text!r} is not a network: {error}; expected one such as 10.1.0.0/16") from None


_threads = Workers("spanhook-resolve", 128)
"""Threads of their own: a name server that does not answer keeps nobody else waiting."""


async def _resolved(host: str, port: int) -> list[str]:
    def ask() -> list[str]:
        return [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]

    try:
        return await asyncio.wrap_future(_threads.submit(ask))
    except UnicodeError as error:
        raise OSError(str(error)) from None
