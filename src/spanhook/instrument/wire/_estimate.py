"""Estimates the tokens of a stream that reported none, or was cut off before it did.

About four characters make a token (https://help.openai.com/en/articles/4936856), which needs no tokenizer and no
network. The result is marked as an estimate.
"""

from collections.abc import Mapping
from typing import Any

from spanhook.model import Usage

CHARACTERS_PER_TOKEN = 4

#: The request fields that the model reads, in all APIs.
_PROMPT = (
    *("messages", "input", "instructions", "system", "prompt", "questions", "suffix", "tools", "functions"),
    *("contents", "systemInstruction", "system_instruction", "requests", "instances", "content"),
)
#: Message fields that are not text: files, pictures, sounds, ids, and protocol keywords.
_NO_TEXT = {
    *("audio", "data", "encrypted_content", "file", "file_data", "file_url", "image_url", "input_audio"),
    *("call_id", "file_id", "id", "role", "tool_call_id", "type"),
    *("inlineData", "inline_data", "fileData", "file_data", "thoughtSignature", "thought_signature"),
}
_SCHEMAS = ("tools", "functions")


def estimate(body: Mapping[str, Any], characters: int) -> Usage:
    """Usage estimated from a request's JSON and the number of characters received."""
    prompt = sum(_count(body[name], keys=name in _SCHEMAS) for name in _PROMPT if body.get(name))
    used = Usage(_tokens(prompt), _tokens(characters))
    used.source = "estimate"
    return used


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def _count(value: Any, *, keys: bool) -> int:
    """The number of characters of all text in JSON data; in a schema, keys count too, because models read them."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        if keys:
            return sum(len(key) + _count(one, keys=True) for key, one in value.items())
        return sum(_count(one, keys=False) for key, one in value.items() if key not in _NO_TEXT)
    if isinstance(value, list | tuple):
        if value and type(value[0]) is int:  # a prompt already given as tokens
            return CHARACTERS_PER_TOKEN * len(value)
        return sum(_count(one, keys=keys) for one in value)
    return 0
