"""Which of the two versions of the SDK is installed: they differ in both sides, and in the names of fields."""

from mcp import types

FIRST = "isError" in types.CallToolResult.model_fields
"""Version 1: results that clients get, and servers give, are wrapped, and no trace context is passed on."""
