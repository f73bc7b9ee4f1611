"""An OTLP/gRPC receiver on loopback that keeps what it is sent."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc

Answer = Callable[[int, Any], bytes]


class GrpcCollector:
    """What was received.

    Attributes:
        url: The endpoint.
        received: Every request: the method's name and the message's bytes.
    """

    def __init__(self) -> None:
        self.url = ""
        self.received: list[tuple[str, bytes]] = []


class _Everything(grpc.GenericRpcHandler):
    def __init__(self, seen: GrpcCollector, answer: Answer) -> None:
        self._seen, self._answer = seen, answer

    def service(self, handler_call_details: Any) -> Any:
        def handle(request: bytes, context: Any) -> bytes:
            self._seen.received.append((handler_call_details.method, request))
            return self._answer(len(self._seen.received), context)

        return grpc.unary_unary_rpc_method_handler(handle)


@contextmanager
def grpc_collector(answer: Answer = lambda _number, _context: b"") -> Generator[GrpcCollector]:
    """A receiver for the length of the block.

    Args:
        answer: Gives the bytes of the response, from the number of the request, counted from 1, and the call's context.
    """
    seen = GrpcCollector()
    server = grpc.server(ThreadPoolExecutor(1), handlers=[_Everything(seen, answer)])
    seen.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield seen
    finally:
        server.stop(None).wait()
