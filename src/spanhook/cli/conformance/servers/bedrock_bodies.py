"""What the loopback server sends for Bedrock: scripted replies in the forms of Converse and of several models."""

import json
from collections.abc import Iterator
from typing import Any

from spanhook.cli.conformance.servers import anthropic_server as anthropic
from spanhook.cli.conformance.servers import openai_bodies as openai
from spanhook.cli.conformance.servers.openai_replies import Json, Reply, Tokens

METRICS = "amazon-bedrock-invocationMetrics"
_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
Events = Iterator[tuple[str, Json]]


def usage(tokens: Tokens) -> Json:
    """Usage in Converse's form: tokens read from and written to the cache are not in the input."""
    cached = sum(one for one in (tokens.cached, tokens.written) if type(one) is int)
    told: Json = {
        "inputTokens": tokens.input - cached if type(tokens.input) is int else tokens.input,
        "outputTokens": tokens.output,
        "totalTokens": tokens.total,
    }
    return told | ({"cacheReadInputTokens": tokens.cached, "cacheWriteInputTokens": tokens.written} if cached else {})


def counts(tokens: Tokens) -> Json:
    """What Bedrock has counted, as in the last chunk of a stream."""
    return {"inputTokenCount": tokens.input, "outputTokenCount": tokens.output, "invocationLatency": 5}


def converse(reply: Reply) -> Json:
    """A complete answer of Converse."""
    content: list[Json] = [{"text": reply.text}]
    if reply.calls:
        content = [
            {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}} for call in reply.calls
        ]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": _REASONS.get(reply.reason, reply.reason),
        "usage": usage(reply.tokens),
        "metrics": {"latencyMs": 5},
    }


def converse_events(reply: Reply) -> Events:
    """The answer as a stream of events: their names and what they contain."""
    if reply.events:
        yield from ((kind, told) for one in reply.events for kind, told in one.items())
        return
    whole = converse(reply)
    yield "messageStart", {"role": "assistant"}
    for index, block in enumerate(whole["output"]["message"]["content"]):
        at: Json = {"contentBlockIndex": index}
        deltas: list[Json] = [{"text": word} for word in reply.words]
        if "toolUse" in block:
            call = block["toolUse"]
            written = json.dumps(call["input"])
            half = len(written) // 2
            yield "contentBlockStart", {"start": {"toolUse": {**call, "input": None}}, **at}
            deltas = [{"toolUse": {"input": piece}} for piece in (written[:half], written[half:])]
        for delta in deltas:
            yield "contentBlockDelta", {"delta": delta, **at}
        yield "contentBlockStop", at
    yield "messageStop", {"stopReason": whole["stopReason"]}
    yield "metadata", {"usage": whole["usage"], "metrics": whole["metrics"]}


def invoked(model: str, body: Json, reply: Reply) -> Json:
    """A complete answer in the form of a model."""
    if "embed" in model:
        return {"embedding": [0.5, 1.0], "inputTextTokenCount": reply.tokens.input}
    if "anthropic." in model:
        return anthropic.message({**body, "model": "claude"}, reply)
    if "nova" in model:
        return converse(reply)
    if "titan" in model:
        one = {"tokenCount": reply.tokens.output, "outputText": reply.text, "completionReason": "FINISH"}
        return {"inputTextTokenCount": reply.tokens.input, "results": [one]}
    if "llama" in model:
        return _llama(reply.text, reply.tokens, "stop")
    if "cohere" in model:
        return {"text": reply.text, "generation_id": "gen_1", "finish_reason": "COMPLETE"}
    if "messages" in body:
        return openai.chat({**body, "model": model}, reply)
    if "mistral" in model:
        return {"outputs": [{"text": reply.text, "stop_reason": "stop"}]}
    return {"said": reply.text}


def invoked_chunks(model: str, body: Json, reply: Reply) -> Iterator[Json]:
    """The same as chunks; the last has what Bedrock has counted."""
    chunks = list(_chunks(model, body, reply))
    chunks[-1] = {**chunks[-1], METRICS: counts(reply.tokens)}
    yield from chunks


def _chunks(model: str, body: Json, reply: Reply) -> Iterator[Json]:
    last = len(reply.words) - 1
    if "anthropic." in model:
        yield from (data for _, data in anthropic.events({**body, "model": "claude"}, reply) if isinstance(data, dict))
    elif "nova" in model:
        yield from ({kind: told} for kind, told in converse_events(reply))
    elif "titan" in model:
        for index, word in enumerate(reply.words):
            done = {"completionReason": "FINISH", "inputTextTokenCount": reply.tokens.input} if index == last else {}
            written = {"totalOutputTextTokenCount": reply.tokens.output if index == last else None}
            yield {"outputText": word, "index": 0, "completionReason": None, **written, **done}
    elif "llama" in model:
        for index, word in enumerate(reply.words):
            yield _llama(word, reply.tokens, "stop" if index == last else None)
    elif "cohere" in model:
        yield from ({"event_type": "text-generation", "text": word} for word in reply.words)
        whole = {"text": reply.text, "generation_id": "gen_1"}
        yield {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": whole}
    elif "messages" in body:
        events = openai.chat_events({**body, "model": model}, reply)
        yield from (data for _, data in events if isinstance(data, dict))
    elif "mistral" in model:
        for index, word in enumerate(reply.words):
            yield {"outputs": [{"text": word, "stop_reason": "stop" if index == last else None}]}
    else:
        yield from ({"said": word} for word in reply.words)


def _llama(text: str, tokens: Tokens, reason: Any) -> Json:
    read = {"prompt_token_count": tokens.input, "generation_token_count": tokens.output}
    return {"generation": text, **read, "stop_reason": reason}
