"""The arguments of the library's methods."""

from spanhook.instrument.signatures import Signature

RUN = Signature("prompt")
AGENT_OUTPUT = Signature("output_model", "prompt")
MODEL = Signature("messages", "tool_specs", "system_prompt")
MODEL_OUTPUT = Signature("output_model", "prompt", "system_prompt")
TOOL = Signature("tool_use", "invocation_state")
TEAM = Signature("task", "invocation_state")
HANDOFF = Signature("target_node", "message", "context")
ADVANCE = Signature("event", "state")
