"""What is gated in Strands Agents, and every way of calling it, in process and against a server on loopback."""

from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.libraries.strands_ways import (
    AGENT_WAYS,
    ASK,
    FOUND,
    MODEL_WAYS,
    TEAM_WAYS,
    TOOL_WAYS,
    Own,
    asking,
    async_tool,
    graph_of,
    openai_agent,
    openai_model,
    own_tool,
    swarm_handing_off,
    swarm_of,
    tool,
    using,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Subject, Ungated

_TOLD: dict[str, Any] = {"raises": False, "said": FOUND}
_HTTP: dict[str, Any] = {"asked": ASK, "said": Reply.text}
_AT_ONCE = tuple(one for one in OVER_HTTP if one.status != 429)
"""After a 429, an agent waits for seconds and tries again."""
_OVER_HTTP = (
    Subject("Strands' OpenAI model", "llm.call", openai_model, MODEL_WAYS, {}, faults=OVER_HTTP, **_HTTP),
    Subject("a Strands agent's model", "llm.call", openai_agent, AGENT_WAYS, {}, faults=_AT_ONCE, **_HTTP),
)

SUBJECTS: tuple[Subject, ...] = (
    Subject("a model of one's own in Strands", "llm.call", Own, MODEL_WAYS, {}, asked=ASK, said=Reply.text),
    *(_OVER_HTTP if find_spec("openai") is not None else ()),
    Subject("a Strands agent", "agent.invoke", asking, AGENT_WAYS, {}, asked=ASK, answer="an answer"),
    Subject("a Strands tool", "tool.execute", using(tool), TOOL_WAYS, {}, **_TOLD),
    Subject("an async Strands tool", "tool.execute", using(async_tool), TOOL_WAYS, {}, **_TOLD),
    Subject("a Strands tool of one's own", "tool.execute", using(own_tool), TOOL_WAYS, {}, **_TOLD),
    Subject("a Strands graph", "run", graph_of, TEAM_WAYS, {}, asked=ASK),
    Subject("a Strands swarm", "run", swarm_of, TEAM_WAYS, {}, asked=ASK),
    Subject("a hand-off in a Strands swarm", "agent.delegate", swarm_handing_off, TEAM_WAYS, {}, raises=False),
)

UNGATED = (
    Ungated("the function of a tool, called as a function", tool, lambda made: made(query=ASK)),
    Ungated("agents that talk both ways (bidi), except for their tools"),
    Ungated("agents on other servers, asked over A2A"),
)
