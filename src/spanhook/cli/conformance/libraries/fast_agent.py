"""What is gated in fast-agent, and every way of calling it: in this process, and against a server on loopback."""

from typing import Any

from spanhook.cli.conformance.libraries.fast_agent_ways import (
    AGENT_BIND,
    AGENT_WAYS,
    ASK,
    CHILD_WAYS,
    FOUND,
    MODEL_WAYS,
    PROMPT_WAYS,
    TEMPLATE_WAYS,
    TOOL_WAYS,
    agent_tool,
    async_tool,
    living,
    openai_agent,
    openai_model,
    own_agent,
    own_model,
    sync_tool,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Subject, Ungated

_HTTP: dict[str, Any] = {"asked": ASK, "faults": OVER_HTTP, "said": Reply.text}
"""Not slow: some of the library's models answer when they are cancelled, and so the task goes on."""
_TOLD: dict[str, Any] = {"raises": False, "said": FOUND}
_SENT = {"send": AGENT_WAYS["send"]}

SUBJECTS: tuple[Subject, ...] = (
    Subject("a model of fast-agent", "llm.call", own_model, MODEL_WAYS, {}, asked=ASK, said=FOUND),
    Subject("fast-agent's OpenAI model", "llm.call", openai_model, MODEL_WAYS, {}, **_HTTP),
    Subject("a fast-agent agent's model", "llm.call", openai_agent, _SENT, AGENT_BIND, **_HTTP),
    Subject("a fast-agent agent", "agent.invoke", own_agent, AGENT_WAYS, AGENT_BIND, asked=ASK),
    Subject("a prompt that a fast-agent agent applies", "agent.invoke", own_agent, PROMPT_WAYS, {}, asked=ASK),
    Subject("a template of fast-agent", "llm.call", own_agent, TEMPLATE_WAYS, {}, asked=ASK, said=FOUND),
    Subject("a sync tool of fast-agent", "tool.execute", sync_tool, TOOL_WAYS, {}, **_TOLD),
    Subject("an async tool of fast-agent", "tool.execute", async_tool, TOOL_WAYS, {}, **_TOLD),
    Subject("a fast-agent agent used as a tool", "tool.execute", agent_tool, CHILD_WAYS, {}, **_TOLD),
    Subject(
        "the start of a fast-agent agent",
        "agent.lifecycle",
        living,
        {"initialize": lambda agent: agent.initialize()},
        {},
    ),
)

UNGATED = (
    Ungated("a ToolRunner driven directly, and templates, except their models and tools"),
    Ungated("a provider's part of a model, called directly, except as far as it goes through a bound client"),
    Ungated("functions of tools, called as functions"),
)
