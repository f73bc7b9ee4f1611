"""What Mistral's server on loopback sends: scripted replies in Mistral's wire format, complete or as stream events."""

import json
from collections.abc import Iterator
from typing import Any

from spanhook.cli.conformance.servers.openai_replies import CREATED, Call, Json, Reply

Events = Iterator[tuple[str, Json | str]]
_CREATED_AT = "2026-01-01T00:00:00Z"


def _usage(reply: Reply) -> Json:
    used = reply.tokens
    told: Json = {"prompt_tokens": used.input, "completion_tokens": used.output, "total_tokens": used.total}
    return {**told, "num_cached_tokens": used.cached} if used.cached else told


# ----------------------------------------------------------------------------------------------- chat completions


def _head(body: Json, kind: str) -> Json:
    return {"id": "cmpl-1", "object": kind, "created": CREATED, "model": body.get("model") or "mistral-agent"}


def _reason(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _call(index: int, call: Call) -> Json:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function, "index": index}


def chat(body: Json, reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": "" if reply.calls else reply.text, "tool_calls": None}
    if reply.calls:
        message["tool_calls"] = [_call(index, call) for index, call in enumerate(reply.calls)]
    choices = [
        {"index": index, "message": message, "finish_reason": _reason(reply)} for index in range(body.get("n") or 1)
    ]
    return {**_head(body, "chat.completion"), "choices": choices, "usage": _usage(reply)}


def chat_events(body: Json, reply: Reply) -> Events:
    head = _head(body, "chat.completion.chunk")

    def chunk(delta: Json, finish: str | None = None) -> Json:
        choices = [{"index": index, "delta": delta, "finish_reason": finish} for index in range(body.get("n") or 1)]
        return {**head, "choices": choices}

    yield "", chunk({"role": "assistant", "content": ""})
    if reply.calls:
        calls = [_call(index, call) for index, call in enumerate(reply.calls)]
        yield "", {**chunk({"content": "", "tool_calls": calls}, _reason(reply)), "usage": _usage(reply)}
    else:
        for word in reply.words:
            yield "", chunk({"content": word})
        yield "", {**chunk({"content": ""}, _reason(reply)), "usage": _usage(reply)}
    yield "", "[DONE]"


# ----------------------------------------------------------------------------------------------- conversations


def conversation(body: Json, reply: Reply) -> Json:
    model = body.get("model") or "mistral-medium"
    entry: Json = {"object": "entry", "id": "msg_1", "created_at": _CREATED_AT, "model": model}
    outputs: list[Json] = [
        {**entry, "type": "function.call", "id": f"fc_{index}", "tool_call_id": call.id, "name": call.name}
        | {"arguments": json.dumps(call.arguments)}
        for index, call in enumerate(reply.calls)
    ]
    if not outputs:
        outputs = [{**entry, "type": "message.output", "role": "assistant", "content": reply.text}]
    return {
        "object": "conversation.response",
        "conversation_id": "conv_1",
        "outputs": outputs,
        "usage": _usage(reply),
    }


def conversation_events(body: Json, reply: Reply) -> Events:
    whole = conversation(body, reply)

    def event(kind: str, **data: object) -> tuple[str, Json]:
        return kind, {"type": kind, "created_at": _CREATED_AT, **data}

    yield event("conversation.response.started", conversation_id="conv_1")
    for index, entry in enumerate(whole["outputs"]):
        known = {"output_index": index, "id": entry["id"], "model": entry["model"]}
        if entry["type"] == "function.call":
            said = {name: entry[name] for name in ("tool_call_id", "name", "arguments")}
            yield event("function.call.delta", **known, **said)
        else:
            for word in reply.words:
                yield event("message.output.delta", **known, role="assistant", content=word, content_index=0)
    yield event("conversation.response.done", usage=whole["usage"])


# ----------------------------------------------------------------------------------------------- everything else


def embeddings(body: Json, reply: Reply) -> Json:
    given: list[Any] | str = body["input"]
    data = [
        {"object": "embedding", "index": index, "embedding": [0.5, 1.0, 1.5]}
        for index in range(len(given) if isinstance(given, list) else 1)
    ]
    used = {"prompt_tokens": reply.tokens.input, "completion_tokens": 0, "total_tokens": reply.tokens.input}
    return {"id": "embd-1", "object": "list", "model": body.get("model"), "data": data, "usage": used}


def moderation(body: Json, _reply: Reply) -> Json:
    result: Json = {"categories": {"pii": False}, "category_scores": {"pii": 0.1}}
    return {"id": "mod-1", "model": body.get("model"), "results": [result]}


def classification(body: Json, _reply: Reply) -> Json:
    return {"id": "mod-1", "model": body.get("model"), "results": [{"mood": {"scores": {"good": 0.9}}}]}


def ocr(body: Json, reply: Reply) -> Json:
    page: Json = {"index": 0, "markdown": reply.text, "images": [], "dimensions": None}
    return {"pages": [page], "model": body.get("model"), "usage_info": {"pages_processed": 1, "doc_size_bytes": 9}}


def transcription(body: Json, reply: Reply) -> Json:
    said: Json = {"model": body.get("model"), "text": reply.text, "language": "en", "segments": []}
    return {**said, "usage": _usage(reply)}


def transcription_events(body: Json, reply: Reply) -> Events:
    yield "transcription.language", {"type": "transcription.language", "audio_language": "en"}
    for word in reply.words:
        yield "transcription.text.delta", {"type": "transcription.text.delta", "text": word}
    yield "transcription.done", {"type": "transcription.done", **transcription(body, reply)}


def speech(_body: Json, _reply: Reply) -> Json:
    return {"audio_data": "c291bmQ="}


def batch(_body: Json, _reply: Reply) -> Json:
    job: Json = {"id": "job_1", "object": "batch", "input_files": [], "endpoint": "/v1/chat/completions", "errors": []}
    counts = dict.fromkeys(("total_requests", "completed_requests", "succeeded_requests", "failed_requests"), 0)
    return {**job, "status": "QUEUED", "created_at": CREATED, **counts}
