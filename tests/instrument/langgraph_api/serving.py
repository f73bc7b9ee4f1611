"""LangGraph's own server in memory, and a client of it."""

import http.client
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AUTH = """
from langgraph_sdk import Auth

auth = Auth()

@auth.authenticate
async def authenticate(headers):
    return {"identity": headers.get(b"x-user", b"").decode() or "nobody"}
"""
#: It looks for no newer versions, tells nobody of itself, and sends no traces.
ALONE = {"LANGGRAPH_NO_VERSION_CHECK": "1", "LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGSMITH_TRACING": "false"}


def dev(port: int, *options: str) -> tuple[str, ...]:
    """The command that starts it."""
    command = (str(Path(sys.executable).with_name("langgraph")), "dev", "--port", str(port))
    return (*command, "--host", "127.0.0.1", "--no-browser", "--no-reload", *options)


@dataclass(frozen=True)
class Answer:
    """What it has answered."""

    status: int
    text: str
    retry_after: str | None


class Client:
    """Asks the server on a port, as a user."""

    def __init__(self, port: int) -> None:
        self._port = port

    def ask(self, method: str, path: str, body: Any, user: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            headers = {"Content-Type": "application/json", "X-User": user}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return Answer(response.status, response.read().decode(), response.getheader("retry-after"))
        finally:
            connection.close()

    def json(self, method: str, path: str, body: Any, user: str) -> Any:
        return json.loads(self.ask(method, path, body, user).text)
