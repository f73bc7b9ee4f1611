"""Which sort of run a workflow's is. What is needed for agents is only imported with these."""

from typing import Any

from spanhook.instrument.llama_index.flows import FLOW, sort_of
from spanhook.model import Adapter, Args, Kwargs


def chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter:
    """The adapter of a run."""
    sort = sort_of(instance.workflow)
    if not sort:
        return FLOW
    from spanhook.instrument.llama_index.runs import RUN, TEAM

    return RUN if sort == "agent" or len(instance.workflow.agents) == 1 else TEAM
