"""Mistral's SDK over a transport that answers in-process."""

import json
from typing import Any

from mistralai.client import Mistral, basesdk

from benchmarks.workloads import Operation
from benchmarks.workloads.wire import ANSWER, MESSAGES

_ANSWER = json.dumps({**ANSWER, "model": "mistral-large-latest"}).encode()


def create() -> Operation:
    http: Any = vars(basesdk)["httpx"]  # or httpx2

    def respond(_request: Any) -> Any:
        return http.Response(200, headers={"content-type": "application/json"}, content=_ANSWER)

    given: dict[str, Any] = {"client": http.Client(transport=http.MockTransport(respond))}
    chat = Mistral(api_key="none", server_url="http://mock.local", **given).chat
    return lambda: chat.complete(model="mistral-large-latest", messages=MESSAGES, temperature=0.2)
