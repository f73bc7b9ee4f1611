"""Whether nodes are to be operations; asked while LangGraph is being imported, so without it."""

from spanhook.gating import Plan
from spanhook.instrument.surroundings import settings


def steps(plans: dict[str, Plan]) -> bool:
    """Whether hooks are for them, or the settings ask for them."""
    return "workflow.step" in plans or settings().steps
