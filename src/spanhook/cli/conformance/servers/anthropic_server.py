"""A small Anthropic server on loopback: real HTTP and the provider's wire format, in a thread of the test's own
process.
"""

import json
from collections.abc import Iterator
from typing import Any

from spanhook.cli.conformance.servers.openai_replies import Json, Reply, Tokens
from spanhook.cli.conformance.servers.openai_server import Handler, OpenAIServer

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


class _Answering(Handler):
    @staticmethod
    def error_body(status: int, code: str, message: str) -> Json:
        error = {"type": code or _ERRORS.get(status, "api_error"), "message": message or "Something went wrong."}
        return {"type": "error", "error": error}

    def say(self, path: str, body: Json, reply: Reply) -> None:
        if path.endswith("/messages/batches"):
            self.json(200, _batch(body), reply.headers, reply)
        elif path.endswith("/messages/count_tokens"):
            self.json(200, {"input_tokens": reply.tokens.input}, reply.headers, reply)
        elif path.endswith("/messages"):
            self.answer(body, reply, message(body, reply), events(body, reply))
        elif path.endswith(("/invoke", ":rawpredict")):  # from Bedrock and Vertex
            self.json(200, message(body, reply), reply.headers, reply)
        elif path.endswith(":streamrawpredict"):
            self.answer({**body, "stream": True}, reply, {}, events(body, reply))
        else:
            self.unknown()


class AnthropicServer(OpenAIServer):
    """The server: scripted like OpenAI's."""

    handler = _Answering

    @property
    def url(self) -> str:
        """The base URL for Anthropic's clients."""
        return self.origin


def usage(tokens: Tokens) -> Json:
    """Usage in Anthropic's form: tokens read from and written to the cache are not in the input."""
    cached = sum(one for one in (tokens.cached, tokens.written) if type(one) is int)
    told: Json = {
        "input_tokens": tokens.input - cached if type(tokens.input) is int else tokens.input,
        "output_tokens": tokens.output,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": tokens.written,
    }
    if tokens.reasoning:
        told["output_tokens_details"] = {"thinking_tokens": tokens.reasoning}
    return told


def message(body: Json, reply: Reply) -> Json:
    """A complete message."""
    content: list[Json] = [{"type": "text", "text": reply.text}]
    if reply.calls:
        content = [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in reply.calls
        ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{body.get('model') or 'claude-haiku-4-5'}-20251001",
        "content": content,
        "stop_reason": _REASONS.get(reply.reason, reply.reason),
        "stop_sequence": None,
        "usage": usage(reply.tokens),
    }


def events(body: Json, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    """The message as a stream of events."""
    if reply.events:
        yield from ((one["type"], one) for one in reply.events)
        return
    whole = message(body, reply)

    def event(kind: str, **data: Any) -> tuple[str, Json]:
        return kind, {"type": kind, **data}

    counts = whole["usage"]
    begun = {**counts, "output_tokens": 1}
    yield event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": begun})
    yield event("ping")
    empty: dict[str, Any]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, deltas = {"text": ""}, [{"type": "text_delta", "text": word} for word in reply.words]
        else:
            written = json.dumps(block["input"])
            half = len(written) // 2
            pieces = (written[:half], written[half:])
            nothing: dict[str, Any] = {}
            empty = {"input": nothing}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        yield event("content_block_start", index=index, content_block={**block, **empty})
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    if reply.running:
        # Whole at once: LiteLLM takes the first of them for the last.
        yield event("message_delta", delta={**ending, "stop_reason": None}, usage=counts)
    yield event("message_delta", delta=ending, usage=counts)
    yield event("message_stop")


def _batch(body: Json) -> Json:
    counts = {"processing": len(body.get("requests") or ()), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    times = dict.fromkeys(("archived_at", "cancel_initiated_at", "ended_at", "results_url"))
    created = {"created_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-02T00:00:00Z"}
    head = {"id": "msgbatch_1", "type": "message_batch", "processing_status": "in_progress"}
    return {**head, **created, **times, "request_counts": counts}
