"""A server and processes of agents that follow it, as processes of their own."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

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

def use(pause):
    global calls, leaks
    while True:
        try:
            guarded()
        except spanhook.Reject:
            calls += 1
        else:
            leaks += 1
        threading.Event().wait(pause)

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
    if line.startswith("use "):
        threading.Thread(target=use, args=(float(line.split()[1]),), daemon=True).start()
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
