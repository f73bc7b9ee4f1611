"""Claude Agent SDK: turns of sessions with the program Claude Code, the tools that the program uses, and its agents.

The program runs in a process of its own, and calls the model from there. Its tools are gated by a hook that is added to
those of the application: the program asks it before each. Its model calls are reported once they have begun, so a
refusal stops what comes after. The adapters are the same for ``query()`` and for ``ClaudeSDKClient``: both write
prompts to the program, and read messages from it, through one ``Query``.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Block

_HERE = "spanhook.instrument.claude_agent_sdk"


def _block(name: str, drive: str) -> Block:
    return Block(
        module="claude_agent_sdk._internal.query",
        name=f"Query.{name}",
        adapter=f"{_HERE}.turns:TURN",
        drive=f"{_HERE}.{drive}",
    )


class ClaudeAgentInstrumentor(Instrumentor):
    """Points of ``claude-agent-sdk``."""

    library = "claude_agent_sdk"
    kinds = frozenset(("agent.delegate", "agent.invoke", "llm.call", "tool.execute"))
    table = (
        _block("__init__", "points:created"),
        _block("stream_input", "points:streamed"),
        _block("receive_messages", "points:received"),
        _block("_handle_sdk_mcp_request", "points:asked_here"),
    )
