"""What the server has acknowledged stays, however it ends and whatever becomes of its disk."""

import json
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from spanhook.cli.main import cli
from tests.server.loading import Load, everything, load, send, settings
from tests.server.test_running import command


def check(folder: Path, found: Load, url: str) -> None:
    """A new server has all that was acknowledged, each once, and the audit record's chain holds."""
    with ExitStack() as stack:
        _, address = stack.enter_context(command(folder, "--database", url, "--config", settings(folder)))
        with httpx.Client(base_url=address, timeout=60) as client:
            runs = [one["id"] for one in everything(client, "/v1/runs", "runs")]
            assert len(runs) == len(set(runs))
            assert found.runs <= set(runs)
            changes = everything(client, f"/v1/hooks/{found.hook}/history", "changes")
            assert [one["version"] for one in changes] == list(range(len(changes), 0, -1))
            assert found.descriptions <= {one["definition"]["description"] for one in changes}
            for name in found.approved:
                assert client.get(f"/v1/approvals/{name}").json()["status"] == "approved"
    audit = folder / "audit.jsonl"
    written = subprocess.run(
        [sys.executable, "-m", "spanhook", "serve", "audit", "--database", url],
        capture_output=True,
        text=True,
        check=True,
    )
    audit.write_text(written.stdout)
    verified = CliRunner().invoke(cli, ["audit", "verify", str(audit)])
    assert verified.exit_code == 0, verified.output
    told = [json.loads(line) for line in written.stdout.splitlines()]
    assert len(told) >= len(found.descriptions) + len(found.approved)


@pytest.mark.parametrize("name", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_nothing_that_was_acknowledged_is_lost_when_the_server_ends_under_load(
    tmp_path: Path, url: str, name: signal.Signals
) -> None:
    with ExitStack() as stack:
        given = ("--database", url, "--config", settings(tmp_path))
        process, address = stack.enter_context(command(tmp_path, *given))
        with load(address, url) as found:
            found.wait_for(40)
            process.send_signal(name)
            _, errors = process.communicate(timeout=30)  # within five seconds, on a machine that has time
            assert process.returncode == (0 if name == signal.SIGTERM else -signal.SIGKILL)
            assert "Traceback" not in errors
    assert found.runs
    assert found.descriptions
    assert found.approved
    assert {status for status, _, _ in found.refused} <= {409, 503}  # 409: two changes of one hook at once
    check(tmp_path, found, url)


@contextmanager
def small_files(pid: int, most: int) -> Generator[None]:
    """Keep the files of a process from growing, as on a full disk; the kernel refuses to write either way."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_as_the_protocol_says_and_does_no_damage(tmp_path: Path) -> None:
    database = tmp_path / "spanhook.db"
    with ExitStack() as stack:
        process, address = stack.enter_context(command(tmp_path, "--config", settings(tmp_path)))
        with httpx.Client(base_url=address, timeout=60) as client:
            kept = list[str]()
            with small_files(process.pid, 2_000_000):
                while (response := send(client, f"run-{len(kept)}", name="x" * 5_000)).status_code == 200:
                    kept.append(f"run-{len(kept)}")
                    assert len(kept) < 2_000
                assert response.status_code == 503
                assert response.headers["content-type"] == "application/problem+json"
                assert int(response.headers["Retry-After"]) > 0
                assert response.json()["code"] == "unavailable"
                assert client.put("/v1/policy", json={"content": "# " + "x" * 500_000}).status_code == 503
                assert client.get("/healthz").status_code == 200
                assert len(everything(client, "/v1/runs", "runs")) == len(kept)
            assert send(client, "afterwards").status_code == 200
            found = {one["id"] for one in everything(client, "/v1/runs", "runs")}
            assert found == {*kept, "afterwards"}
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_database_that_is_away_for_a_while_is_used_again(tmp_path: Path, postgres_url: str) -> None:
    import psycopg
    from psycopg.sql import SQL, Identifier

    server, _, name = postgres_url.rpartition("/")
    with ExitStack() as stack:
        given = ("--database", postgres_url, "--config", settings(tmp_path))
        _, address = stack.enter_context(command(tmp_path, *given))
        client = stack.enter_context(httpx.Client(base_url=address, timeout=60))
        other = stack.enter_context(psycopg.connect(f"{server}/postgres", autocommit=True))
        assert send(client, "before").status_code == 200
        other.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(Identifier(name)))
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        for response in (send(client, "away"), client.get("/v1/runs"), client.get("/readyz")):
            assert (response.status_code, response.json()["code"]) == (503, "unavailable")
            assert int(response.headers["Retry-After"]) > 0
            assert "127.0.0.1" not in response.text
        assert client.get("/healthz").status_code == 200
        other.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(Identifier(name)))
        assert send(client, "after").status_code == 200
        assert {one["id"] for one in everything(client, "/v1/runs", "runs")} == {"before", "after"}
