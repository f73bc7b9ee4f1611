"""Whether nodes are operations; called while LangGraph is being imported, so it does not import it."""

from spanhook.gating import Registry
from spanhook.instrument.surroundings import settings


def steps(hooks: Registry) -> bool:
    """Whether hooks apply to nodes, or the settings ask for steps."""
    return "workflow.step" in hooks.plans or settings().steps
