"""What is gated in the Claude Agent SDK, and every way of calling it, with its real program."""

from typing import Any

from spanhook.cli.conformance.libraries.claude_agent_sdk_ways import (
    ASK,
    FOUND,
    OPENED,
    QUERY_WAYS,
    TOOL_WAYS,
    WAYS,
    asking,
    delegating,
    own_tool,
    planted_path,
    tool,
)
from spanhook.cli.conformance.subject import OVER_HTTP, PLANTED, Subject, Ungated

_AT_ONCE = tuple(one for one in OVER_HTTP if one.status in (400, 401))
"""After others, the program waits and tries again."""
_TOLD: dict[str, Any] = {"raises": False, "said": FOUND}

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "a turn of Claude Code",
        "agent.invoke",
        asking,
        WAYS,
        {},
        asked=ASK,
        answer="an answer",
        faults=_AT_ONCE,
        opened=OPENED,
        slow=True,
    ),
    Subject("a tool of a server in this process", "tool.execute", tool, TOOL_WAYS, {}, **_TOLD),
    Subject(
        "a tool of the program itself",
        "tool.execute",
        own_tool,
        QUERY_WAYS,
        {},
        answerable=False,
        rewrites=planted_path(PLANTED),
        **_TOLD,
    ),
    Subject("an agent that the program starts", "agent.delegate", delegating, QUERY_WAYS, {}, raises=False),
)

UNGATED = (
    Ungated("calls of the model, which the program makes itself: reported, and only what follows is refused"),
    Ungated("the function of a tool, called as a function"),
    Ungated("input of a tool that a command hook in the program's settings has rewritten: refused once it has run"),
    Ungated("sessions that were connected before spanhook was active"),
)
