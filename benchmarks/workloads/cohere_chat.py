"""Cohere's SDK over a transport that answers in-process."""

import json
from typing import Any

import httpx
from cohere import ClientV2

from benchmarks.workloads import Operation
from benchmarks.workloads.wire import MESSAGES

_ANSWER = json.dumps(
    {
        "id": "chat-1",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "It is 42."}]},
        "usage": {"tokens": {"input_tokens": 23, "output_tokens": 11}},
    }
).encode()


def create() -> Operation:
    def respond(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "application/json"}, content=_ANSWER)

    transport = httpx.Client(transport=httpx.MockTransport(respond))
    client: Any = ClientV2("none", base_url="http://mock.local", httpx_client=transport)
    return lambda: client.chat(model="command-a", messages=MESSAGES, temperature=0.2)
