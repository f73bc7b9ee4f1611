import asyncio
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from spanhook.webhooks import DeliveryError, DestinationError, Destinations, Sender
from tests.webhooks.certificates import Authority
from tests.webhooks.receiver import receiving

pytestmark = pytest.mark.anyio

HERE = Destinations(["127.0.0.0/8"], plain_http=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def sender(destinations: Destinations = HERE, timeout: float = 30.0) -> Sender:
    return Sender(destinations, timeout=timeout)


@asynccontextmanager
async def answering(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncGenerator[str]:
    """A server that does with each connection what it is told. Gives a URL."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


def said(text: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(text)
        await writer.drain()

    return answer


async def test_a_request_and_its_response() -> None:
    with receiving((503, {"Retry-After": "7"})) as receiver:
        answer = await sender().post(f"{receiver.url}?a=b", b"{}", {"webhook-id": "evt_1"})
    assert (answer.status, answer.retry_after, answer.body) == (503, "7", "")
    (request,) = receiver.requests
    assert (request[":path"], request["host"], request["webhook-id"]) == ("/hook?a=b", receiver.host, "evt_1")
    assert {"authorization", "cookie"}.isdisjoint(request)


async def test_redirects_are_not_followed() -> None:
    with receiving() as secret:
        for status in (301, 302, 303, 307, 308):
            with receiving((status, {"Location": secret.url})) as receiver:
                assert (await sender().post(receiver.url, b"{}", {})).status == status
        assert not secret.requests


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy, receiving() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://{proxy.host}")
        await sender().post(receiver.url, b"{}", {})
        assert len(receiver.requests) == 1
        assert not proxy.requests


async def test_nothing_is_sent_to_what_is_not_allowed() -> None:
    with receiving() as receiver:
        for destinations in (Destinations(plain_http=True), Destinations(["10.0.0.0/8"], plain_http=True)):
            for host in ("127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]", "0x7f.1"):
                with pytest.raises(DestinationError):
                    await sender(destinations).post(f"http://{host}:{receiver.port}/", b"{}", {})
        assert not receiver.requests


async def test_a_name_that_resolves_otherwise_the_next_time() -> None:
    """Rebinding: what is connected to is what was checked, and a later answer is checked again."""
    answers = [["127.0.0.2"], ["127.0.0.1"]]
    asked = list[str]()

    async def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    with receiving() as receiver:
        only = Destinations(["127.0.0.2/32"], plain_http=True, resolve=resolve)
        url = f"http://rebound.example:{receiver.port}/"
        with pytest.raises(DeliveryError):
            await sender(only).post(url, b"{}", {})  # nobody listens at 127.0.0.2, and no other address is tried
        assert asked == ["rebound.example"]
        with pytest.raises(DestinationError):
            await sender(only).post(url, b"{}", {})
        assert not receiver.requests


async def test_the_name_of_the_url_is_that_of_tls_and_host(tmp_path: Path) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    authority = Authority(tmp_path)
    here = Destinations(["127.0.0.1/32"], resolve=resolve)
    secure = Sender(here, context=authority.client(), timeout=30)
    with receiving(context=authority.server("hooks.example")) as receiver:
        assert (await secure.post(f"https://hooks.example:{receiver.port}/a", b"{}", {})).status == 204
        assert receiver.requests[0]["host"] == f"hooks.example:{receiver.port}"
        with pytest.raises(DeliveryError, match="Hostname mismatch"):
            await secure.post(f"https://other.example:{receiver.port}/a", b"{}", {})
        with pytest.raises(DeliveryError, match=r"self-signed|unable to get"):
            await Sender(here, timeout=30).post(f"https://hooks.example:{receiver.port}/a", b"{}", {})
        assert len(receiver.requests) == 1


async def test_the_body_of_a_response_is_bounded() -> None:
    async with answering(said(b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 5_000_000)) as url:
        answer = await sender().post(url, b"{}", {})
    assert (answer.status, len(answer.body)) == (200, 1024)


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * 100_000,
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 50_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
    ],
)
async def test_what_is_no_response(response: bytes) -> None:
    async with answering(said(response)) as url:
        with pytest.raises(DeliveryError):
            await sender().post(url, b"{}", {})


async def test_a_response_that_breaks_off_has_its_status() -> None:
    async with answering(said(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")) as url:
        assert (await sender().post(url, b"{}", {})).status == 200


async def test_one_limit_covers_a_response_that_drips() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nA: ")
        while not writer.is_closing():
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.01)

    begun = time.monotonic()
    async with answering(drip) as url:
        with pytest.raises(DeliveryError, match=r"within 0\.2 s"):
            await sender(timeout=0.2).post(url, b"{}", {})
    assert time.monotonic() - begun >= 0.2


async def test_errors_name_no_address() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(DeliveryError, match=r"^no connection: Connection refused$"):
            await sender().post(f"http://127.0.0.1:{silent.getsockname()[1]}/", b"{}", {})
    with pytest.raises(DeliveryError, match=r"^the name cannot be resolved$"):
        await sender().post("http://nothing.invalid/", b"{}", {})


async def test_an_address_that_does_not_answer_leaves_time_for_the_next() -> None:
    with receiving() as receiver, socket.socket() as silent:
        silent.bind(("127.0.0.2", receiver.port))
        silent.listen(0)
        waiting = [socket.socket() for _ in range(3)]  # its queue is full: Linux drops whoever else asks
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.2", receiver.port))

        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.2", "127.0.0.1"]

        destinations = Destinations(["127.0.0.0/8"], plain_http=True, resolve=resolve)
        url = f"http://hooks.example:{receiver.port}/"
        assert (await sender(destinations, 4.0).post(url, b"{}", {})).status == 204
        for one in waiting:
            one.close()
