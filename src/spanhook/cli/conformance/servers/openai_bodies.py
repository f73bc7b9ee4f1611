"""What the loopback server sends: its scripted replies in OpenAI's wire format, complete or as stream events."""

import base64
import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from spanhook.cli.conformance.servers.openai_replies import CREATED, Call, Json, Reply


def _model(body: Json, fallback: str = "gpt-4o-mini") -> str:
    """The model snapshot that answers for the requested model, as OpenAI names it."""
    return f"{body.get('model') or fallback}-2024-07-18"


# ----------------------------------------------------------------------------------------------- chat completions


def _chat_head(body: Json, kind: str) -> Json:
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": CREATED,
        "model": _model(body),
        "service_tier": "default",
        "system_fingerprint": "fp_1",
    }


def chat(body: Json, reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": reply.text or None, "refusal": None, "annotations": []}
    if reply.calls:
        message["tool_calls"] = [_chat_call(call) for call in reply.calls]
        message["content"] = None
    choices = [
        {"index": index, "message": message, "logprobs": None, "finish_reason": reply.reason}
        for index in range(body.get("n") or 1)
    ]
    return {**_chat_head(body, "chat.completion"), "choices": choices, "usage": reply.tokens.chat()}


def _chat_call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def _reports(body: Json, reply: Reply) -> bool:
    options: Json = body.get("stream_options") or {}
    asked = options.get("include_usage")
    return reply.usage == "always" or (reply.usage == "asked" and bool(asked))


def chat_events(body: Json, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    head = _chat_head(body, "chat.completion.chunk")
    reports = _reports(body, reply)
    if reports:
        head["usage"] = None

    said = 0

    def chunk(delta: Json, finish: str | None = None) -> tuple[str, Json]:
        nonlocal said
        if reports and reply.running:
            said += 1
            head["usage"] = replace(reply.tokens, output=min(said, reply.tokens.output)).chat()
        choices = [
            {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
            for index in range(body.get("n") or 1)
        ]
        return "", {**head, "choices": choices}

    yield chunk({"role": "assistant", "content": "" if not reply.calls else None, "refusal": None})
    if reply.calls:
        for index, call in enumerate(reply.calls):
            arguments = json.dumps(call.arguments)
            half = len(arguments) // 2
            function: Json = {"name": call.name, "arguments": ""}
            yield chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
            for piece in (arguments[:half], arguments[half:]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    else:
        for word in reply.words:
            yield chunk({"content": word})
    yield chunk({}, reply.reason)
    if reports:
        yield "", {**head, "choices": [], "usage": reply.tokens.chat()}
    yield "", "[DONE]"


# ----------------------------------------------------------------------------------------------- completions


def _prompts(body: Json) -> int:
    prompt: list[Any] | str | None = body.get("prompt")
    return len(prompt) if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int) else 1


def text(body: Json, reply: Reply) -> Json:
    choices = [
        {"index": index, "text": reply.text, "logprobs": None, "finish_reason": reply.reason}
        for index in range(_prompts(body))
    ]
    head = {"id": "cmpl-1", "object": "text_completion", "created": CREATED, "model": body.get("model")}
    return {**head, "choices": choices, "usage": reply.tokens.chat()}


def text_events(body: Json, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    head: Json = {"id": "cmpl-1", "object": "text_completion", "created": CREATED, "model": body.get("model")}
    for index in range(_prompts(body)):
        for said, word in enumerate(reply.words, 1):
            if reply.running and _reports(body, reply):
                head["usage"] = replace(reply.tokens, output=said).chat()
            yield "", {**head, "choices": [{"index": index, "text": word, "logprobs": None, "finish_reason": None}]}
        yield "", {**head, "choices": [{"index": index, "text": "", "logprobs": None, "finish_reason": reply.reason}]}
    if _reports(body, reply):
        yield "", {**head, "choices": [], "usage": reply.tokens.chat()}
    yield "", "[DONE]"


# ----------------------------------------------------------------------------------------------- responses


def response(body: Json, reply: Reply) -> Json:
    output = [*reply.items, *(_function_call(index, call) for index, call in enumerate(reply.calls))]
    if not output:
        part: Json = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        output = [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}]
    if "compact" in body:
        output = [{"id": "cmp_1", "type": "compaction", "encrypted_content": "x"}]
    cut_short = reply.finish == "length"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": CREATED,
        "status": "incomplete" if cut_short else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": _model(body),
        "output": output,
        "parallel_tool_calls": True,
        "service_tier": "default",
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": reply.tokens.responses(),
    }


def _function_call(index: int, call: Call) -> Json:
    return {
        "id": f"fc_{index}",
        "type": "function_call",
        "status": "completed",
        "call_id": call.id,
        "name": call.name,
        "arguments": json.dumps(call.arguments),
    }


def response_events(body: Json, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    whole = response(body, reply)
    started: Json = {**whole, "status": "in_progress", "output": [], "usage": None}
    sent = 0

    def event(kind: str, **data: Any) -> tuple[str, Json]:
        nonlocal sent
        sent += 1
        return kind, {"type": kind, "sequence_number": sent - 1, **data}

    yield event("response.created", response=started)
    yield event("response.in_progress", response=started)
    for index, item in enumerate(whole["output"]):
        at: Json = {"output_index": index}
        said: Json = {**at, "item_id": item["id"]}
        if item["type"] == "function_call":
            yield event("response.output_item.added", **at, item={**item, "status": "in_progress", "arguments": ""})
            yield event("response.function_call_arguments.delta", **said, delta=item["arguments"])
            yield event("response.function_call_arguments.done", **said, arguments=item["arguments"], name=item["name"])
        elif item["type"] != "message":
            yield event("response.output_item.added", **at, item={**item, "status": "in_progress"})
        else:
            part = item["content"][0]
            said["content_index"] = 0
            yield event("response.output_item.added", **at, item={**item, "status": "in_progress", "content": []})
            yield event("response.content_part.added", **said, part={**part, "text": ""})
            for word in reply.words:
                yield event("response.output_text.delta", **said, delta=word, logprobs=[])
            yield event("response.output_text.done", **said, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **said, part=part)
        yield event("response.output_item.done", **at, item=item)
    last = "incomplete" if whole["status"] == "incomplete" else "completed"
    yield event(f"response.{last}", response=whole)


# ----------------------------------------------------------------------------------------------- embeddings


def embeddings(body: Json, reply: Reply) -> Json:
    given: str | list[Any] = body["input"]
    several = isinstance(given, list) and (not given or not isinstance(given[0], int))
    dimensions = body.get("dimensions") or 3
    vector: Any = [0.5 * (index + 1) for index in range(dimensions)]
    if body.get("encoding_format") == "base64":
        vector = base64.b64encode(struct.pack(f"<{dimensions}f", *vector)).decode()
    used = reply.tokens
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": vector}
            for index in range(len(given) if several else 1)
        ],
        "model": body.get("model"),
        "usage": {"prompt_tokens": used.input, "total_tokens": used.input},
    }


# ----------------------------------------------------------------------------------------------- decisions


def decision(body: Json, reply: Reply) -> Json:
    answers = [_answer(question) for question in body.get("questions") or ()]
    return {"answers": answers, "model": _model(body), "usage": reply.tokens.responses()}


def _answer(question: Json) -> Json:
    """The first of the choices, or that it is so."""
    name, choices = question.get("name"), question.get("choices")
    if not choices:
        return {"name": name, "type": "predicate", "probability": 0.9}
    chosen = choices[0]["value"]
    chances = [{"value": chosen, "probability": 0.9}]
    return {"name": name, "type": "choice", "choice": chosen, "confidence": 0.9, "probabilities": chances}
