"""What the library tries again: nodes that have failed, and another model in place of one that has.

A rejection is no failure, whatever status it has: nothing is tried in its place.
"""

from spanhook.errors import Reject
from spanhook.instrument.signatures import Signature
from spanhook.model import Args, Kwargs

_NODE = Signature("exception", "retry_config", "node_state")
_MODEL = Signature("error")


def no_failure_of_node(_instance: object, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """``_should_retry_node`` was called; for a rejection, without anything to retry for."""
    if not isinstance(_NODE.given(args, kwargs, "exception"), Reject):
        return args, kwargs
    return _NODE.having(args, kwargs, retry_config=None)


def no_failure_of_model(_instance: object, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """``_should_fall_back`` was called with an exception; of a rejection, it gets one without a status."""
    if not isinstance(_MODEL.given(args, kwargs, "error"), Reject):
        return args, kwargs
    return _MODEL.having(args, kwargs, error=Exception())
