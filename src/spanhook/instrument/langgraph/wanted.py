"""Whether nodes are operations; called while LangGraph is being imported, so it does not import it."""

from spanhook.gating import Plan
from spanhook.instrument.surroundings import settings


def steps(plans: dict[str, Plan]) -> bool:
    """Whether hooks apply to nodes, or the settings ask for steps."""
    return "workflow.step" in plans or settings().steps
