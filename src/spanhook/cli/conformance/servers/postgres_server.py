"""A PostgreSQL server of our own, on a free port of the loopback interface, which ends with this process."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

USER = "postgres"


def _programs() -> str | None:
    """The folder of its programs: Debian keeps them apart from others, by version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    given = shutil.which("postgres") or (str(found[-1]) if found else None)
    return None if given is None else str(Path(os.path.realpath(given)).parent)


PROGRAMS = _programs()


@contextmanager
def running_postgres() -> Generator[int]:
    """The port of a running server, whose user ``postgres`` needs no password; nothing of it is kept.

    Raises:
        FileNotFoundError: It is not installed.
        RuntimeError: It did not start.
    """
    if PROGRAMS is None:
        raise FileNotFoundError("PostgreSQL is not installed")
    # It refuses to run as root.
    user = USER if os.getuid() == 0 else None
    # The port stays bound, so that nobody gets it while the server is made. Servers may share it.
    with socket.socket() as held, tempfile.TemporaryDirectory() as folder:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        if user:
            shutil.chown(folder, user, user)
        data = f"{folder}/data"
        made = subprocess.run(  # noqa: S603 - its own programs
            [f"{PROGRAMS}/initdb", "-D", data, "-U", USER, "--auth=trust", "--no-sync", "--encoding=UTF8"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            user=user,
            group=user,
        )
        if made.returncode:
            raise RuntimeError(made.stderr)
        settings = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        server = subprocess.Popen(  # noqa: S603
            [f"{PROGRAMS}/postgres", "-D", data, *given],
            cwd=folder,
            stderr=subprocess.DEVNULL,
            user=user,
            group=user,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - it calls nothing that threads could have locked
        )
        try:
            _await(server, Path(data))
            yield port
        finally:
            server.send_signal(signal.SIGINT)  # it waits for nobody then
            server.wait(30)


_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    if hasattr(_libc, "prctl"):  # on Linux
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _await(server: "subprocess.Popen[bytes]", data: Path) -> None:
    """Wait until it says that it is ready: before that it accepts connections, and refuses them."""
    for _ in range(3_000):
        if server.poll() is not None:
            raise RuntimeError("postgres has ended")
        with suppress(FileNotFoundError):
            *_, status = ("", *(data / "postmaster.pid").read_text().splitlines())
            if status.strip() == "ready":
                return
        time.sleep(0.02)
    raise RuntimeError("postgres does not answer")
