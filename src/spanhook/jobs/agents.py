"""Agents that are served: LangGraph graphs, and any async callable. They are told apart by what they have."""

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from spanhook.engine import is_agent, operation
from spanhook.errors import ConfigurationError, RequirementError
from spanhook.gating import load_object
from spanhook.jobs._graph_inputs import graph_input
from spanhook.jobs._plain import plain
from spanhook.jobs.events import TEXT
from spanhook.jobs.job import Retry

Publish = Callable[[str, Mapping[str, Any]], object]
"""Called with the type and the data of an event."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that is served.

    Attributes:
        name: Its name in addresses.
        target: A LangGraph graph, a coroutine function, or an async generator function whose texts are streamed; each
            is given the input alone.
        retry: Whether a job may run again after its process has died: ``"safe"`` if doing it twice does no harm.
    """

    name: str
    target: Any
    retry: Retry = "never"

    def __post_init__(self) -> None:
        if not _is_graph(self.target) and not callable(self.target):
            raise ConfigurationError(
                f"agent {self.name!r}: {self.target!r} is neither a LangGraph graph nor an async callable"
            )
        if not _is_graph(self.target) and not _is_async(self.target):
            raise ConfigurationError(f"agent {self.name!r}: {self.target!r} is not async; define it with async def")
        if not _is_graph(self.target) and (signature := _too_narrow(self.target)):
            raise ConfigurationError(
                f"agent {self.name!r}: {self.target!r} takes {signature}, but an agent is called with its input alone; "
                "let it take one argument, and give others a default"
            )

    async def run(self, given: Any, session_id: str, publish: Publish) -> Any:
        """Run it once as an ``agent.invoke``, and tell of the text that it streams.

        Args:
            given: Its input.
            session_id: The conversation: a graph's ``thread_id``, see ``thread_of``; empty for none.
            publish: Told of each part.

        Returns:
            What it returned, as plain data.

        Raises:
            Reject: It is a graph that does not take such an input.
        """
        if _is_graph(self.target):
            return plain(await _run_graph(self.target, given, session_id, publish))
        if is_agent(self.target):
            return plain(await _run_function(self.target, given, publish))
        async with operation("agent.invoke", self.name, request={"inputs": given}) as op:
            if _streams(self.target):
                parts = op.stream(lambda: cast("AsyncIterator[Any]", self.target(op.request.inputs)))
                return plain(await _run_stream(parts, publish))
            return plain(await op.acall(_run_function, self.target, op.request.inputs, publish))


def thread_of(tenant_id: str, session_id: str) -> str:
    """The name of a conversation among those of all tenants: none can name another's. Empty for no conversation."""
    if not session_id or (not tenant_id and "/" not in session_id):
        return session_id
    return f"{quote(tenant_id, safe='')}/{session_id}"


def load_agent(name: str, spec: str, retry: Retry = "never") -> Agent:
    """The agent that ``spec`` names: ``./app.py:graph`` or ``package.module:graph``.

    Raises:
        ConfigurationError: There is no such file, module or name, or it cannot be served.
        RequirementError: It needs a library that is not bound.
    """
    if not all(spec.rpartition(":")):
        raise ConfigurationError(f"agent {name!r}: {spec!r}: expected path/to/app.py:graph or package.module:graph")
    try:
        target = load_object(spec)
    except (ConfigurationError, RequirementError) as error:
        raise type(error)(f"agent {name!r}: {str(error).removeprefix('hooks ')}") from error
    return Agent(name, target, retry)


def _is_graph(target: Any) -> bool:
    return not inspect.isfunction(target) and hasattr(target, "astream") and hasattr(target, "ainvoke")


def _is_async(target: Any) -> bool:
    return _streams(target) or any(inspect.iscoroutinefunction(one) for one in _functions_of(target))


def _streams(target: Any) -> bool:
    return any(inspect.isasyncgenfunction(one) for one in _functions_of(target))


def _functions_of(target: Any) -> tuple[Any, Any]:
    """What is called, and what a decorator has wrapped in it."""
    called = target if inspect.isroutine(target) else getattr(target, "__call__", target)  # noqa: B004 - its code
    return called, inspect.unwrap(called) if inspect.isfunction(called) else called


def _too_narrow(target: Any) -> str:
    """The parameters of what cannot be called with one argument; empty if it can be, as far as they are known.

    What a decorated function takes is what its wrapper takes, which may add arguments.
    """
    try:
        signature = inspect.signature(target, follow_wrapped=False)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(None)
    except TypeError:
        return str(signature)
    return ""


async def _run_graph(graph: Any, given: Any, session_id: str, publish: Publish) -> Any:
    config = {"configurable": {"thread_id": session_id}} if session_id else None
    result: Any = None
    async for mode, part in graph.astream(graph_input(graph, given), config, stream_mode=["messages", "values"]):
        if mode == "values":
            result = part
        elif text := _text_of(part[0]):
            publish(TEXT, {"text": text})
    return result


async def _run_function(function: Any, given: Any, publish: Publish) -> Any:
    returned = function(given)
    if inspect.isasyncgen(returned) or isinstance(returned, AsyncIterator):
        return await _run_stream(cast("AsyncIterator[Any]", returned), publish)
    return await returned


async def _run_stream(parts: AsyncIterator[Any], publish: Publish) -> Any:
    kept: list[Any] = []
    try:
        async for part in parts:
            kept.append(part)
            if isinstance(part, str) and part:
                publish(TEXT, {"text": part})
    finally:
        close = getattr(parts, "aclose", None)
        if close is not None:
            await close()
    return "".join(kept) if kept and all(isinstance(one, str) for one in kept) else kept


def _text_of(message: Any) -> str:
    """The text of a part of a model's message; empty for other messages."""
    if not str(getattr(message, "type", "")).startswith(("ai", "AIMessageChunk")):
        return ""
    content: Any = getattr(message, "content", "")
    if isinstance(content, str):
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    texts = (one if isinstance(one, str) else _block_text(one) for one in blocks)
    return "".join(texts)


def _block_text(block: Any) -> str:
    found: Any = cast("Mapping[str, Any]", block).get("text") if isinstance(block, Mapping) else ""
    return found if isinstance(found, str) else ""
