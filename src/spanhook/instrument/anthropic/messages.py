"""Anthropic's calls: messages, and batches of them; a batch is one call with all its prompts."""

from dataclasses import replace
from typing import Any

from spanhook.instrument.anthropic.answers import SDK, MessageChunks, message_events, response_of
from spanhook.instrument.anthropic.texts import TEXTS
from spanhook.instrument.layers import ANTHROPIC
from spanhook.instrument.stainless import (
    Body,
    Dialogue,
    Kind,
    NoChunks,
    Parts,
    Payload,
    Servers,
    body_of,
    chooser,
    fields_of,
    no_events,
    plain,
)
from spanhook.model import Args, Kwargs, source_form

_PARTS = Parts(
    {
        "text": Kind("text", {"content": "text"}),
        "thinking": Kind("reasoning", {"content": "thinking"}),
        "tool_use": Kind("tool_call", {"id": "id", "name": "name", "arguments": "input"}, {"id": "toolu_spanhook"}),
        "tool_result": Kind("tool_call_response", {"id": "tool_use_id", "response": "content"}),
    },
    signed=("reasoning",),
    media=source_form,
)
_AWS, _GOOGLE = "aws.bedrock", "gcp.vertex_ai"
_PLATFORMS = {"BaseBedrockClient": _AWS, "BaseMantleClient": _AWS, "BaseVertexClient": _GOOGLE}
_ITSELF = {"BaseFoundryClient": "anthropic", "BaseGoogleCloudClient": "anthropic"}  # as in the SDK
server_of = Servers("anthropic", {**_PLATFORMS, **_ITSELF}).server_of


def _output_type(body: Body) -> str:
    asked = fields_of(body.get("output_config")).get("format") or body.get("output_format")
    return "json" if fields_of(asked).get("type") == "json_schema" else ""


def _payload(args: Args, kwargs: Kwargs, value: Any) -> Payload:
    value = plain(value) if hasattr(value, "to_dict") else value
    is_whole = isinstance(value, dict) and value.get("type") == "message"
    made = value if is_whole else {"content": _TALK.said(value, "an answer is text, a Message or messages")}
    called = any(block.get("type") == "tool_use" for block in made["content"])
    known: Payload = {"id": "msg_spanhook", "type": "message", "role": "assistant", "stop_sequence": None}
    known["model"], known["usage"] = body_of(args, kwargs).get("model"), {"input_tokens": 0, "output_tokens": 0}
    return {**known, "stop_reason": "tool_use" if called else "end_turn", **made}


def _batch(_args: Args, _kwargs: Kwargs, value: Any) -> Payload:
    value = plain(value) if hasattr(value, "to_dict") else value
    if not isinstance(value, dict):
        raise TypeError(f"an answer to a batch is a MessageBatch or its JSON, not {type(value).__name__}")
    return value


_TALK = Dialogue(
    sdk=SDK,
    layer=ANTHROPIC,
    server_of=server_of,
    parts=_PARTS,
    roles=(("tool", "user"),),
    texts=TEXTS,
    output_type=_output_type,
    payload=_payload,
    events=message_events,
    response=response_of,
    chunks=MessageChunks,
)
_BATCH = replace(
    _TALK, operation="batch", batch=("requests", "params"), payload=_batch, events=no_events, chunks=NoChunks
)
MESSAGES = _TALK.adapter()
choose = chooser({"/v1/messages": MESSAGES, "/v1/messages/batches": _BATCH.adapter()})
