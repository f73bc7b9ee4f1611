"""Every way of calling Bedrock with AWS's SDK, without saying over which client."""

import json
from collections.abc import Callable
from typing import Any

CLAUDE, NOVA = "anthropic.claude-haiku-4-5-20251001-v1:0", "us.amazon.nova-lite-v1:0"
LLAMA = "meta.llama3-8b-instruct-v1:0"
_SAID = "Say hello."
CONVERSE: dict[str, Any] = {
    "modelId": CLAUDE,
    "messages": [{"role": "user", "content": [{"text": _SAID}]}],
    "inferenceConfig": {"maxTokens": 100, "temperature": 0.5},
}
_BLOCKS = {"messages": CONVERSE["messages"], "inferenceConfig": {"maxTokens": 100}}
BODIES: dict[str, dict[str, Any]] = {
    CLAUDE: {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": _SAID}],
    },
    NOVA: {"schemaVersion": "messages-v1", **_BLOCKS},
    "openai.gpt-oss-120b-1:0": {"messages": [{"role": "user", "content": _SAID}], "max_tokens": 100},
    "amazon.titan-text-express-v1": {"inputText": _SAID, "textGenerationConfig": {"maxTokenCount": 100}},
    LLAMA: {"prompt": _SAID, "max_gen_len": 100},
    "mistral.mistral-7b-instruct-v0:2": {"prompt": _SAID, "max_tokens": 100},
    "cohere.command-r-v1:0": {"message": _SAID, "max_tokens": 100},
}
"""The bodies that models are invoked with."""
EMBEDDING: dict[str, Any] = {
    "modelId": "amazon.titan-embed-text-v2:0",
    "body": json.dumps({"inputText": _SAID, "dimensions": 256}),
}
Ask = Callable[[Any], Any]


def invocation(model: str) -> dict[str, Any]:
    """The parameters of an invocation."""
    return {"modelId": model, "body": json.dumps(BODIES[model])}


def short(model: str) -> str:
    """A name for a model's ways of calling."""
    return model.removeprefix("us.").partition("-")[0]


def spoken(chunk: dict[str, Any]) -> str:
    """The text of an event, of any form."""
    if "chunk" in chunk:
        return spoken(json.loads(chunk["chunk"]["bytes"]))
    places: list[Any] = [chunk.get("contentBlockDelta", {}).get("delta"), chunk.get("delta")]
    for told in (*places, *chunk.get("outputs", ()), chunk):
        for name in ("text", "outputText", "generation"):
            if told and isinstance(told.get(name), str):
                return told[name]
    return "".join(choice.get("delta", {}).get("content") or "" for choice in chunk.get("choices", ()))
