"""Aegra: the runs that it serves.

A run is decided about where it is submitted, inside the request that asks for it, so that a refusal reaches the client:
every way of creating runs ends there. It is executed later, perhaps by a worker in another process, which asks again if
nothing was decided: whoever takes a run from the queue, or recovers one, comes through ``_stream_graph``. It has ended
once ``finalize_run`` has recorded that.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Block, Signal

_HERE = "spanhook.instrument.aegra"
_RUN = f"{_HERE}.run:RUN"
_SERVICES = "aegra_api.services"


def _block(module: str, name: str, drive: str) -> Block:
    return Block(module=f"{_SERVICES}.{module}", name=name, adapter=_RUN, drive=f"{_HERE}.{drive}")


class AegraInstrumentor(Instrumentor):
    """Points of ``aegra_api``."""

    library = "aegra"
    kinds = frozenset(("run",))
    table = (
        _block("local_executor", "LocalExecutor.submit", "submitting:submit"),
        _block("worker_executor", "WorkerExecutor.submit", "submitting:submit"),
        _block("run_executor", "_stream_graph", "executing:execute"),
        _block("run_status", "finalize_run", "executing:finalize"),
        Signal(
            module="aegra_api.main",
            name="agent_protocol_exception_handler",
            after=f"{_HERE}.submitting:answered",
        ),
    )
