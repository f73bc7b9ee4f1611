"""The arguments of the library's functions."""

from spanhook.instrument.signatures import Signature

CHAT = Signature("messages")
COMPLETE = Signature("prompt")
LOOP = Signature("start_event")
CALLING = Signature("tool", "arguments")
STEP = Signature("ctx", "llm_input", "tools", "memory")
HANDOFF = Signature("ctx", "to_agent", "reason")
