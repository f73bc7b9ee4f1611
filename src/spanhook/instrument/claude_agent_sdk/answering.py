"""What the application reads if a hook has answered its prompt: the messages that the program would have sent."""

from typing import Any
from uuid import uuid4

_NOTHING = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def answered(text: str, session_id: str) -> list[dict[str, Any]]:
    """The messages of a turn whose answer is ``text``, which no model has given."""
    message = {
        "id": f"msg_spanhook_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": dict(_NOTHING),
    }
    known = {"session_id": session_id, "uuid": str(uuid4())}
    result = {
        "subtype": "success",
        "is_error": False,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 1,
        "result": text,
        "total_cost_usd": 0.0,
        "usage": dict(_NOTHING),
        "modelUsage": {},
    }
    return [
        {"type": "assistant", "message": message, "parent_tool_use_id": None, **known},
        {"type": "result", **result, "session_id": session_id, "uuid": str(uuid4())},
    ]
