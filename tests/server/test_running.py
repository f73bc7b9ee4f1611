import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from spanhook.errors import ConfigurationError
from spanhook.server.running import address, listen
from tests.ports import free_port


@contextmanager
def command(
    folder: Path, *arguments: str, before: tuple[str, ...] = ()
) -> Generator[tuple[subprocess.Popen[str], str]]:
    """``spanhook serve`` as a process, and the address that it has printed."""
    process = subprocess.Popen(
        [*before, sys.executable, "-m", "spanhook", "serve", "--port", "0", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found is not None, f"{line}{process.communicate()}"
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_the_server_says_where_it_is_and_ends_when_told(tmp_path: Path, name: signal.Signals) -> None:
    with command(tmp_path) as (process, url):
        assert httpx.get(f"{url}/readyz").json() == {"status": "ok"}
        assert (tmp_path / "spanhook.db").is_file()
        process.send_signal(name)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0
        assert out == ""
        assert errors.splitlines() == ["Without authentication: whoever can call it on this machine may do everything."]


TOLD_WHILE_IT_STARTS = """
import os, signal

os.kill(os.getpid(), signal.{name})

async def agent(given): ...
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_the_server_ends_when_told_while_it_starts(tmp_path: Path, name: str) -> None:
    (tmp_path / "app.py").write_text(TOLD_WHILE_IT_STARTS.format(name=name))
    command = [sys.executable, "-m", "spanhook", "serve", "--port", "0", "--agent", "early=./app.py:agent"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_server_names_its_agents(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("async def agent(given): ...")
    agents = ("--agent", "support=./app.py:agent", "--agent", "billing=./app.py:agent")
    command = [sys.executable, "-m", "spanhook", "serve", "--port", "0", *agents]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert line.endswith("/spanhook.db, with the agents billing, support\n")


def test_a_request_that_does_not_end_does_not_keep_the_server(tmp_path: Path) -> None:
    with command(tmp_path) as (process, url):
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.sendall(
                b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 100\r\n\r\n{"
            )
            assert httpx.get(f"{url}/healthz").status_code == 200
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            assert process.returncode == 0
            assert time.monotonic() - begun < 30  # five seconds, on a machine that has nothing else to do


def test_streams_and_slow_uploads_do_not_keep_the_server(tmp_path: Path) -> None:
    head = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    with command(tmp_path) as (process, url), ExitStack() as stack:
        for page in ("runs", "usage", "hooks", "approvals"):
            stream = stack.enter_context(httpx.stream("GET", f"{url}/events/{page}", timeout=60))
            assert "ready" in next(stream.iter_text())
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))))
            slow.sendall(head + b"{")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0


BLOCKING = """
import time

async def agent(given):
    print("blocks", flush=True)
    time.sleep(3600)
"""


@pytest.mark.slow
def test_an_agent_that_blocks_the_event_loop_does_not_keep_the_server(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(BLOCKING)
    with (
        command(tmp_path, "--agent", "blocking=./app.py:agent") as (process, url),
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as caller,
    ):
        caller.sendall(
            b"POST /v1/agents/blocking HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b'Content-Length: 12\r\n\r\n{"input": 1}'
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "blocks\n"
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "the process goes on 20 s after it was told to end, and is ended:\n  MainThread: " in errors
    assert f"{tmp_path / 'app.py'}:6 agent" in errors


HOOKS = """
from spanhook import Hooks, Reject

hooks = Hooks()

@hooks.before("request", names={"/v1/runs"})
def closed(op):
    raise Reject(f"closed for {op.identity.user_id}", status_code=451)
"""


def test_hooks_of_requests_apply_to_the_command(tmp_path: Path) -> None:
    (tmp_path / "hooks.py").write_text(HOOKS)
    run = (sys.executable, "-m", "spanhook", "run", "--hooks", "./hooks.py:hooks", "--")
    with command(tmp_path, before=run) as (_, url):
        refused = httpx.get(f"{url}/v1/runs", timeout=60)
        assert (refused.status_code, refused.json()["code"]) == (451, "rejected")
        assert refused.json()["detail"] == "closed for local"
        assert refused.headers["content-type"] == "application/problem+json"
        assert httpx.get(f"{url}/v1/usage", timeout=60).status_code == 200


def test_a_server_that_exports_to_itself_ends(tmp_path: Path) -> None:
    port = str(free_port())
    exporting = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}", "OTEL_EXPORTER_OTLP_TIMEOUT": "3600"}
    serve = [sys.executable, "-m", "spanhook", "serve", "--port", port, "--agent", "support=./app.py:agent"]
    (tmp_path / "app.py").write_text("async def agent(given): ...")
    run = [sys.executable, "-m", "spanhook", "run", "--", *serve]
    with subprocess.Popen(
        run, cwd=tmp_path, env={**os.environ, **exporting}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            url = f"http://127.0.0.1:{port}"
            assert httpx.post(f"{url}/v1/agents/support", json={"input": 1}, timeout=60).status_code == 200
            process.terminate()
            process.communicate(timeout=60)
            assert process.returncode == 0
        finally:
            process.kill()


HOOKS_OF_RUNS = """
from spanhook import Hooks

hooks = Hooks()

@hooks.before("run", "job", "cron.execute")
def gate(op): ...

@hooks.before("iteration")
def turns(op): ...
"""


def test_hooks_of_runs_and_jobs_are_not_called_idle_where_agents_are_served(tmp_path: Path) -> None:
    (tmp_path / "hooks.py").write_text(HOOKS_OF_RUNS)
    (tmp_path / "app.py").write_text("async def agent(given): ...")
    run = (sys.executable, "-m", "spanhook", "run", "--hooks", "./hooks.py:hooks", "--")
    with command(tmp_path, "--agent", "support=./app.py:agent", before=run) as (process, _):
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert "hook 'turns' is for iteration, which no library makes" in errors
    assert "hook 'gate'" not in errors


def test_a_port_that_is_taken_is_named_with_the_fix() -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(ConfigurationError, match="is taken; choose another with --port"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_a_host_that_is_none_of_this_machine_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"192\.0\.2\.1"):
        listen("192.0.2.1", 0)
    with pytest.raises(ConfigurationError, match="cannot be used"):
        listen("no such host.invalid", 0)


def test_the_command_ends_with_2_when_it_cannot_serve(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "spanhook", "serve", "--port", port]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"spanhook: port {port} of 127.0.0.1 is taken; choose another with --port, or any free one with --port 0\n"
    )


def test_responses_are_sent_at_once() -> None:
    with listen("127.0.0.1", 0) as one:
        assert one.proto == socket.IPPROTO_TCP  # without it, asyncio leaves Nagle's algorithm on


def test_an_address_of_ipv6_has_brackets() -> None:
    if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("this machine has no IPv6")
    with listen("::1", 0) as one:
        assert address("::1", one) == f"http://[::1]:{one.getsockname()[1]}"
