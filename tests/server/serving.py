"""The control plane behind uvicorn on loopback, in a thread of this process, and callers of it."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

import httpx
import jwt
import uvicorn

from spanhook.schedules import CronState
from spanhook.server import LOCAL, KeyStore, ServerSettings, Tokens
from spanhook.server.cron_states import CronStates
from spanhook.server.running import listen, serve_on
from spanhook.store.control import Database

T = TypeVar("T")

SECRET = "a shared secret of thirty-two bytes or more"
ISSUER, AUDIENCE = "https://login.example", "spanhook"
TOKENS = Tokens(issuer=ISSUER, audience=AUDIENCE, secret_env="SPANHOOK_TEST_SECRET", operator_tenant="the operators")


class Served:
    """A server that runs.

    Attributes:
        url: Its address.
        database_url: Its database's.
        client: A client without credentials.
    """

    def __init__(self, url: str, database_url: str, client: httpx.Client) -> None:
        self.url, self.database_url, self.client = url, database_url, client

    def key(self, tenant: str, *scopes: str, days: int | None = None) -> dict[str, str]:
        """Headers with a new API key, of an operator if there is no tenant."""
        text, _ = self.with_database(lambda one: KeyStore(one).create(LOCAL, "test", tenant, scopes, days=days))
        return {"Authorization": f"Bearer {text}"}

    def with_database(self, do: Callable[[Database], Awaitable[T]]) -> T:
        """Do something with the server's database, from outside."""

        async def opened() -> T:
            database = await Database.open(self.database_url)
            try:
                return await do(database)
            finally:
                await database.close()

        with ThreadPoolExecutor(1) as pool:  # where a loop runs already, as in tests with a browser
            return pool.submit(lambda: asyncio.run(opened())).result()

    def keep_schedule(self, cron_id: str, state: CronState) -> None:
        """Let a schedule be known so."""

        async def keep(database: Database) -> None:
            CronStates(database).change(f"cron:{cron_id}", lambda _: (state.as_text(), None))

        self.with_database(keep)


@contextmanager
def served(folder: Path, **settings: Any) -> Generator[Served]:
    """A server with an empty database in a folder, or with what is there; at a free port unless ``port`` is given."""
    every: dict[str, Any] = {"database": f"sqlite:///{folder / 'control.db'}", **settings}
    # What tests send is of some day long ago, whose sums a sweep would delete while they look at them.
    every["retention"] = {"totals_days": 0, **settings.get("retention", {})}
    given = ServerSettings(**every)
    listening = listen("127.0.0.1", every.get("port", 0))
    up, servers = Event(), list[uvicorn.Server]()
    errors = list[BaseException]()

    def run() -> None:
        def started(server: uvicorn.Server, _database: Database) -> None:
            servers.append(server)
            up.set()

        try:
            asyncio.run(serve_on(given, listening, started))
        except BaseException as error:
            errors.append(error)
        finally:
            up.set()

    thread = Thread(target=run)
    thread.start()
    assert up.wait(60)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        if not errors:
            with httpx.Client(base_url=url, timeout=60) as client:
                yield Served(url, given.database, client)
    finally:
        for server in servers:
            server.should_exit = True
        thread.join()
        listening.close()
    if errors:
        raise errors[0]


def events_of(lines: Iterable[str]) -> Iterator[tuple[int, str, Any]]:
    """Number, type and data of server-sent events, as they come."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.rstrip("\r").partition(": ")
        if name:
            fields[name] = value
        elif "event" in fields:
            yield int(fields["id"]), fields["event"], json.loads(fields["data"])
            fields = {}


def token(
    tenant: str | None = "acme",
    scopes: Iterable[str] = (),
    *,
    key: Any = SECRET,
    algorithm: str = "HS256",
    **claims: Any,
) -> str:
    """A token as the issuer makes it; claims that are ``None`` are left out."""
    every: dict[str, Any] = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": int(time.time()) + 3600,
        "sub": "ada",
        "tenant_id": tenant,
    }
    given: dict[str, Any] = {**every, "scope": " ".join(scopes), **claims}
    headers = given.pop("headers", None)
    return jwt.encode({k: v for k, v in given.items() if v is not None}, key, algorithm, headers)


def bearer(text: str) -> dict[str, str]:
    """Headers with a token."""
    return {"Authorization": f"Bearer {text}"}
