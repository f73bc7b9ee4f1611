"""What is gated in Google's ADK, and every way of calling it, in process and against a server on loopback."""

from typing import Any

from spanhook.cli.conformance.libraries.google_adk_ways import (
    ASK,
    DIRECT_WAYS,
    EXECUTOR_WAYS,
    FOUND,
    MODEL_STREAMS,
    MODEL_WAYS,
    RUN_WAYS,
    THREAD_WAYS,
    asking,
    async_tool,
    coding,
    content,
    executor,
    function_tool,
    gemini,
    gemini_agent,
    handing_off,
    own,
    own_tool,
    tool,
    using,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, PLANTED, Subject, Ungated


def _planted(_asked: Any) -> Any:
    return content(PLANTED)


_SAID: dict[str, Any] = {"asked": ASK, "said": Reply.text}
_RUN: dict[str, Any] = {"asked": ASK, "answer": "an answer", "rewrites": _planted}
_TOLD: dict[str, Any] = {"raises": False, "said": FOUND}
_WAYS = {**RUN_WAYS, **THREAD_WAYS}

SUBJECTS: tuple[Subject, ...] = (
    Subject("a model of one's own in ADK", "llm.call", own, MODEL_WAYS, {}, opened=MODEL_STREAMS, **_SAID),
    Subject("ADK's Gemini", "llm.call", gemini, MODEL_WAYS, {}, opened=MODEL_STREAMS, faults=OVER_HTTP, **_SAID),
    Subject("an ADK agent's model", "llm.call", gemini_agent, _WAYS, {}, faults=OVER_HTTP, **_SAID),
    Subject("an ADK agent, by its runner", "agent.invoke", asking, _WAYS, {}, **_RUN),
    Subject("an ADK tool", "tool.execute", using(tool), _WAYS, {}, **_TOLD),
    Subject("an async ADK tool", "tool.execute", using(async_tool), RUN_WAYS, {}, **_TOLD),
    Subject("an ADK tool of one's own", "tool.execute", using(own_tool), RUN_WAYS, {}, **_TOLD),
    Subject("an ADK tool, called directly", "tool.execute", function_tool, DIRECT_WAYS, {}, said=FOUND),
    Subject("code that a model in ADK writes", "tool.execute", coding, RUN_WAYS, {}, raises=False),
    Subject("ADK's execution of code", "tool.execute", executor, EXECUTOR_WAYS, {}, raises=False, said=FOUND),
    Subject("a hand-off in ADK", "agent.delegate", handing_off, RUN_WAYS, {}, raises=False, faults=()),
)

UNGATED = (
    Ungated("the function of a tool, called as a function", tool, lambda made: made(query=ASK)),
    Ungated("what goes over a live connection: of run_live, runs and tools are gated, but no calls of models"),
    Ungated("agents on other servers, asked over A2A, and code that a provider executes"),
    Ungated("models and agents that derive from no class of the library"),
)
