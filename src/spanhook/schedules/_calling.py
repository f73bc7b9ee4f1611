"""Ticks as calls of the application's own agents, on the event loop of its schedules."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from spanhook.engine import operation_for
from spanhook.errors import ConfigurationError
from spanhook.model import RunFacts
from spanhook.schedules.deciding import Execution
from spanhook.schedules.entry import CronEntry
from spanhook.schedules.scheduler import Made, Work

Call = Callable[[Any, str], Awaitable[Any]]
"""Gets the input and the conversation."""


def calling(agents: Mapping[str, Any]) -> Work:
    """What calls an agent for each tick, as the operation ``run``, so that hooks of runs are called.

    Args:
        agents: By name: async functions, or objects with ``ainvoke`` such as LangGraph graphs, which get the schedule's
            ``session_id`` as their thread. Each is given the input.

    Raises:
        ConfigurationError: One of them is not async.
    """
    calls = {name: _call_of(name, agent) for name, agent in agents.items()}

    async def work(entry: CronEntry, _execution: Execution, _made: Made) -> Any:
        call = calls[entry.agent]
        facts = RunFacts(entry.session_id, entry.agent, entry.agent, None, {})
        request = {"inputs": entry.input}
        async with operation_for("run", entry.agent, request=request, facts=facts) as op:
            return op.result_of(await call(entry.input, entry.session_id))

    return work


def _call_of(name: str, agent: Any) -> Call:
    if not inspect.isroutine(agent) and callable(getattr(agent, "ainvoke", None)):

        async def invoke(given: Any, session_id: str) -> Any:
            config = {"configurable": {"thread_id": session_id}} if session_id else None
            return await agent.ainvoke(given, config)

        return invoke
    called = agent if inspect.isroutine(agent) else getattr(agent, "__call__", None)  # noqa: B004 - its code
    if not inspect.iscoroutinefunction(inspect.unwrap(called) if callable(called) else called):
        raise ConfigurationError(f"agent {name!r}: {agent!r} is not async; define it with async def")

    async def call(given: Any, _session_id: str) -> Any:
        return await agent(given)

    return call
