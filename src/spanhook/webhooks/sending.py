"""Sends one request to an endpoint, and reads no more of the response than is needed.

It is an HTTP/1.1 client that can do little: it follows no redirect, knows no proxy, cookie and credentials, and
connects to the addresses that were checked, with the name from the URL in TLS and ``Host``. One time limit covers
everything from resolving the name to the response; an address that does not answer leaves time for those after it.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import h11

from spanhook.version import __version__
from spanhook.webhooks.destinations import Destination, DestinationError, Destinations

MOST_KEPT = 1024
"""Bytes that are read of a response's body."""
_MOST_READ = 64 * 1024
_CHUNK = 4096


class DeliveryError(Exception):
    """There was no response. The message may be shown to whoever has given the URL, and names no address."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response.

    Attributes:
        status: The HTTP status.
        retry_after: The header ``Retry-After``; empty if there is none.
        body: The beginning of the body.
    """

    status: int
    retry_after: str
    body: str


class Sender:
    """Sends requests.

    Args:
        destinations: Where they may go.
        timeout: Seconds for one request, everything included.
        context: How servers prove who they are; by default with the system's authorities.
    """

    def __init__(
        self, destinations: Destinations, *, timeout: float = 15.0, context: ssl.SSLContext | None = None
    ) -> None:
        self.destinations, self._timeout = destinations, timeout
        self._context = context or ssl.create_default_context()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a POST request.

        Raises:
            DestinationError: Nothing is sent to this URL.
            DeliveryError: There was no response in time.
        """
        destination = self.destinations.parse(url)
        ends = asyncio.get_running_loop().time() + self._timeout
        try:
            async with asyncio.timeout_at(ends):
                return await self._post(destination, body, headers, ends)
        except TimeoutError:
            raise DeliveryError(f"there was no response within {self._timeout:g} s") from None
        except ssl.SSLError as error:
            raise DeliveryError(f"no secure connection: {_reason(error)}") from None
        except OSError as error:
            raise DeliveryError(_failure(error)) from None
        except h11.RemoteProtocolError:
            raise DeliveryError("the response is no HTTP/1.1") from None

    async def _post(self, destination: Destination, body: bytes, headers: Mapping[str, str], ends: float) -> Answer:
        reader, writer = await self._connected(destination, ends)
        try:
            connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=16 * 1024)
            given = {
                "Host": destination.authority,
                "User-Agent": f"spanhook/{__version__}",
                "Accept-Encoding": "identity",
                "Connection": "close",
                "Content-Length": str(len(body)),
                **headers,
            }
            request = h11.Request(method="POST", target=destination.target, headers=list(given.items()))
            for event in (request, h11.Data(data=body), h11.EndOfMessage()):
                writer.write(connection.send(event) or b"")
            with suppress(ConnectionError):  # who refuses a request may answer before having read it all
                await writer.drain()
            return await _answer(connection, reader)
        finally:
            writer.transport.abort()

    async def _connected(
        self, destination: Destination, ends: float
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        refused = OSError("the name has no address")
        addresses, loop = await self.destinations.addresses(destination), asyncio.get_running_loop()
        for place, address in enumerate(addresses):
            share = (ends - loop.time()) / (len(addresses) - place)
            try:
                async with asyncio.timeout(share):
                    return await asyncio.open_connection(
                        address,
                        destination.port,
                        ssl=self._context if destination.secure else None,
                        server_hostname=destination.host if destination.secure else None,
                    )
            except ssl.SSLError:
                raise
            except OSError as error:
                refused = error
        raise refused


async def _answer(connection: h11.Connection, reader: asyncio.StreamReader) -> Answer:
    status, retry_after, body, read = 0, "", b"", 0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            chunk = await reader.read(_CHUNK) if read < _MOST_READ else b""
            read += len(chunk)
            if not chunk and status:
                break
            connection.receive_data(chunk)
        elif isinstance(event, h11.Response):
            status = event.status_code
            retry_after = next((value.decode("latin-1") for name, value in event.headers if name == b"retry-after"), "")
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
            if len(body) >= MOST_KEPT:
                break
        elif not isinstance(event, h11.InformationalResponse):
            break
    if not status:
        raise DeliveryError("the connection was closed without a response")
    return Answer(status, retry_after, body[:MOST_KEPT].decode("utf-8", "replace"))


def _failure(error: OSError) -> str:
    """What went wrong. asyncio's own messages have addresses, which are not for whoever has given a URL."""
    if isinstance(error, socket.gaierror) or not error.errno:
        return "the name cannot be resolved"
    return f"no connection: {os.strerror(error.errno)}"


def _reason(error: ssl.SSLError) -> str:
    return getattr(error, "verify_message", "") or (error.reason or "").replace("_", " ").lower() or "refused"


__all__ = ["MOST_KEPT", "Answer", "DeliveryError", "DestinationError", "Sender"]
