"""Whether requests are operations; called while Starlette is being imported, so it does not import it."""

from spanhook.gating import Registry


def requests(hooks: Registry) -> bool:
    """Whether hooks apply to requests."""
    return "request" in hooks.plans or "request" in hooks.outer
