"""What is gated in Haystack, and every way of calling it, in process and against a server on loopback."""

from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.libraries.haystack_ways import (
    AGENT_WAYS,
    ASK,
    DIRECT_WAYS,
    FOUND,
    IS_2,
    MODEL_WAYS,
    PIPELINE_WAYS,
    ChatMessage,
    asking,
    async_tool,
    component_tool,
    openai_agent,
    openai_model,
    own,
    pipeline_of,
    plain_agent,
    tool,
    using,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, PLANTED, Subject, Ungated

_TOLD: dict[str, Any] = {"raises": False, "said": FOUND}
_HTTP: dict[str, Any] = {"asked": ASK, "said": Reply.text, "faults": OVER_HTTP, "slow": True}
_OVER_HTTP = (
    Subject("Haystack's OpenAI generator", "llm.call", openai_model, MODEL_WAYS, {}, **_HTTP),
    Subject("a Haystack agent's generator", "llm.call", openai_agent, AGENT_WAYS, {}, **_HTTP),
)
_PLAIN = Subject(
    "a generator that is no component", "llm.call", plain_agent, AGENT_WAYS, {}, asked=ASK, said=Reply.text
)
"""Agents of version 2 want components."""

SUBJECTS: tuple[Subject, ...] = (
    Subject("a generator of one's own in Haystack", "llm.call", own, MODEL_WAYS, {}, asked=ASK, said=Reply.text),
    *(() if IS_2 else (_PLAIN,)),
    Subject("a generator in a Haystack pipeline", "llm.call", pipeline_of, PIPELINE_WAYS, {}, asked=ASK),
    *(_OVER_HTTP if find_spec("openai") is not None else ()),
    Subject(
        "a Haystack agent",
        "agent.invoke",
        asking,
        AGENT_WAYS,
        {},
        asked=ASK,
        answer="an answer",
        rewrites=lambda _messages: [ChatMessage.from_user(PLANTED)],
    ),
    Subject("a Haystack tool", "tool.execute", using(tool), AGENT_WAYS, {}, **_TOLD),
    Subject("an async Haystack tool", "tool.execute", using(async_tool), AGENT_WAYS, {}, **_TOLD),
    Subject("a Haystack component as a tool", "tool.execute", using(component_tool), AGENT_WAYS, {}, **_TOLD),
    Subject("a Haystack tool itself", "tool.execute", tool, DIRECT_WAYS, {}, said=FOUND),
    Subject("a Haystack pipeline", "run", pipeline_of, PIPELINE_WAYS, {}, asked=ASK),
)

UNGATED = (
    Ungated("the function of a tool, called as a function", tool, lambda made: made.function(query=ASK)),
    Ungated("embedders, retrievers and other components; what bound clients do inside of them is gated"),
    Ungated("text generators of version 2, which take prompts; the requests of bound clients inside of them are gated"),
)
