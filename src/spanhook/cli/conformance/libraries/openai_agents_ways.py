"""Every way of running an agent or a model of OpenAI's Agents SDK, each reduced to comparable facts."""

import asyncio
import json
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from agents import Agent, ModelSettings, ModelTracing, RunConfig, RunHooks, Runner, SQLiteSession, TracingProcessor
from agents.tracing import set_trace_processors

from spanhook.cli.conformance.libraries.openai_scripts import Turn, scripted_client
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body, Subject, Use

ASK = "Greet me."
CALLED = "a call"


def model_of(kind: Callable[..., Any], body: Body, turns: Sequence[Turn] = (), used: Tokens = Reply.tokens) -> Any:
    """A model whose requests count as runs of ``body``, and which answers in turns if they are given."""
    return kind(model="gpt-4o-mini", openai_client=scripted_client(body, turns, used))


# ------------------------------------------------------------------------------------------------- runs


class Hearing(RunHooks[Any]):
    """Hooks of the SDK's own, which record what they are told of answers and results."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        self.told.append(("agent starts", agent.name))

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        self.told.append(("agent ends", agent.name, output))

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        self.told.append(("hand-off", from_agent.name, to_agent.name))

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self.told.append(("tool starts", tool.name))

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        self.told.append(("tool ends", tool.name, result))

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self.told.append(("model starts", len(input_items)))

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self.told.append(("model ends", [_plain(one) for one in response.output]))


@dataclass
class Run:
    """An agent, what keeps its conversation, and what its hooks hear."""

    agent: Agent[Any]
    hearing: Hearing = field(default_factory=Hearing)
    session: SQLiteSession = field(default_factory=lambda: SQLiteSession("conversation"))

    @property
    def given(self) -> dict[str, Any]:
        """The arguments of a run."""
        return {"hooks": self.hearing, "session": self.session, "run_config": RunConfig(workflow_name="workflow")}


def _plain(value: Any) -> Any:
    """A model as plain data, without the time that the SDK gives a response of its own making."""
    if not hasattr(value, "model_dump"):
        return value
    told: dict[str, Any] = value.model_dump(mode="json", warnings=False)
    inside: Any = told.get("response")
    for one in (told, inside):
        if one is not None:
            one.pop("created_at", None)
    return told


def facts(result: Any) -> Any:
    """A result without its agents."""
    return {
        "type": type(result).__name__,
        "final": result.final_output,
        "items": [(type(item).__name__, _plain(item.raw_item)) for item in result.new_items],
        "list": result.to_input_list(),
        "responses": [[_plain(one) for one in response.output] for response in result.raw_responses],
        "usage": result.context_wrapper.usage.total_tokens,
        "agent": result.last_agent.name,
        "interruptions": len(result.interruptions),
    }


async def _kept(run: Run) -> Any:
    kept = await run.session.get_items()
    run.session.close()
    return kept


async def _run(run: Run) -> Any:
    result = await Runner.run(run.agent, ASK, **run.given)
    return facts(result), run.hearing.told, await _kept(run)


def _run_sync(run: Run) -> Any:
    """Run it where no event loop runs: the SDK refuses to otherwise."""
    if asyncio._get_running_loop() is None:
        return _run_here(run)
    told: list[Any] = []
    thread = threading.Thread(target=lambda: told.append(_run_here(run)))
    thread.start()
    thread.join()
    return told[0]


def _run_here(run: Run) -> Any:
    try:
        result = Runner.run_sync(run.agent, ASK, **run.given)
        return facts(result), run.hearing.told
    finally:
        run.session.close()
        close_loop()


def close_loop() -> None:
    """Close this thread's event loop, which ``run_sync`` leaves open."""
    asyncio.get_event_loop_policy().get_event_loop().close()  # pyright: ignore[reportDeprecated]
    asyncio.set_event_loop(None)


def event_facts(event: Any) -> Any:
    """An event of a streamed run."""
    if event.type == "raw_response_event":
        return event.type, _plain(event.data)
    if event.type == "run_item_stream_event":
        return event.type, event.name, _plain(event.item.raw_item)
    return event.type, event.new_agent.name


async def _streamed(run: Run) -> Any:
    result = Runner.run_streamed(run.agent, ASK, **run.given)
    events = [event_facts(event) async for event in result.stream_events()]
    return facts(result), events, run.hearing.told, await _kept(run)


BOTH_WAYS: dict[str, Use] = {"run": _run, "run_streamed": _streamed}
RUN_WAYS: dict[str, Use] = {**BOTH_WAYS, "run_sync": _run_sync}


async def _later(made: Any) -> Any:
    return facts(await made)


RUN_BIND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "run": lambda run: _bound(Runner.run, run),
}


def _bound(kept: Any, run: Run) -> Callable[[], Any]:
    return lambda: _later(kept(run.agent, ASK))


# ------------------------------------------------------------------------------------------------- models

MODEL_CALL: dict[str, Any] = {
    "system_instructions": "Be brief.",
    "input": ASK,
    "model_settings": ModelSettings(),
    "tools": [],
    "output_schema": None,
    "handoffs": [],
    "tracing": ModelTracing.DISABLED,
    "previous_response_id": None,
    "conversation_id": None,
    "prompt": None,
}


async def _get(model: Any) -> Any:
    response = await model.get_response(**MODEL_CALL)
    return [_plain(one) for one in response.output], response.usage.total_tokens, response.response_id


async def _stream(model: Any) -> Any:
    return [_plain(event) async for event in model.stream_response(**MODEL_CALL)]


MODEL_WAYS: dict[str, Use] = {"get_response": _get, "stream_response": _stream}
MODEL_OPENED: dict[str, Use] = {"stream_response": lambda model: model.stream_response(**MODEL_CALL)}


# ------------------------------------------------------------------------------------------------- traces


class Traces(TracingProcessor):
    """Records what the SDK's own traces say."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    @property
    def ends(self) -> list[Any]:
        """The answers and results of those."""
        return self.results

    def on_trace_start(self, trace: Any) -> None:
        """Traces themselves say nothing."""

    def on_trace_end(self, trace: Any) -> None:
        """Neither do their ends."""

    def on_span_start(self, span: Any) -> None:
        """Nothing is known yet."""

    def on_span_end(self, span: Any) -> None:
        data = span.span_data
        response = getattr(data, "response", None)
        said = (json.dumps(span.export(), default=str), span.error, getattr(data, "output", None), _plain(response))
        self.results.append(said)

    def shutdown(self) -> None:
        """Nothing is kept open."""

    def force_flush(self) -> None:
        """Nothing waits."""


@contextmanager
def _tracing() -> Generator[Traces, None, None]:
    traces = Traces()
    set_trace_processors([traces])
    try:
        yield traces
    finally:
        set_trace_processors([])


def listeners(_subject: Subject, _way: str) -> Iterator[AbstractContextManager[Traces]]:
    """A processor of the SDK's traces."""
    yield _tracing()
