"""What is sent to a chat model, and what one that speaks OpenAI's protocol answers."""

from typing import Any

MODEL = "gpt-4o-mini"
MESSAGES: Any = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "What is six times seven?"},
]
ANSWERED_BY = {"id": "chatcmpl-1", "created": 1700000000, "model": f"{MODEL}-2024-07-18", "system_fingerprint": "fp_1"}
ANSWER = {
    **ANSWERED_BY,
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "It is 42."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 23, "completion_tokens": 11, "total_tokens": 34},
}
