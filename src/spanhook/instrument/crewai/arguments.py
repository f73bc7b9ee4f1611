"""The signatures of the library's functions."""

from spanhook.instrument.signatures import Signature

ASKED = Signature("messages")
CALL = Signature("messages", "tools", "callbacks", "available_functions", "from_task", "from_agent", "response_model")
COMPLETED = Signature(
    "response", "call_type", "from_task", "from_agent", "messages", "usage", "finish_reason", "response_id"
)
EMIT = Signature("source", "event")
EXECUTED = Signature("function_name", "function_args", "available_functions")
INVOKED = Signature("input", "config")
KICKOFF = Signature("inputs")
NATIVE = Signature("tool_call")
TASK = Signature("task", "context", "tools")
TOLD = Signature("tool_calls", "available_functions")
USED = Signature("tool_string", "tool", "calling")
DELEGATED = Signature("agent_name", "task", "context")
CACHED = Signature("tool", "input", "output")
