"""What is gated in Pydantic AI, and every way of running it, against servers on loopback."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.toolsets import FunctionToolset, PrefixedToolset

from spanhook.cli.conformance.libraries.pydantic_ai_ways import (
    ALL_WAYS,
    ASK,
    MODEL_OPENED,
    MODEL_WAYS,
    RUN_BIND,
    RUN_WAYS,
    Run,
    chat_model,
    own_model,
    responses_model,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import OVER_HTTP, Body, Query, Subject, Ungated

FOUND = "found leaves everywhere"
"""What the tool of these agents returns."""


def _asking(make: Callable[[Body], Any]) -> Callable[[Body], Run]:
    return lambda body: Run(Agent(make(body), name="helper", instructions="Be brief."))


def _falling_back(body: Body) -> Any:
    return FallbackModel(chat_model(body))


# ------------------------------------------------------------------------------------------------- outputs


def _outputting(body: Body) -> Run:
    def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    model = responses_model(Body(), ([("final_result", '{"query": "tea"}')],), Tokens(0, 0))
    return Run(Agent(model, name="helper", output_type=look_up))


# ------------------------------------------------------------------------------------------------- tools


def async_tool(body: Body) -> Any:
    async def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return FunctionToolset([look_up])


def sync_tool(body: Body) -> Any:
    def look_up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return FunctionToolset([look_up])


def prefixed_tool(body: Body) -> Any:
    def up(query: Query) -> str:
        """Look something up."""
        body.run(query)
        return FOUND

    return PrefixedToolset(FunctionToolset([up]), "look")


def agent_tool(body: Body) -> Any:
    """Another agent, whose model's requests are the runs of the body."""
    inner = Agent(chat_model(body, (FOUND,)), name="finder")

    async def look_up(query: Query) -> str:
        """Look something up."""
        return (await inner.run(query)).output

    return FunctionToolset([look_up])


def _using(make: Callable[[Body], Any]) -> Callable[[Body], Run]:
    turns = ([("look_up", '{"query": "tea"}')], "All done.")

    def using(body: Body) -> Run:
        model = responses_model(Body(), turns, Tokens(0, 0))  # what is used is used inside the tool
        return Run(Agent(model, name="helper", toolsets=[make(body)]))

    return using


_HTTP: dict[str, Any] = {"asked": ASK, "faults": OVER_HTTP, "slow": True, "said": Reply.text}
_TOLD: dict[str, Any] = {"raises": False, "said": FOUND}
_FINDING: dict[str, Any] = {**_TOLD, "faults": OVER_HTTP}


def _over_anthropic() -> tuple[Subject, ...]:
    """Version 1 needs a version of Anthropic's client that spanhook does not bind."""
    if find_spec("anthropic") is None:
        return ()
    from spanhook.cli.conformance.libraries import pydantic_ai_anthropic

    return pydantic_ai_anthropic.SUBJECTS


def _embedding() -> tuple[Subject, ...]:
    """In versions that have embeddings."""
    if find_spec("pydantic_ai.embeddings") is None:
        return ()
    from spanhook.cli.conformance.libraries import pydantic_ai_embeddings

    return pydantic_ai_embeddings.SUBJECTS


SUBJECTS: tuple[Subject, ...] = (
    Subject("Pydantic AI's chat model", "llm.call", chat_model, MODEL_WAYS, {}, opened=MODEL_OPENED, **_HTTP),
    Subject("Pydantic AI's responses model", "llm.call", responses_model, MODEL_WAYS, {}, opened=MODEL_OPENED, **_HTTP),
    Subject(
        "a model in a fallback of Pydantic AI",
        "llm.call",
        _falling_back,
        {"request": MODEL_WAYS["request"]},
        {},
        said=Reply.text,
    ),
    Subject(
        "a model of functions of Pydantic AI",
        "llm.call",
        own_model,
        MODEL_WAYS,
        {},
        said=Reply.text,
        opened=MODEL_OPENED,
    ),
    Subject("a Pydantic AI agent's model", "llm.call", _asking(chat_model), ALL_WAYS, RUN_BIND, **_HTTP),
    Subject(
        "a Pydantic AI agent",
        "agent.invoke",
        _asking(chat_model),
        ALL_WAYS,
        RUN_BIND,
        asked=ASK,
        faults=OVER_HTTP,
        slow=True,
    ),
    Subject("a Pydantic AI agent's async tool", "tool.execute", _using(async_tool), ALL_WAYS, {}, **_TOLD),
    Subject("a Pydantic AI agent's tool", "tool.execute", _using(sync_tool), ALL_WAYS, {}, **_TOLD),
    Subject("a Pydantic AI agent's prefixed tool", "tool.execute", _using(prefixed_tool), RUN_WAYS, {}, **_TOLD),
    Subject(
        "a Pydantic AI agent as a tool",
        "tool.execute",
        _using(agent_tool),
        RUN_WAYS,
        {},
        **_FINDING,
    ),
    Subject(
        "a Pydantic AI agent's output function",
        "tool.execute",
        _outputting,
        {way: RUN_WAYS[way] for way in ("run", "iter")},  # a stream calls it for each part of an answer
        {},
        said=FOUND,
    ),
    *_over_anthropic(),
    *_embedding(),
)

UNGATED = (
    Ungated("tools that providers run: web search, code execution, hosted MCP servers"),
    Ungated("batches, token counts, compaction, images, realtime sessions"),
    Ungated("a tool's function, called as a function", lambda body: body, lambda body: body.run("a call")),
)
