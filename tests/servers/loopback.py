"""The HTTP server that all servers of the tests are."""

import socket
from http.server import ThreadingHTTPServer


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
