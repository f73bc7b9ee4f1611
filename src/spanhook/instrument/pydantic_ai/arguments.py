"""The signatures of the library's functions."""

from spanhook.instrument.signatures import Signature

REQUEST = Signature("messages", "model_settings", "model_request_parameters", "run_context")
RUN = Signature("user_prompt")
TOOL = Signature("name", "tool_args", "ctx", "tool")
OUTPUT = Signature("function_schema", "run_context", "args", "wrap_validation_errors")
EMBED = Signature("inputs")
