"""What is gated in smolagents, and every way of calling it, in process and against a server on loopback."""

from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.libraries.smolagents_ways import (
    AGENT_WAYS,
    ASK,
    BY_CODE,
    DIRECT_WAYS,
    EXECUTOR_WAYS,
    FOUND,
    MODEL_STREAMS,
    MODEL_WAYS,
    Own,
    asking,
    coding,
    executor,
    managing,
    openai_agent,
    openai_model,
    other_code,
    own_tool,
    tool,
    using,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Subject, Ungated

_SAID: dict[str, Any] = {"asked": ASK, "said": Reply.text}
_RUN: dict[str, Any] = {"asked": ASK, "answer": "an answer"}
_OVER_HTTP = (
    Subject(
        "smolagents' OpenAI model",
        "llm.call",
        openai_model,
        MODEL_WAYS,
        {},
        opened=MODEL_STREAMS,
        faults=OVER_HTTP,
        **_SAID,
    ),
    Subject("a smolagents agent's model", "llm.call", openai_agent, AGENT_WAYS, {}, faults=OVER_HTTP, asked=ASK),
)

SUBJECTS: tuple[Subject, ...] = (
    Subject("a model of one's own in smolagents", "llm.call", Own, MODEL_WAYS, {}, opened=MODEL_STREAMS, **_SAID),
    *(_OVER_HTTP if find_spec("openai") is not None else ()),
    Subject("a smolagents agent", "agent.invoke", asking, AGENT_WAYS, {}, **_RUN),
    Subject("a smolagents agent that writes code", "agent.invoke", coding, AGENT_WAYS, {}, **_RUN),
    Subject("a smolagents tool", "tool.execute", using(tool), AGENT_WAYS, {}, raises=False, said=FOUND),
    Subject(
        "a smolagents tool of one's own", "tool.execute", using(own_tool), AGENT_WAYS, {}, raises=False, said=FOUND
    ),
    Subject("a smolagents tool, called directly", "tool.execute", tool, DIRECT_WAYS, {}, said=FOUND),
    Subject("a smolagents tool, called by code", "tool.execute", own_tool, BY_CODE, {}, raises=False, said=FOUND),
    Subject(
        "code that a smolagents model writes",
        "tool.execute",
        executor,
        EXECUTOR_WAYS,
        {},
        rewrites=other_code,
        said=FOUND,
    ),
    Subject("a managed agent of smolagents", "agent.delegate", managing, AGENT_WAYS, {}, raises=False),
)

UNGATED = (
    Ungated("a function that was made a tool, called by its own name"),
    Ungated("tools that code calls in another place (Docker, E2B, Modal, Blaxel): there, only the code is"),
    Ungated("functions that code is given besides tools, by additional_functions and additional_args"),
    Ungated("models that are no Model"),
)
