"""The arguments of the library's methods."""

from spanhook.instrument.signatures import Signature

RUN = Signature("task", "stream", "reset", "images", "additional_args", "max_steps", "return_full_result")
DELEGATION = Signature("task")
MODEL = Signature("messages", "stop_sequences", "response_format", "tools_to_call_from")
CODE = Signature("code_action")
