"""The base of all HTTP servers in the tests."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Stops at once when told: ``serve_forever`` only checks periodically."""

    daemon_threads = True
    request_queue_size = 128

    def serve(self) -> None:
        """Answer until ``stop``."""
        while True:
            try:
                connection, address = self.socket.accept()
            except OSError:
                return
            self.process_request(connection, address)

    def stop(self) -> None:
        """Accept no more connections; ``serve``, which waits for one, returns."""
        self.socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Generator[str, None, None]:
    """The address of a server that answers with ``handler``, while the block runs."""
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.stop()
        thread.join()
        server.server_close()
