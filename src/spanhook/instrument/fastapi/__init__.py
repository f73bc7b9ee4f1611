"""FastAPI: requests to its endpoints, once their dependencies are solved: that is where applications authenticate."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Block

_HERE = "spanhook.instrument.fastapi"
_STARLETTE = "spanhook.instrument.starlette"
_WANTED = f"{_STARLETTE}.wanted:requests"


class FastAPIInstrumentor(Instrumentor):
    """Points of ``fastapi``."""

    library = "fastapi"
    kinds = frozenset(("request",))
    table = (
        Block(
            module="fastapi.routing",
            name="wrap_app_handling_exceptions",
            adapter=f"{_HERE}.solving:REQUEST",
            drive=f"{_HERE}.solving:endpoint",
        ),
        Block(
            module="fastapi.routing",
            name="solve_dependencies",
            adapter=f"{_HERE}.solving:REQUEST",
            drive=f"{_HERE}.solving:solve",
            wanted=_WANTED,
        ),
    )
