"""A server delivers what is in its database, whoever has put it there, and however often it is killed."""

import asyncio
import signal
import time
from pathlib import Path

import httpx
import pytest
import yaml
from sqlalchemy import update

from spanhook.errors import ConfigurationError
from spanhook.server import LOCAL
from spanhook.server.sealing import Seal
from spanhook.server.webhook_outbox import publish
from spanhook.server.webhook_settings import WebhookSettings
from spanhook.server.webhook_store import WebhookStore
from spanhook.server.webhooks import Webhooks
from spanhook.store.control import Database, tables
from tests.server.serving import SECRET
from tests.server.test_running import command
from tests.webhooks.receiver import Receiver, receiving


def test_every_event_arrives_through_kills_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_KEY", SECRET)
    webhooks = {"key_env": "WEBHOOK_KEY", "allowed_networks": ["127.0.0.1/32"], "plain_http": True}
    (tmp_path / "server.yaml").write_text(yaml.safe_dump({"webhooks": webhooks}))
    url = f"sqlite:///{tmp_path / 'spanhook.db'}"

    async def publish_some(receiver_url: str) -> tuple[str, set[str]]:
        database = await Database.open(url)
        try:
            store = WebhookStore(database, Seal(SECRET.encode()))
            fields = {"url": receiver_url, "events": ["*"], "enabled": True, "ordered": False}
            _, secret = await store.create(LOCAL, "", fields)
            async with database.writing() as connection:
                ids = {await connection.run_sync(publish, "", "job.completed", {"n": n}) for n in range(60)}
            return secret, ids
        finally:
            await database.close()

    with receiving() as receiver:
        receiver.secret, ids = asyncio.run(publish_some(receiver.url))
        for number in range(4):
            wanted = min(len(ids), (number + 1) * 12)
            with command(tmp_path, "--database", url, "--config", str(tmp_path / "server.yaml")) as (process, _):
                receiver.wait_for(wanted)
                process.send_signal(signal.SIGKILL)
                process.communicate(timeout=30)
            asyncio.run(forget_leases(url))
        with command(tmp_path, "--database", url, "--config", str(tmp_path / "server.yaml")):
            receiver.wait_for(len(ids))
        assert {event["id"] for event in receiver.events} == ids


async def forget_leases(url: str) -> None:
    """What the killed server has leased is due at once, and not after a minute; its jobs are nobody's."""
    database = await Database.open(url)
    try:
        async with database.writing() as connection:
            await connection.execute(update(tables.webhook_deliveries).values(leased_until_ns=0))
            await connection.execute(update(tables.jobs).values(lease_ns=1))
    finally:
        await database.close()


def test_jobs_and_what_is_told_of_them_survive_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_KEY", SECRET)
    (tmp_path / "served.py").write_text("async def echo(given):\n    yield str(given)\n")
    webhooks = {"key_env": "WEBHOOK_KEY", "allowed_networks": ["127.0.0.1/32"], "plain_http": True}
    agents = {"echo": {"target": f"{tmp_path}/served.py:echo"}}
    config = tmp_path / "server.yaml"
    config.write_text(yaml.safe_dump({"webhooks": webhooks, "agents": agents}))
    database = f"sqlite:///{tmp_path / 'spanhook.db'}"
    serving = ("--database", database, "--config", str(config))
    accepted = list[str]()

    with receiving() as receiver:
        for count in (3, 8):
            with command(tmp_path, *serving) as (process, url), httpx.Client(base_url=url, timeout=60) as client:
                if not receiver.secret:
                    given = {"url": receiver.url, "events": ["job.*"]}
                    receiver.secret = client.post("/v1/webhooks", json=given).json()["secret"]
                for _ in range(count):
                    made = client.post("/v1/agents/echo?async=true", json={"input": "hi"})
                    accepted.append(made.json()["job_id"])
                process.send_signal(signal.SIGKILL)
                process.communicate(timeout=30)
            asyncio.run(forget_leases(database))
        with command(tmp_path, *serving):
            ends = time.monotonic() + 60
            while not set(accepted) <= subjects(receiver, "completed", "failed"):
                assert time.monotonic() < ends, (accepted, receiver.events)
                time.sleep(0.01)
    assert set(accepted) <= subjects(receiver, "queued")
    assert not subjects(receiver, "completed") & subjects(receiver, "failed")


def subjects(receiver: Receiver, *states: str) -> set[str]:
    """The jobs of which these events have arrived."""
    names = {f"spanhook.job.{state}" for state in states}
    return {event["subject"] for event in list(receiver.events) if event["type"] in names}


@pytest.mark.anyio
async def test_settings_that_cannot_be_used(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="NO_KEY"):
        Webhooks(WebhookSettings(key_env="NO_KEY"), database)
    monkeypatch.setenv("WEBHOOK_KEY", SECRET)
    with pytest.raises(ConfigurationError, match="ca_file"):
        Webhooks(WebhookSettings(key_env="WEBHOOK_KEY", ca_file="/nowhere.pem"), database)
    with pytest.raises(ValueError, match="not a network"):
        WebhookSettings(key_env="WEBHOOK_KEY", allowed_networks=("10.0.0.1/8",))


@pytest.mark.anyio
async def test_what_has_ended_long_ago_is_deleted(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_KEY", SECRET)
    webhooks = Webhooks(WebhookSettings(key_env="WEBHOOK_KEY"), database)
    fields = {"url": "https://127.0.0.1/", "events": ["*"], "enabled": True, "ordered": False}
    hook, _ = await webhooks.store.create(LOCAL, "", fields)
    for number in range(3):
        async with database.writing() as connection:
            await connection.run_sync(publish, "", "job.completed", {"n": number})
    first, *_ = (await webhooks.store.deliveries(LOCAL, hook.webhook_id))[0]
    async with database.writing() as connection:
        table = tables.webhook_deliveries
        old = update(table).where(table.c.delivery_id == first.delivery_id)
        await connection.execute(old.values(state="dead", ended_ns=1))
    async with webhooks.running():
        while len(left := (await webhooks.store.deliveries(LOCAL, hook.webhook_id))[0]) > 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert first.delivery_id not in {one.delivery_id for one in left}
