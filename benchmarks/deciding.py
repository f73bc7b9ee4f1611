"""``python -m benchmarks.deciding``: a policy service on loopback that allows everything, until its input ends.

A process of its own, so that what it takes is not counted as what asking it takes.
"""

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Allows(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the answer leaves in one piece

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = b'{"result": true}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


def started() -> str:
    """Start it; returns its address. It ends with this process."""
    running = subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    _kept.append(running)
    return running.stdout.readline().strip()


_kept: list[Any] = []
"""What is started: the end of its input would be the end of it."""


def main() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Allows) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_port}/v1/data/allow", flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
