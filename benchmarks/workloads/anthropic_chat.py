"""Anthropic's SDK over a transport that answers in-process."""

import importlib
import json
from typing import Any

import anthropic

from benchmarks.workloads import Operation

_MODEL = "claude-sonnet-4-5"
_REQUEST: dict[str, Any] = {
    "model": _MODEL,
    "system": "You are a helpful assistant.",
    "messages": [{"role": "user", "content": "What is six times seven?"}],
    "max_tokens": 100,
}
_ANSWER = json.dumps(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": _MODEL,
        "content": [{"type": "text", "text": "It is 42."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 23, "output_tokens": 11},
    }
).encode()


def create() -> Operation:
    http: Any = importlib.import_module(anthropic.DefaultHttpxClient.__bases__[0].__module__.partition(".")[0])

    def respond(_request: Any) -> Any:
        return http.Response(200, headers={"content-type": "application/json"}, content=_ANSWER)

    client = http.Client(transport=http.MockTransport(respond))
    made: Any = anthropic.Anthropic(api_key="none", base_url="http://mock.local", max_retries=0, http_client=client)
    return lambda: made.messages.create(**_REQUEST)
