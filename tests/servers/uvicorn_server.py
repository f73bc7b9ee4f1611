"""Applications behind uvicorn on loopback: in a thread of this process, or in workers of their own."""

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import uvicorn

from tests.ports import free_port


@contextmanager
def served(app: Any) -> Generator[httpx.Client]:
    """A client of an application that uvicorn serves in a thread."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@contextmanager
def workers(folder: Path, target: str, count: int) -> Generator[httpx.Client]:
    """A client of an application that several workers of uvicorn serve, each connection by any of them."""
    port = free_port()
    command = ["uvicorn", target, "--workers", str(count), "--port", str(port), "--log-level", "error"]
    process = subprocess.Popen([sys.executable, "-m", *command], cwd=folder)
    # A connection for each request, so that all workers get some.
    limits = httpx.Limits(max_keepalive_connections=0)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, limits=limits) as client:
            _until_up(client)
            yield client
    finally:
        process.terminate()
        process.wait()


def _until_up(client: httpx.Client) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            client.get("/up")
        except httpx.TransportError:
            assert time.monotonic() < until, "uvicorn did not start"
            time.sleep(0.05)  # there is nothing to wait for
        else:
            return
