"""A small MCP server that speaks the protocol itself: over HTTP, and for a child process that passes on its standard
input.

It is not made with the SDK, so that only the client is bound.
"""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from spanhook.cli.conformance.servers.loopback import Server
from spanhook.cli.conformance.subject import PLANTED, Body

Json = dict[str, Any]
TOOL, PROMPT, URI = "look_up", "greet", "doc://readme"
FOUND = "quartz zebra"
METHODS = ("tools/call", "resources/read", "prompts/get")
_MODERN = "io.modelcontextprotocol/protocolVersion"

BRIDGE = """
import socket, sys
for line in sys.stdin.buffer:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as link:
        link.sendall(b"%s\\n%s" % (sys.argv[2].encode(), line))
        for answer in link.makefile("rb"):
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
"""
"""The program of a child process that answers what comes in on standard input as the server in this process does."""


def answer(message: Json, body: Body) -> Json | None:
    """The answer to one message; ``None`` for notifications. Requests of tools, resources and prompts count as runs of
    ``body``, and fail or wait as it is told to.
    """
    if "id" not in message:
        return None
    method: str = message["method"]
    params: Json = message.get("params") or {}
    if method in METHODS:
        body.count({name: value for name, value in params.items() if name != "_meta"})
        if body.hold is not None:
            body.hold.wait()
        if body.fault is not None and body.fault.status:
            return _error(message, body.fault.status, f"{PLANTED} is broken")
    result = _result(method, params, body)
    if result is None:
        return _error(message, -32601, "Method not found")
    if _MODERN in (params.get("_meta") or {}):
        result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _error(message: Json, code: int, said: str) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": said}}


def _result(method: str, params: Json, body: Body) -> Json | None:
    failed = body.fault is not None
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "conformance", "version": "1"},
            }
        case "ping":
            return {}
        case "tools/list":
            schema = {"type": "object", "properties": {"query": {"type": "string"}}}
            return {"tools": [{"name": TOOL, "inputSchema": schema}]}
        case "tools/call":
            said = f"{PLANTED} is broken" if failed else FOUND
            return {"content": [{"type": "text", "text": said}], "isError": failed}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": FOUND}]}
        case "prompts/get":
            return {"messages": [{"role": "user", "content": {"type": "text", "text": FOUND}}]}
        case _:
            return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm, wbufsize = True, -1

    def do_POST(self) -> None:
        given = self.rfile.read(int(self.headers["Content-Length"]))
        said = answer(json.loads(given), BODIES[self.path.rpartition("/")[2]])
        told = b"" if said is None else json.dumps(said).encode()
        self.send_response(202 if said is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        with suppress(ConnectionError):  # the client has been cancelled
            self.wfile.write(told)
            self.wfile.flush()

    def do_GET(self) -> None:  # nothing is sent unasked
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None: ...


class _Http(Server):
    """The server over HTTP. Clients whose call is cancelled break their connection, which is no error here."""

    def handle_error(self, request: Any, client_address: Any) -> None: ...


class _Lines(Server):
    """What the child processes connect to: a line that names the body, and one message."""

    def process_request(self, request: Any, client_address: Any) -> None:
        threading.Thread(target=self._serve, args=(request,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        with link, link.makefile("rwb") as lines:
            body = BODIES[lines.readline().decode().strip()]
            said = answer(json.loads(lines.readline()), body)
            if said is not None:
                lines.write(json.dumps(said).encode() + b"\n")


BODIES: dict[str, Body] = {}
"""The bodies that requests count into, by a name that is in their address."""


def named(body: Body) -> str:
    """The name of a body, from now on."""
    BODIES[str(id(body))] = body
    return str(id(body))


def _started(made: Callable[[tuple[str, int], Any], Server]) -> int:
    server = made(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve, daemon=True).start()
    return server.server_port


def http_port() -> int:
    """The port of the server over HTTP, which runs from now on."""
    return _started(_Http)


def lines_port() -> int:
    """The port that child processes connect to, which is open from now on."""
    return _started(_Lines)
