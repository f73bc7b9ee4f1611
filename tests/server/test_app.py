import asyncio
import os
import threading
from pathlib import Path

import httpx
import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.server import ServerSettings, create_app
from spanhook.store.control import Database
from tests.server.serving import SECRET, TOKENS, bearer, served, token


@pytest.mark.anyio
async def test_a_database_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    file, others = tmp_path / "control.db", threading.enumerate()
    database = await Database.open(f"sqlite:///{file}")
    await database.close()
    for one in os.listdir(tmp_path):
        os.unlink(tmp_path / one)
    os.mkdir(file)
    transport = httpx.ASGITransport(create_app(ServerSettings(), database))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        response = await client.get("/readyz")
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    await database.close()
    # aiosqlite does not wait for the thread of a connection that failed, and the thread needs the event loop to end.
    for thread in threading.enumerate():
        if thread not in others and thread.name.endswith("(_connection_worker_thread)"):
            await asyncio.to_thread(thread.join)


def test_hooks_of_requests_know_whose_it_is_and_refuse_with_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANHOOK_TEST_SECRET", SECRET)
    hooks, seen = Hooks(), list[tuple[str, str, str]]()

    @hooks.before("request")
    def quota(op: Operation) -> None:
        seen.append((op.name, op.identity.tenant_id, op.identity.user_id))
        if op.identity.tenant_id == "acme":
            raise Reject("over the quota", status_code=402, retry_after=3)

    spanhook.instrument(hooks)
    with served(tmp_path, tokens=TOKENS) as server:
        assert server.client.get("/v1/hooks").status_code == 401
        assert seen == []
        refused = server.client.get("/v1/hooks", headers=bearer(token("acme", ["hooks:read"])))
        assert (refused.status_code, refused.json()["code"], refused.json()["detail"]) == (
            402,
            "rejected",
            "over the quota",
        )
        assert refused.headers["retry-after"] == "3"
        assert refused.headers["content-type"] == "application/problem+json"
        assert server.client.get("/v1/hooks/", headers=bearer(token("globex", ["hooks:read"]))).status_code == 200
    assert seen == [("/v1/hooks", "acme", "ada"), ("/v1/hooks", "globex", "ada")]
