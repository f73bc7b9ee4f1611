import os
from pathlib import Path

import httpx
import pytest

from spanhook.server import ServerSettings, create_app
from spanhook.store.control import Database

pytestmark = pytest.mark.anyio


async def test_a_database_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    file = tmp_path / "control.db"
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
