"""What is gated in Agent Framework, and every way of calling it, in process and against a server on loopback."""

from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.libraries.agent_framework_ways import (
    AGENT_WAYS,
    ASK,
    CALL_WAYS,
    FOUND,
    MODEL_STREAMS,
    MODEL_WAYS,
    TOOL_WAYS,
    WORKFLOW_WAYS,
    Own,
    Plain,
    asking,
    async_tool,
    openai_agent,
    openai_client,
    other_agent,
    own_agent,
    own_tool,
    responses_agent,
    responses_client,
    tool,
    using,
    workflow_of,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Subject, Ungated

_TOLD: dict[str, Any] = {"raises": False, "said": FOUND}
_SAID: dict[str, Any] = {"asked": ASK, "said": Reply.text}
_HTTP: dict[str, Any] = {**_SAID, "faults": OVER_HTTP, "slow": True}
_ASKED: dict[str, Any] = {"asked": ASK, "answer": "an answer"}
_OVER_HTTP = (
    Subject("Agent Framework's OpenAI client", "llm.call", openai_client, MODEL_WAYS, {}, **_HTTP),
    Subject("an agent over Agent Framework's OpenAI client", "llm.call", openai_agent, AGENT_WAYS, {}, **_HTTP),
    Subject("Agent Framework's Responses client", "llm.call", responses_client, MODEL_WAYS, {}, **_HTTP),
    Subject("an agent over Agent Framework's Responses client", "llm.call", responses_agent, AGENT_WAYS, {}, **_HTTP),
)

SUBJECTS: tuple[Subject, ...] = (
    Subject("a client of one's own in Agent Framework", "llm.call", Own, MODEL_WAYS, {}, opened=MODEL_STREAMS, **_SAID),
    Subject(
        "a client without layers in Agent Framework", "llm.call", Plain, MODEL_WAYS, {}, opened=MODEL_STREAMS, **_SAID
    ),
    Subject("a client that is no BaseChatClient", "llm.call", other_agent, AGENT_WAYS, {}, **_SAID),
    *(_OVER_HTTP if find_spec("agent_framework_openai") is not None else ()),
    Subject("an Agent Framework agent", "agent.invoke", asking, AGENT_WAYS, {}, **_ASKED),
    Subject("an agent of one's own in Agent Framework", "agent.invoke", own_agent, AGENT_WAYS, {}, **_ASKED),
    Subject("an Agent Framework tool", "tool.execute", using(tool), AGENT_WAYS, {}, **_TOLD),
    Subject("an async Agent Framework tool", "tool.execute", using(async_tool), AGENT_WAYS, {}, **_TOLD),
    Subject("an Agent Framework tool of one's own", "tool.execute", using(own_tool), AGENT_WAYS, {}, **_TOLD),
    Subject("an Agent Framework tool itself", "tool.execute", tool, TOOL_WAYS, {}, said=FOUND),
    Subject("an Agent Framework tool as a function", "tool.execute", tool, CALL_WAYS, {}, said=FOUND),
    Subject("an Agent Framework workflow", "run", workflow_of, WORKFLOW_WAYS, {}, asked=ASK),
)

UNGATED = (
    Ungated("the function that a tool was made of", tool, lambda made: made.func(query=ASK)),
    Ungated("clients that are no BaseChatClient, not asked by an agent, and agents that are no BaseAgent"),
    Ungated("tools that a provider executes itself, such as hosted code interpreters"),
)
