"""What the program Claude Code talks to: Anthropic's wire format, with an id of its own for every message."""

from itertools import count
from typing import Any

from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.anthropic_server import _Answering as Answering
from spanhook.cli.conformance.servers.openai_replies import Json, Reply

_numbers = count(1)


class _Numbered(Answering):
    def answer(self, body: Json, reply: Reply, whole: Json, events: Any) -> None:
        message_id = f"msg_{next(_numbers):04}"
        named = ((name, _with_id(data, message_id)) for name, data in events)
        super().answer(body, reply, {**whole, "id": message_id, "model": body.get("model")}, named)


def _with_id(event: Any, message_id: str) -> Any:
    if event.get("type") != "message_start":
        return event
    return {**event, "message": {**event["message"], "id": message_id}}


class ClaudeServer(AnthropicServer):
    """The server."""

    handler = _Numbered


def environment(url: str, home: str) -> dict[str, str]:
    """What makes the program ask the server at ``url`` alone, and keep its files in ``home``."""
    off = (
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    )
    return {
        **dict.fromkeys(off, "1"),
        "ANTHROPIC_API_KEY": "test",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CONFIG_DIR": home,
        "HOME": home,
        "HTTPS_PROXY": "http://127.0.0.1:9",  # where nobody answers
        "IS_SANDBOX": "1",
        "NO_PROXY": "127.0.0.1",
    }
