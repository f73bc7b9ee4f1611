"""OpenAI's SDK over a transport that answers in-process: JSON, or server-sent events."""

import importlib
import json
from typing import Any

import openai

from benchmarks.workloads import Operation
from benchmarks.workloads.wire import ANSWER, ANSWERED_BY, MESSAGES, MODEL

CHUNKS = 200
REQUEST: dict[str, Any] = {"model": MODEL, "messages": MESSAGES, "temperature": 0.2, "max_tokens": 100}
STREAM: dict[str, Any] = {**REQUEST, "stream": True, "stream_options": {"include_usage": True}}


def _events() -> bytes:
    def event(choices: list[Any], usage: Any = None) -> str:
        chunk = {**ANSWERED_BY, "object": "chat.completion.chunk", "choices": choices, "usage": usage}
        return f"data: {json.dumps(chunk)}\n\n"

    def choice(delta: dict[str, str], reason: str | None = None) -> list[Any]:
        return [{"index": 0, "delta": delta, "finish_reason": reason}]

    events = [event(choice({"role": "assistant", "content": ""}))]
    events += [event(choice({"content": f" word{index}"})) for index in range(CHUNKS - 3)]
    events += [event(choice({}, "stop"))]
    events += [event([], {"prompt_tokens": 23, "completion_tokens": CHUNKS - 3, "total_tokens": CHUNKS + 20})]
    return "".join([*events, "data: [DONE]\n\n"]).encode()


def _client(*, is_async: bool) -> Any:
    http: Any = importlib.import_module(openai.DefaultHttpxClient.__bases__[0].__module__.partition(".")[0])
    answer, events = json.dumps(ANSWER).encode(), _events()

    def respond(request: Any) -> Any:
        if json.loads(request.content).get("stream"):
            return http.Response(200, headers={"content-type": "text/event-stream"}, content=events)
        return http.Response(200, headers={"content-type": "application/json"}, content=answer)

    transport = http.MockTransport(respond)
    client, made = (http.AsyncClient, openai.AsyncOpenAI) if is_async else (http.Client, openai.OpenAI)
    return made(
        api_key="sk-none", base_url="http://mock.local/v1", max_retries=0, http_client=client(transport=transport)
    )


def create() -> Operation:
    completions = _client(is_async=False).chat.completions
    return lambda: completions.create(**REQUEST)


def acreate() -> Operation:
    completions = _client(is_async=True).chat.completions

    async def operation() -> Any:
        return await completions.create(**REQUEST)

    return operation


def stream() -> Operation:
    completions = _client(is_async=False).chat.completions

    def operation() -> None:
        seen = sum(1 for _ in completions.create(**STREAM))
        assert seen in (CHUNKS, CHUNKS + 1), seen  # a window lets the rest out in a chunk of its own

    return operation


def astream() -> Operation:
    completions = _client(is_async=True).chat.completions

    async def operation() -> None:
        seen = 0
        async for _ in await completions.create(**STREAM):
            seen += 1
        assert seen in (CHUNKS, CHUNKS + 1), seen  # a window lets the rest out in a chunk of its own

    return operation
