"""A Python process that has imported much and runs programs in forked children, which need not import it again.

Started by ``children.py``, with a socket as its standard input. A request is the length of a JSON text, sent together
with four file descriptors (the child's standard streams, and where to write its exit code), and then the text.
The answer is the child's process id. The server ends when the other end of the socket is closed.
"""

import builtins
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
import traceback
import types
import warnings
from contextlib import suppress
from typing import Any

PRELOADED = (
    "spanhook.hooks",
    "spanhook.schedules",
    "spanhook.store",
    "spanhook.webhooks",
    "httpx",
    "langgraph.graph",
    "opentelemetry.sdk.metrics",
)
"""What many children import; nothing of it starts a thread."""

_statuses: dict[int, int] = {}
"""Where to write the exit code of each running child."""


def _reap(*_: object) -> None:
    while _statuses:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:  # this signal came while the one before it was handled, which has the last child
            return
        if pid == 0:
            return
        written = _statuses.pop(pid)
        with suppress(BrokenPipeError):  # nobody waits for it
            os.write(written, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(written)


def _read(connection: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length and (more := connection.recv(length - len(found))):
        found += more
    return found


def _serve(connection: socket.socket) -> dict[str, Any] | None:
    """Answer requests until the connection is closed. In a child, return what it has to run."""
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        head, fds, *_ = socket.recv_fds(connection, 4, 4)
        if not head:
            return None
        head += _read(connection, 4 - len(head))
        asked = json.loads(_read(connection, int.from_bytes(head, "big")))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # or a child might end before it is known
        child = os.fork()
        if child == 0:
            _become(connection, fds)
            return asked
        _statuses[child] = fds[3]
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        for fd in fds[:3]:
            os.close(fd)
        connection.sendall(child.to_bytes(4, "big"))


def _become(connection: socket.socket, fds: list[int]) -> None:
    """Keep nothing of the server's in a child but what it has imported."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    connection.close()
    for status in _statuses.values():
        os.close(status)
    _statuses.clear()
    for number in range(3):
        os.dup2(fds[number], number)
    for fd in fds:
        os.close(fd)


def _run(asked: dict[str, Any]) -> None:
    """Run a program as ``python`` would with these arguments."""
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    if encoding := os.environ.get("PYTHONIOENCODING"):
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.reconfigure(encoding=encoding)  # pyright: ignore[reportAttributeAccessIssue]
    words: list[str] = asked["arguments"]
    sys.orig_argv[1:] = words
    while words[0] == "-W":
        action, _, category = words[1].partition("::")
        warnings.simplefilter(action, getattr(builtins, category or "Warning"))  # pyright: ignore[reportArgumentType]
        sys.warnoptions.append(words[1])
        del words[:2]
    sys.path[:0] = [os.path.abspath(one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    if words[0] == "-m":
        sys.argv[:] = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(main)["__builtins__"] = builtins
    if words[0] == "-c":
        sys.argv[:] = ["-c", *words[2:]]
        sys.path.insert(0, "")
        code = compile(words[1], "<string>", "exec")
    else:
        sys.argv[:] = words
        sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])))
        main.__file__ = os.path.join(os.getcwd(), words[0])
        with open(words[0], "rb") as source:
            code = compile(source.read(), main.__file__, "exec")
    exec(code, vars(main))


def main() -> None:
    """Import, serve, and in a child run what was asked for; its interpreter then leaves as any does."""
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # as in a program that stands elsewhere
    for name in PRELOADED:
        with suppress(ImportError):  # not every environment has all
            importlib.import_module(name)
    assert threading.active_count() == 1, "a process with threads cannot be forked safely"
    gc.collect()
    gc.freeze()  # or each child would copy it all only to look at it
    connection = socket.socket(fileno=os.dup(0))
    connection.set_inheritable(False)
    asked = _serve(connection)
    if asked is None:
        return
    try:
        _run(asked)
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        traceback.print_exception(error.with_traceback(trace))
        sys.exit(1)


if __name__ == "__main__":
    main()
