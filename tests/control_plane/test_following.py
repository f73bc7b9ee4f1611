"""A real server and processes of agents that follow it, whatever happens to either."""

import base64
import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.control_plane.processes import Agent, agents, hook, put, server, until
from tests.ports import free_port

PAUSE = 0.001
"""Seconds between two calls of agents together, so that more of them do not take more of the machine."""


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.mark.parametrize(
    ("processes", "changes"),
    [pytest.param(3, 12, marks=pytest.mark.slow), pytest.param(15, 200, marks=pytest.mark.e2e)],  # the latter waits
)
def test_processes_follow_changes_while_the_server_restarts(
    tmp_path: Path, port: int, processes: int, changes: int
) -> None:
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        running = stack.enter_context(server(tmp_path, port))
        put(url, 0)
        followers = [Agent(tmp_path / f"agent{number}", port) for number in range(processes)]
        stack.enter_context(agents(*followers))
        for one in followers:
            assert one.ask(f"use {PAUSE * processes}")["mark"] == "policy 0"
        for number in range(1, changes + 1):
            put(url, number)
            if number in (changes // 3, 2 * changes // 3):
                running.send_signal(signal.SIGKILL if number == changes // 3 else signal.SIGTERM)
                running.wait(60)
                running = stack.enter_context(server(tmp_path, port))
        until(lambda: all(one.mark == f"policy {changes}" for one in followers))
        for one in followers:
            told = one.ask()
            assert told["calls"] > 0
            assert told["leaks"] == 0
        until(lambda: {_kept_version(one) for one in followers} == {changes + 1})
        until(lambda: _reported(url) == [changes + 1] * processes)


def kept(agent: Agent) -> Path:
    return agent.folder / "kept" / "hooks.json"


def _kept_version(agent: Agent) -> int:
    """What it would start with; it is written after a set is taken."""
    return json.loads(json.loads(kept(agent).read_text())["payload"])["version"]


def _reported(url: str) -> list[int]:
    found = httpx.get(f"{url}/v1/processes", timeout=60).json()["processes"]
    return [one["set_version"] for one in found]


def test_what_is_known_stays_in_force_without_the_server_at_start_too(tmp_path: Path, port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    with server(tmp_path, port):
        known = hook(url, "from the server")
        first = Agent(tmp_path / "agent", port)
        with agents(first):
            assert first.mark == "from the server"
            assert stat.S_IMODE(kept(first).stat().st_mode) == 0o600
    again = Agent(tmp_path / "agent", port)
    with agents(again):
        assert again.mark == "from the server"
        until(lambda: "does not answer" in again.said)
        with server(tmp_path, port):
            assert httpx.delete(f"{url}/v1/hooks/{known}", timeout=60).status_code == 200
            until(lambda: again.mark == "")
    assert again.said.count("does not answer") == 1
    assert again.said.count(f"spanhook: http://127.0.0.1:{port} has changed, and less is enforced now: hook ") == 1


@pytest.mark.slow
def test_a_forked_child_follows_too(tmp_path: Path, port: int) -> None:
    with server(tmp_path, port):
        one = Agent(tmp_path / "agent", port)
        with agents(one):
            assert one.ask("fork")["mark"] == ""
            hook(f"http://127.0.0.1:{port}", "now")
            until(lambda: one.mark == "now")
            until(lambda: (one.folder / "child").exists() and (one.folder / "child").read_text() == "now")
            until(lambda: _reported(f"http://127.0.0.1:{port}") == [1, 1])


@pytest.mark.slow
def test_a_process_whose_file_names_no_server_has_no_thread_for_it(tmp_path: Path, port: int) -> None:
    with agents(one := Agent(tmp_path / "agent", port)):
        assert "spanhook-control-plane" in one.ask()["threads"]
    with agents(one := Agent(tmp_path / "agent", port, configuration="version: 1")):
        assert "spanhook-control-plane" not in one.ask()["threads"]


@pytest.mark.slow
@pytest.mark.parametrize("fail_mode", ["closed", "open"])
def test_a_process_that_has_never_had_a_set_fails_as_it_is_told(tmp_path: Path, port: int, fail_mode: str) -> None:
    one = Agent(tmp_path / "agent", port, fail_mode)
    with agents(one):
        assert ("has not said yet" in one.mark) == (fail_mode == "closed")
        with server(tmp_path, port):
            hook(f"http://127.0.0.1:{port}", "now")
            until(lambda: one.mark == "now")
        assert one.mark == "now"


@pytest.mark.slow
def test_a_definition_without_its_handler_is_told_everywhere(tmp_path: Path, port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    (tmp_path / "acme.py").write_text(HANDLER)
    (tmp_path / "server.yaml").write_text("handlers: [acme, spanhook.hooks]")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    serve = [sys.executable, "-m", "spanhook", "serve", "--port", str(port), "--config", "server.yaml"]
    with subprocess.Popen(serve, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            given = {"name": "x", "event_type": "tool.execute.pre", "handler_ref": "acme:Refuse"}
            made = httpx.post(f"{url}/v1/hooks", json=given, timeout=60)
            assert made.status_code == 201, made.text
            hook(url, "the rest holds")
            one = Agent(tmp_path / "agent", port)
            with agents(one):
                assert one.mark == "the rest holds"
                assert "is not in force here" in one.said
                until(lambda: bool(httpx.get(f"{url}/v1/processes", timeout=60).json()["processes"]))
                (told,) = httpx.get(f"{url}/v1/processes", timeout=60).json()["processes"]
                (problem,) = told["problems"]
                assert problem["subject"] == made.json()["hook_id"]
                assert "'acme:Refuse' is not allowed" in problem["message"]
        finally:
            process.kill()


SIGNED = """
version: 1
control_plane: {{url: "http://127.0.0.1:{port}", api_key_env: ACME_KEY, public_key: "{public}", tenant: acme}}
"""


@pytest.mark.slow
def test_a_tenants_process_follows_the_signed_sets_of_its_tenant(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = Ed25519PrivateKey.generate()
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    (tmp_path / "signing.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "server.yaml").write_text("api_keys: true\nsigning_key: signing.pem\n")
    keys = {
        tenant: created(tmp_path, "--tenant", tenant, "--scope", "hooks:sync,hooks:admin,hooks:read")
        for tenant in ("acme", "globex")
    }
    url = f"http://127.0.0.1:{port}"
    with server(tmp_path, port, "--config", "server.yaml"):
        for tenant, text in keys.items():
            put(url, 2 if tenant == "acme" else 3, text)
        for tenant, found in (("acme", "policy 2"), ("globex", "has not said yet")):
            monkeypatch.setenv("ACME_KEY", keys[tenant])
            one = Agent(tmp_path / tenant, port, configuration=SIGNED.format(port=port, public=public))
            with agents(one):
                until(lambda found=found, one=one: found in one.ask("as acme")["mark"])
    assert "is for the tenant 'globex', not for 'acme'" in one.said


def created(folder: Path, *options: str) -> str:
    """A new API key."""
    command = [sys.executable, "-m", "spanhook", "serve", "keys", "create", "agents", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


HANDLER = """
import spanhook
from spanhook.definitions import handler

@handler
class Refuse:
    async def execute(self, context, call_next):
        return await call_next(context)
"""
