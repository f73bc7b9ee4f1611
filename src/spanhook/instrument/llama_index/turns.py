"""Turns of the agents that an ``AgentWorkflow`` runs: those of each, until it hands over, are an ``agent.invoke``.

The workflow asks the agent's model and calls its tools in different steps. What it does for an agent between two of
its turns belongs to the turns, too.
"""

from typing import Any

from spanhook.instrument.llama_index.arguments import STEP
from spanhook.instrument.llama_index.messages import answer_of, read, read_all
from spanhook.instrument.llama_index.runs import TEAM, described, output_of, system_of
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Editing,
    Kwargs,
    Message,
    Reading,
    Record,
    Request,
    Turn,
    Within,
    current_record,
)


def _team() -> Record | None:
    """The run of a team in whose step this is."""
    op = current_record()
    return op if op is not None and op.adapter is TEAM else None


def step(instance: Any, _args: Args, _kwargs: Kwargs) -> Turn | None:
    """A step of an agent as its turn; ``None`` outside of a team, where the run is the agent's own."""
    team = _team()
    if team is None or instance not in team.instance.workflow.agents.values():
        return None
    return Turn(AGENT, instance, team, _is_last)


def response(_instance: Any, args: Args, kwargs: Kwargs) -> Turn | None:
    """The model of an agent is asked by the workflow itself, for a last time."""
    agent = kwargs.get("agent", args[2] if len(args) > 2 else None)
    return None if agent is None else step(agent, args, kwargs)


def within(_instance: Any, _args: Args, _kwargs: Kwargs) -> Within | None:
    """A call on behalf of the agent whose turns these are."""
    team = _team()
    return None if team is None or team.lasting is None else Within(team.lasting)


def _is_last(_result: Any) -> bool:
    """An agent may still have to call tools, or to put its answer into a form; only the next one ends its turns."""
    return False


def agent_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return described(instance)


def agent_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    """What the agent begins with."""
    given = STEP.given(args, kwargs, "llm_input")
    return Request(messages=read_all(given), system=system_of(instance), inputs=given)


def agent_output(result: Any) -> list[Message]:
    said = getattr(result, "response", None) or getattr(result, "message", None)
    return [] if said is None else [read(said)]


def agent_answer(instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return output_of(instance, answer_of(value))


AGENT = Adapter(
    kind="agent.invoke",
    layer="llama_index.turns",
    start=agent_start,
    reading=Reading(request=agent_request, message=read, output=agent_output),
    editing=Editing(answer=agent_answer),
)
