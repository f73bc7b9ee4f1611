"""What the library retries: what it takes for a rate limit of the provider, judged by its text.

A rejection is none, whatever its reason says. One may come out of a retried call where that is not only the transport
of the model's own, such as that of a router's deployment.
"""

from spanhook.errors import Reject, RunStopped
from spanhook.model import Args, Kwargs, first, with_first


def no_rate_limit(_instance: object, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """``is_rate_limit_error`` was called with an exception; of a rejection, it gets one without a text."""
    if not isinstance(first(args, kwargs, "exception"), Reject | RunStopped):
        return args, kwargs
    return with_first(args, kwargs, "exception", Exception())
