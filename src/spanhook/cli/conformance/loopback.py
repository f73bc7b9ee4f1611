"""The HTTP server that all servers of the tests are."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Ends as soon as it is told to: ``serve_forever`` only looks now and then whether it should."""

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
        """Take no more connections; ``serve``, which waits for one, returns."""
        self.socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Generator[str, None, None]:
    """The address of a server that answers by ``handler``, while it is open."""
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.stop()
        thread.join()
        server.server_close()
