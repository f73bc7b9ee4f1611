"""Starlette: requests to its endpoints, once the application's middleware has let them pass.

The points are the innermost functions that every endpoint is called through: inside all middleware, so that a request
is counted once however applications are mounted, and inside what turns exceptions into responses. While no hook applies
to requests, they are not operations, but a rejection that an endpoint lets out is still a response; so is one that
anything else inside an application's middleware lets out, such as a mounted application.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Block

_HERE = "spanhook.instrument.starlette"


class StarletteInstrumentor(Instrumentor):
    """Points of ``starlette``."""

    library = "starlette"
    kinds = frozenset(("request",))
    table = (
        Block(
            module="starlette.routing",
            name="wrap_app_handling_exceptions",
            adapter=f"{_HERE}.requests:REQUEST",
            drive=f"{_HERE}.serving:endpoint",
        ),
        Block(
            module="starlette.endpoints",
            name="HTTPEndpoint.dispatch",
            adapter=f"{_HERE}.requests:REQUEST",
            drive=f"{_HERE}.serving:dispatch",
        ),
    )
