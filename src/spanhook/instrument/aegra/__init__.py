"""Aegra: the runs that it serves.

A run is decided about where it is submitted, inside the request that asks for it, so that a refusal reaches the client:
every way of creating runs ends there. It is executed later, perhaps by a worker in another process, which asks again if
nothing was decided: whoever takes a run from the queue, or recovers one, comes through ``_stream_graph``. It has ended
once ``finalize_run`` has recorded that. Up to version 0.8 there are neither executors nor workers; see ``in_process``.
"""

from importlib import metadata

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Block, Signal

_HERE = "spanhook.instrument.aegra"
_RUN = f"{_HERE}.run:RUN"


def _block(module: str, name: str, drive: str, *, optional: bool = False) -> Block:
    return Block(module=f"aegra_api.{module}", name=name, adapter=_RUN, drive=f"{_HERE}.{drive}", optional=optional)


_ANSWERING = Signal(
    module="aegra_api.main", name="agent_protocol_exception_handler", after=f"{_HERE}.answering:answered"
)
_STARTING = _block("services.langgraph_service", "LangGraphService.initialize", "starting:initialize")
QUEUED = (
    _block("services.run_preparation", "_prepare_run", "withholding:prepare"),
    _block("services.run_preparation", "update_thread_metadata", "withholding:describe_thread"),
    _block("services.run_preparation", "set_thread_status", "withholding:set_status"),
    _block("services.local_executor", "LocalExecutor.submit", "submitting:submit"),
    _block("services.worker_executor", "WorkerExecutor.submit", "submitting:submit"),
    _block("services.cron_scheduler", "CronScheduler._fire_cron", "submitting:schedule", optional=True),
    _block("services.run_executor", "_stream_graph", "executing:execute"),
    _block("services.run_status", "finalize_run", "executing:finalize"),
    _block("services.event_streaming.commands", "_thread_assistant_id", "recorded:resuming", optional=True),
    _STARTING,
    _ANSWERING,
)
IN_PROCESS = (
    _block("api.runs", "create_run", "in_process:accept"),
    _block("api.runs", "create_and_stream_run", "in_process:accept"),
    _block("api.runs", "wait_for_run", "in_process:accept"),
    _block("api.runs", "update_thread_metadata", "in_process:describe_thread"),
    _block("api.runs", "set_thread_status", "in_process:set_status"),
    _block("api.runs", "execute_run_async", "in_process:execute"),
    _block("api.runs", "update_run_status", "in_process:record"),
    _block("services.graph_streaming", "stream_graph_events", "in_process:stream"),
    _STARTING,
    _ANSWERING,
)
"""Points of versions up to 0.8."""


def _table() -> tuple[Block | Signal, ...]:
    """The points of the installed version."""
    try:
        major, minor, *_ = metadata.version("aegra-api").split(".")
    except metadata.PackageNotFoundError:
        return QUEUED
    return IN_PROCESS if (int(major), int(minor)) < (0, 9) else QUEUED


class AegraInstrumentor(Instrumentor):
    """Points of ``aegra_api``."""

    library = "aegra"
    kinds = frozenset(("run",))
    table = _table()
