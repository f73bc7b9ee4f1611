"""The signatures of the SDK's functions."""

from spanhook.instrument.signatures import Signature

MODEL = Signature(
    *("system_instructions", "input", "model_settings", "tools", "output_schema", "handoffs", "tracing"),
    *("previous_response_id", "conversation_id", "prompt"),
)
RUN = Signature("starting_agent", "input")
STREAMING = Signature(
    *("starting_input", "streamed_result", "starting_agent", "max_turns", "hooks", "context_wrapper", "run_config"),
    *("error_handlers", "previous_response_id", "auto_previous_response_id", "conversation_id", "session", "run_state"),
)
TURN = Signature("streamed_result", "bindings")
HELD_TOOL = Signature("ctx", "input")
COMPUTER = Signature("computer", "tool_call")
