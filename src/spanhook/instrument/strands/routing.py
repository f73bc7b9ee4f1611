"""``ModelRouter``: no other model makes up for the rejection of one."""

from dataclasses import replace

from spanhook.errors import Reject
from spanhook.instrument.strands.arguments import ADVANCE as GIVEN
from spanhook.model import Args, Kwargs


def failed(router: object, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The router looks for another model after a call that has failed: after a rejection, it has used them all."""
    state, candidates = GIVEN.given(args, kwargs, "state"), getattr(router, "candidates", ())
    if not isinstance(getattr(GIVEN.given(args, kwargs, "event"), "exception", None), Reject):
        return args, kwargs
    return GIVEN.having(args, kwargs, state=replace(state, switched_to={id(one) for one in candidates}))
