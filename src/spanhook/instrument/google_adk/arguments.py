"""The arguments of the library's methods."""

from spanhook.instrument.signatures import Signature

AGENT = Signature("parent_context")
MODEL = Signature("llm_request", "stream")
TOOL = Signature("args", "tool_context")
POOL = Signature("tool", "args", "tool_context")
CODE = Signature("invocation_context", "code_execution_input")
TASK = Signature("parent_agent", "fc", "ctx")
