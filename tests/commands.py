"""Running the real command in real processes, in a folder of files written for one test."""

import http.client
import io
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from spanhook.cli import main
from tests.forking import children

SPANHOOK = (sys.executable, "-m", "spanhook")

HOOKS = """
from spanhook import Hooks, Reject

hooks = Hooks()

@hooks.before("tool.execute", names={"refund"})
def no_refunds(op):
    raise Reject("no refunds today")
"""

TOOL = """
import os
from langchain_core.tools import tool

@tool
def refund(amount: int) -> str:
    "Pay money back."
    open("BODY_RAN", "a").write("x")
    return "paid"

def attempt() -> str:
    try:
        return refund.invoke({"amount": 1})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""

OWN_TOOL = """
import spanhook

@spanhook.tool
def refund() -> str:
    open("BODY_RAN", "a").write("x")
    return "paid"

def attempt() -> str:
    try:
        return refund()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""

APP = """
from tool import attempt
print(attempt(), flush=True)
"""

REJECTED = "Reject: no refunds today"


class Folder:
    """A folder of files, and processes started in it. ``path`` is where it is."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **files: str) -> "Folder":
        """Write Python files by module name; a double underscore stands for a slash."""
        for name, text in files.items():
            self.file(name.replace("__", "/") + ".py", text)
        return self

    def file(self, name: str, text: str, *, executable: bool = False) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
        if executable:
            path.chmod(0o755)
        return path

    def agent(self, tool: str = TOOL) -> "Folder":
        """An application whose tool may not run, and the hooks that see to it.

        Its tool is one of LangChain's, whose import takes the child as long as all else, unless it is ``OWN_TOOL``.
        """
        return self.write(hooks=HOOKS, tool=tool, app=APP)

    @property
    def body_ran(self) -> bool:
        return (self.path / "BODY_RAN").exists()

    def run(self, *command: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.path,
            env=environment(env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def spanhook(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """The command in a forked process. What ``run`` starts is an interpreter that has just started all the same."""
        return children.run(*SPANHOOK[1:], *arguments, cwd=self.path, env=environment(env), stdin=stdin)

    def here(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """The command without a process of its own, which costs a second; for those that start no application."""
        assert arguments[:1] != ("run",)
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.path)
            patch.setattr(sys, "argv", [*SPANHOOK[-1:], *arguments])
            patch.setattr(sys, "path", list(sys.path))
            for name in os.environ.keys() - environment({}).keys():
                patch.delenv(name)
            for name, value in env.items():
                patch.setenv(name, value)
            try:
                with pytest.raises(SystemExit) as left:
                    main()
            finally:
                self._forget()
        assert isinstance(left.value.code, int)
        return subprocess.CompletedProcess([*SPANHOOK, *arguments], left.value.code, out.getvalue(), err.getvalue())

    def _forget(self) -> None:
        """Leave no module of this folder to the next test, which may have others of the same names."""
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(f"{self.path}{os.sep}"):
                del sys.modules[name]

    @contextmanager
    def process(self, *command: str, **env: str) -> Generator[subprocess.Popen[bytes]]:
        """A process that is told to end after the block, and has ended then."""
        process = subprocess.Popen(command, cwd=self.path, env=environment(env), stderr=subprocess.PIPE)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()

    @contextmanager
    def server(self, *command: str, port: int, **env: str) -> Generator[subprocess.Popen[bytes]]:
        """A process that listens on ``port`` by the time the block is entered, and has ended after it."""
        with self.process(*command, **env) as process:
            _await_port(process, port)
            yield process


def environment(added: dict[str, str]) -> dict[str, str]:
    """This process's environment without what would change how Python, the SDK or spanhook start."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OTEL_", "SPANHOOK_"))}
    return {**kept, **added}


def _await_port(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            assert process.stderr is not None
            raise AssertionError(process.stderr.read().decode())
        with socket.socket() as opened:
            opened.settimeout(1)
            if opened.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port}")


def fetch(port: int) -> str:
    """What an HTTP server on loopback answers to ``GET /``."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/", headers={"Connection": "close"})
        return connection.getresponse().read().decode()
    finally:
        connection.close()
