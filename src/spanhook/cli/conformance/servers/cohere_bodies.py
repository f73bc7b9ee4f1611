"""What Cohere's server on loopback sends: scripted replies in Cohere's wire format, complete or as stream events."""

import json
from collections.abc import Iterator
from typing import Any

from spanhook.cli.conformance.servers.openai_replies import Call, Json, Reply

Events = Iterator[tuple[str, Json]]


def _usage(reply: Reply) -> Json:
    used = reply.tokens
    told: Json = {"input_tokens": used.input, "output_tokens": used.output}
    whole: Json = {"billed_units": {"input_tokens": 1, "output_tokens": used.output}, "tokens": told}
    return {**whole, "cached_tokens": used.cached} if used.cached else whole


# ----------------------------------------------------------------------------------------------- chat


def _call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def chat(_body: Json, reply: Reply) -> Json:
    message: Json = {"role": "assistant"}
    if reply.calls:
        message |= {"tool_plan": "I will call.", "tool_calls": [_call(call) for call in reply.calls]}
    else:
        message["content"] = [{"type": "text", "text": reply.text}]
    reason = reply.finish or ("TOOL_CALL" if reply.calls else "COMPLETE")
    return {"id": "chat-1", "finish_reason": reason, "message": message, "usage": _usage(reply)}


def chat_events(body: Json, reply: Reply) -> Events:
    whole = chat(body, reply)

    def event(kind: str, message: Json | None = None, **data: Any) -> tuple[str, Json]:
        return kind, {"type": kind, **data, **({} if message is None else {"delta": {"message": message}})}

    head: Json = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield event("message-start", head, id=whole["id"])
    if reply.calls:
        yield event("tool-plan-delta", {"tool_plan": "I will call."})
    for index, call in enumerate(reply.calls):
        told = _call(call)
        arguments = told["function"]["arguments"]
        started = {**told, "function": {**told["function"], "arguments": ""}}
        yield event("tool-call-start", {"tool_calls": started}, index=index)
        for piece in (arguments[:5], arguments[5:]):
            yield event("tool-call-delta", {"tool_calls": {"function": {"arguments": piece}}}, index=index)
        yield event("tool-call-end", index=index)
    if not reply.calls:
        yield event("content-start", {"content": {"type": "text", "text": ""}}, index=0)
        for word in reply.words:
            yield event("content-delta", {"content": {"text": word}}, index=0)
        yield event("content-end", index=0)
    yield (
        "message-end",
        {
            "type": "message-end",
            "delta": {"finish_reason": whole["finish_reason"], "usage": whole["usage"]},
        },
    )


def chat_v1(body: Json, reply: Reply) -> Json:
    said = {"role": "CHATBOT", "message": reply.text}
    whole: Json = {"response_id": "r-1", "generation_id": "g-1", "text": reply.text, "finish_reason": "COMPLETE"}
    if reply.calls:
        calls = [{"name": call.name, "parameters": call.arguments} for call in reply.calls]
        whole |= {"text": "", "tool_calls": calls}
    history = [{"role": "USER", "message": body.get("message")}, said]
    return {**whole, "chat_history": history, "meta": _usage(reply)}


def chat_v1_events(body: Json, reply: Reply) -> Events:
    whole = chat_v1(body, reply)

    def line(kind: str, **data: Any) -> tuple[str, Json]:
        return "", {"is_finished": kind == "stream-end", "event_type": kind, **data}

    yield line("stream-start", generation_id="g-1")
    if reply.calls:
        yield line("tool-calls-generation", tool_calls=whole["tool_calls"])
    else:
        for word in reply.words:
            yield line("text-generation", text=word)
    yield line("stream-end", finish_reason="COMPLETE", response=whole)


def generation(body: Json, reply: Reply) -> Json:
    made = {"id": "gen-1", "text": reply.text, "finish_reason": "COMPLETE"}
    return {"id": "g-1", "prompt": body.get("prompt"), "generations": [made], "meta": _usage(reply)}


def generation_events(body: Json, reply: Reply) -> Events:
    for word in reply.words:
        yield "", {"is_finished": False, "event_type": "text-generation", "text": word, "index": 0}
    ending = {"is_finished": True, "event_type": "stream-end", "finish_reason": "COMPLETE"}
    yield "", {**ending, "response": generation(body, reply)}


# ----------------------------------------------------------------------------------------------- everything else


def _charged(reply: Reply) -> Json:
    return {"billed_units": {"input_tokens": reply.tokens.input}}


def embed(body: Json, reply: Reply) -> Json:
    texts: list[Any] = body.get("texts") or body.get("inputs") or []
    vectors = [[0.5, 1.0] for _ in texts]
    kinds: list[str] = body.get("embedding_types") or []
    by_type: Any = dict.fromkeys(kinds, vectors) if kinds else vectors
    sort = "embeddings_by_type" if kinds else "embeddings_floats"
    return {"id": "e-1", "response_type": sort, "embeddings": by_type, "texts": texts, "meta": _charged(reply)}


def rerank(body: Json, _reply: Reply) -> Json:
    results = [{"index": index, "relevance_score": 0.5} for index, _ in enumerate(body["documents"])]
    return {"id": "r-1", "results": results, "meta": {"billed_units": {"search_units": 1}}}


def classify(body: Json, _reply: Reply) -> Json:
    found = [
        {"id": "c-1", "input": text, "prediction": "good", "predictions": ["good"], "confidence": 0.9}
        | {"confidences": [0.9], "labels": {"good": {"confidence": 0.9}}, "classification_type": "single-label"}
        for text in body["inputs"]
    ]
    return {"id": "c-1", "classifications": found, "meta": {"billed_units": {"classifications": 1}}}


def summary(_body: Json, reply: Reply) -> Json:
    return {"id": "s-1", "summary": reply.text, "meta": _usage(reply)}


def sound(_body: Json, reply: Reply) -> Json:
    return {"text": reply.text}


def document(_body: Json, _reply: Reply) -> Json:
    return {"id": "p-1", "pages": []}
