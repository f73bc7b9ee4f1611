"""Runs of agents: ``MultiStepAgent.run``, whose result is the answer, or a stream of steps."""

from collections.abc import Iterator
from dataclasses import replace
from inspect import isgenerator
from time import time
from typing import Any

from smolagents.agents import RunResult
from smolagents.memory import FinalAnswerStep
from smolagents.monitoring import Timing
from smolagents.utils import AgentGenerationError

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.instrument.smolagents.arguments import RUN as CALL
from spanhook.instrument.smolagents.chunks import Steps
from spanhook.instrument.smolagents.messages import as_text
from spanhook.instrument.wire import one_prompt, text_in
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Editing,
    Kwargs,
    Message,
    Reading,
    Request,
    Streaming,
    exact_text,
)

PROVIDER = "smolagents"


def name_of(agent: Any) -> str:
    """An agent's name; its class's if it has none."""
    return exact_text(getattr(agent, "name", None)) or type(agent).__name__


def chosen(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter:
    return STREAM if CALL.given(args, kwargs, "stream") else RUN


def run_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: name_of(instance)}


def asked(task: Any) -> list[Message]:
    """A task as messages in role/parts form."""
    return [{"role": "user", "parts": [{"type": "text", "content": str(task)}]}]


def run_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    """The task; what was said before is the agent's own."""
    task = CALL.given(args, kwargs, "task")
    system = getattr(getattr(getattr(instance, "memory", None), "system_prompt", None), "system_prompt", None)
    return Request(messages=asked(task), system=system if isinstance(system, str) else "", inputs=task)


def rewritten(task: Any, change: Change) -> Any:
    """A task as a hook has changed it.

    Raises:
        ValueError: The messages are not one.
    """
    if change.inputs is not None:
        task = change.inputs
    if change.messages is None:
        return task
    messages = one_prompt(change.messages)
    if len(messages) != 1:
        raise ValueError(f"a task is one message; messages= has {len(messages)}")
    parts = messages[0].get("parts")
    return text_in(parts) if parts is not None else str(messages[0].get("content") or "")


def run_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return CALL.having(args, kwargs, task=rewritten(CALL.given(args, kwargs, "task"), change))


def run_output(result: Any) -> list[Message]:
    said = result.output if isinstance(result, RunResult) else result
    return [] if said is None else [{"role": "assistant", "parts": [{"type": "text", "content": as_text(said)}]}]


def run_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What a hook answers; as the library's full result if that was asked for."""
    wanted = CALL.given(args, kwargs, "return_full_result")
    whole = getattr(instance, "return_full_result", False) if wanted is None else wanted
    if not whole or isinstance(value, RunResult):
        return value
    now = time()
    return RunResult(
        output=value, token_usage=None, steps=[], timing=Timing(start_time=now, end_time=now), state="success"
    )


def run_steps(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> tuple[Any, ...]:
    return (FinalAnswerStep(output=value),)


def stream_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterator[Any]:
    """A stream that ends at once."""
    yield from run_steps(instance, args, kwargs, value)


def refusal(error: BaseException) -> Reject | None:
    """The rejection of a model call, which the library makes an exception of its own of."""
    cause = error.__cause__ if isinstance(error, AgentGenerationError) else None
    return cause if isinstance(cause, Reject) else None


def stream_of(result: Any) -> str:
    return "sync" if isgenerator(result) else ""


RUN = Adapter(
    kind="agent.invoke",
    layer="smolagents.run",
    start=run_start,
    reading=Reading(request=run_request, output=run_output),
    editing=Editing(rewrite=run_rewrite, takes=frozenset(("inputs", "messages")), answer=run_answer, refusal=refusal),
    traits=frozenset(("pools",)),
)
STREAM = replace(
    RUN,
    editing=replace(RUN.editing, answer=stream_answer),
    streaming=Streaming(stream_of=stream_of, chunks=Steps, answer_chunks=run_steps),
)
