"""What is gated in CrewAI, and every way of calling it, in process and against a server on loopback."""

from typing import Any

from spanhook.cli.conformance.libraries.crewai_ways import (
    AGENT_WAYS,
    ASK,
    CREW_WAYS,
    FLOW_WAYS,
    FOUND,
    INVOKE_WAYS,
    MESSAGE_WAYS,
    MODEL_WAYS,
    RESPONSES,
    STREAMED_CREW,
    STREAMING,
    TASK_WAYS,
    TOOL_WAYS,
    USING_WAYS,
    Calling,
    Own,
    Using,
    asking,
    crew_of,
    decorated,
    delegating,
    flow_of,
    model,
    structured,
    tool,
    using,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Subject, Ungated

_AT_ONCE = tuple(one for one in OVER_HTTP if one.status != 429)
"""After a 429, newer versions wait and try again: the tests of models do that once, not every way of calling."""
_HTTP: dict[str, Any] = {"asked": ASK, "said": Reply.text, "faults": _AT_ONCE, "slow": True}
_TOLD: dict[str, Any] = {"raises": False, "said": FOUND, "faults": ()}

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "CrewAI's model",
        "llm.call",
        model,
        MODEL_WAYS,
        {"call": lambda llm: lambda call=llm.call: call(ASK)},
        **_HTTP,
    ),
    Subject("CrewAI's streaming model", "llm.call", STREAMING, MESSAGE_WAYS, {}, **_HTTP),
    Subject("CrewAI's responses model", "llm.call", RESPONSES, MESSAGE_WAYS, {}, **_HTTP),
    Subject("a model of one's own in CrewAI", "llm.call", Own, MESSAGE_WAYS, {}, asked=ASK, said=Reply.text),
    Subject("a CrewAI tool", "tool.execute", tool, TOOL_WAYS, {}, asked=ASK, said=FOUND),
    Subject("a decorated CrewAI tool", "tool.execute", decorated, {"run": TOOL_WAYS["run"]}, {}, asked=ASK, said=FOUND),
    Subject("a structured CrewAI tool", "tool.execute", structured, INVOKE_WAYS, {}, asked=ASK, said=FOUND),
    Subject("a tool that a CrewAI agent uses", "tool.execute", using(Using), USING_WAYS, {}, **_TOLD),
    Subject("a tool that CrewAI's model calls", "tool.execute", using(Calling), USING_WAYS, {}, **_TOLD),
    Subject("a CrewAI agent", "agent.invoke", asking, AGENT_WAYS, {}, asked=ASK, answer="an answer"),
    Subject("a CrewAI agent's task", "agent.invoke", asking, TASK_WAYS, {}, asked=ASK, answer="an answer"),
    Subject(
        "what a CrewAI agent delegates", "agent.delegate", delegating, CREW_WAYS, {}, asked=ASK, raises=False, faults=()
    ),
    Subject("a CrewAI crew", "run", crew_of, CREW_WAYS, {}, asked="tea"),
    Subject("a streaming CrewAI crew", "run", asking, STREAMED_CREW, {}, asked="tea"),
    Subject("a CrewAI flow", "run", flow_of, FLOW_WAYS, {}, asked="tea", answer="an answer"),
)

UNGATED = (
    Ungated("_run and _arun of a tool, and its function, called directly", tool, lambda made: made._run(query=ASK)),
    Ungated("embedders and stores of knowledge and memories, except as far as their clients are bound"),
    Ungated("flows that are resumed after a person's feedback, and Crew.replay, except for what they call"),
    Ungated("agents on CrewAI's platform and other servers, asked over A2A"),
)
