"""A real server and processes of agents that follow it, whatever happens to either."""

import base64
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

AGENT = """
import json, os, sys, threading
import spanhook

@spanhook.tool
def guarded():
    return "done"

@spanhook.tool
def marked():
    return ""

calls = leaks = 0

def use():
    global calls, leaks
    while True:
        try:
            guarded()
        except spanhook.Reject:
            calls += 1
        else:
            leaks += 1
        threading.Event().wait(0.002)

def until_it_is_marked(name):
    while not (found := mark()):
        threading.Event().wait(0.02)
    with open(name, "w") as opened:
        opened.write(found)
    while os.getppid() == parent:
        threading.Event().wait(0.05)

parent = os.getpid()

def mark():
    try:
        return marked()
    except spanhook.Reject as refused:
        return refused.reason

for line in sys.stdin:
    if line.strip() == "fork" and os.fork() == 0:
        until_it_is_marked("child")
        os._exit(0)
    if line.strip() == "use":
        threading.Thread(target=use, daemon=True).start()
    if line.strip() == "as acme":
        with spanhook.context(tenant_id="acme"):
            found = mark()
        print(json.dumps({"mark": found}), flush=True)
        continue
    threads = [one.name for one in threading.enumerate()]
    print(json.dumps({"mark": mark(), "calls": calls, "leaks": leaks, "threads": threads}), flush=True)
"""
CONFIGURATION = """
version: 1
control_plane: {{url: "http://127.0.0.1:{port}", cache: ./kept/hooks.json, fail_mode: {fail_mode}}}
"""
POLICY = "spanhook.hooks.tool_policy:ToolPolicy"


class Agent:
    """A process of an agent."""

    def __init__(self, folder: Path, port: int, fail_mode: str = "closed", configuration: str = "") -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        (folder / "agent.py").write_text(AGENT)
        (folder / "spanhook.yaml").write_text(configuration or CONFIGURATION.format(port=port, fail_mode=fail_mode))
        with (folder / "errors").open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "spanhook", "run", "agent.py"],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def ask(self, what: str = "tell") -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, (self.folder / "errors").read_text()
        return json.loads(line)

    @property
    def mark(self) -> str:
        return self.ask()["mark"]

    @property
    def said(self) -> str:
        return (self.folder / "errors").read_text()


@contextmanager
def agents(*given: Agent) -> Generator[None]:
    try:
        yield
    finally:
        for one in given:
            one.process.kill()
            one.process.communicate()


@contextmanager
def server(folder: Path, port: int, *options: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "spanhook", "serve", "--port", str(port), *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("spanhook serves"), process.communicate()
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, or fail after a time in which it must."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def policies(number: int) -> str:
    """Policies of which exactly one denies ``guarded``: in a half of two sets, none would."""
    rule = json.dumps([{"deny": ["guarded"], "reason": "no"}])
    mark = json.dumps([{"deny": ["marked"], "reason": f"policy {number}"}])
    which = "even" if number % 2 == 0 else "odd"
    other = json.dumps([{"deny": ["other"]}])
    first, second = (rule, other) if number % 2 == 0 else (other, rule)
    return f"""
version: 1
policies:
  - {{use: tool_policy, id: first, with: {{default: allow, rules: {first}}}}}
  - {{use: tool_policy, id: mark, with: {{default: allow, rules: {mark}}}}}
  - {{use: tool_policy, id: second-{which}, with: {{default: allow, rules: {second}}}}}
"""


def put(url: str, number: int, key: str = "") -> None:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    response = httpx.put(f"{url}/v1/policy", json={"content": policies(number)}, headers=headers, timeout=60)
    assert response.status_code == 200, response.text


def hook(url: str, reason: str) -> str:
    config = {"default": "allow", "rules": [{"deny": ["marked"], "reason": reason}]}
    given = {"name": "mark", "event_type": "tool.execute.pre", "handler_ref": POLICY, "config": config}
    response = httpx.post(f"{url}/v1/hooks", json=given, timeout=60)
    assert response.status_code == 201, response.text
    return response.json()["hook_id"]


def test_three_processes_follow_changes_while_the_server_restarts(tmp_path: Path, port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        running = stack.enter_context(server(tmp_path, port))
        put(url, 0)
        followers = [Agent(tmp_path / f"agent{number}", port) for number in range(3)]
        stack.enter_context(agents(*followers))
        for one in followers:
            assert one.ask("use")["mark"] == "policy 0"
        for number in range(1, 13):
            put(url, number)
            if number in (4, 8):
                running.send_signal(signal.SIGKILL if number == 4 else signal.SIGTERM)
                running.wait(60)
                running = stack.enter_context(server(tmp_path, port))
        until(lambda: all(one.mark == "policy 12" for one in followers))
        for one in followers:
            told = one.ask()
            assert told["calls"] > 0
            assert told["leaks"] == 0
        versions = {json.loads(json.loads(kept(one).read_text())["payload"])["version"] for one in followers}
        assert versions == {13}
        until(lambda: _reported(url) == [13, 13, 13])


def kept(agent: Agent) -> Path:
    return agent.folder / "kept" / "hooks.json"


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


def test_a_forked_child_follows_too(tmp_path: Path, port: int) -> None:
    with server(tmp_path, port):
        one = Agent(tmp_path / "agent", port)
        with agents(one):
            assert one.ask("fork")["mark"] == ""
            hook(f"http://127.0.0.1:{port}", "now")
            until(lambda: one.mark == "now")
            until(lambda: (one.folder / "child").exists() and (one.folder / "child").read_text() == "now")
            until(lambda: _reported(f"http://127.0.0.1:{port}") == [1, 1])


def test_a_process_whose_file_names_no_server_has_no_thread_for_it(tmp_path: Path, port: int) -> None:
    with agents(one := Agent(tmp_path / "agent", port)):
        assert "spanhook-control-plane" in one.ask()["threads"]
    with agents(one := Agent(tmp_path / "agent", port, configuration="version: 1")):
        assert "spanhook-control-plane" not in one.ask()["threads"]


@pytest.mark.parametrize("fail_mode", ["closed", "open"])
def test_a_process_that_has_never_had_a_set_fails_as_it_is_told(tmp_path: Path, port: int, fail_mode: str) -> None:
    one = Agent(tmp_path / "agent", port, fail_mode)
    with agents(one):
        assert ("has not said yet" in one.mark) == (fail_mode == "closed")
        with server(tmp_path, port):
            hook(f"http://127.0.0.1:{port}", "now")
            until(lambda: one.mark == "now")
        assert one.mark == "now"


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
