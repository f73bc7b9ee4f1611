"""The arguments of the SDK's functions."""

from spanhook.instrument.signatures import Signature

CREATED = Signature("transport", "is_streaming_mode", "can_use_tool", "hooks")
HANDLED = Signature("server_name", "message")
