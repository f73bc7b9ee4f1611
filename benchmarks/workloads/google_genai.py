"""Google's Gen AI SDK over a transport that answers in-process: JSON, or server-sent events."""

import json
from typing import Any

from google.genai import Client, _api_client, types

from benchmarks.workloads import Operation

MODEL = "gemini-2.5-flash"
CHUNKS = 200
REQUEST: dict[str, Any] = {
    "model": MODEL,
    "contents": "What is six times seven?",
    "config": types.GenerateContentConfig(
        system_instruction="You are a helpful assistant.", temperature=0.2, max_output_tokens=100
    ),
}


def _answer(text: str, count: int, **more: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **more}
    usage = {"promptTokenCount": 23, "candidatesTokenCount": count, "totalTokenCount": 23 + count}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL, "responseId": "resp_1"}


def _events() -> bytes:
    told = [_answer(f" word{index}", index) for index in range(CHUNKS - 1)]
    told.append(_answer(" end", CHUNKS, finishReason="STOP"))
    return "".join(f"data: {json.dumps(one)}\n\n" for one in told).encode()


def _client() -> Any:
    names = vars(_api_client)
    http: Any = names[names.get("_DEFAULT_HTTP_CLIENT_BACKEND", "httpx")]
    answer, events = json.dumps(_answer("It is 42.", 11, finishReason="STOP")).encode(), _events()

    def respond(request: Any) -> Any:
        streamed = ":streamGenerateContent" in str(request.url)
        kind = "text/event-stream" if streamed else "application/json"
        return http.Response(200, headers={"content-type": kind}, content=events if streamed else answer)

    transport = {"transport": http.MockTransport(respond)}
    options = types.HttpOptions(base_url="http://mock.local", client_args=transport, async_client_args=transport)
    return Client(api_key="none", http_options=options)


def generate() -> Operation:
    client = _client()
    return lambda: client.models.generate_content(**REQUEST)


def agenerate() -> Operation:
    models = _client().aio.models

    async def operation() -> Any:
        return await models.generate_content(**REQUEST)

    return operation


def stream() -> Operation:
    client = _client()

    def operation() -> None:
        for _ in client.models.generate_content_stream(**REQUEST):
            pass

    return operation
