"""The signatures of the library's functions."""

from spanhook.instrument.signatures import Signature

GENERATE = Signature("messages", "request_params", "tools")
STRUCTURED = Signature("messages", "model", "request_params")
TOOL = Signature("name", "arguments", "tool_use_id")
PROMPT = Signature("prompt", "arguments", "as_template")
CHILD = Signature("child", "arguments")
LIFECYCLE = Signature("hook_type")
