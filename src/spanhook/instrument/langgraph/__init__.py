"""LangGraph: graphs built by hand or by ``create_agent``, their nodes on request, and the memory store.

Everything ends in ``Pregel.stream`` or its async twin: streams and every events API directly, ``batch`` through
``invoke``. ``invoke`` still has its own point, because a call costs a fraction of a stepped stream; the stream that it
reads is then no operation itself.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.langchain_core.control import control
from spanhook.instrument.langchain_core.isolation import isolate
from spanhook.instrument.langgraph.pausing import pause
from spanhook.model import Outlet, Point, Signal

_HERE = "spanhook.instrument.langgraph"
_MAIN = "langgraph.pregel.main"
_LOOP = "langgraph.pregel._loop"
_RETRY = "langgraph.pregel._retry"
_STORE = "langgraph.store.base"
_BATCHED = "langgraph.store.base.batch"


def _point(module: str, name: str, adapter: str, mode: str = "sync", *, choose: str = "", wanted: str = "") -> Point:
    return Point(
        module=module,
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides="." in name,
        wanted=f"{_HERE}.{wanted}" if wanted else "",
    )


def _cache(name: str, hold: str, *, is_async: bool = False) -> Outlet:
    return Outlet(
        module="langgraph.cache.base",
        name=f"BaseCache.{name}",
        wanted="spanhook.instrument.caches:always",
        hold=f"{_HERE}.caching:{hold}",
        is_async=is_async,
        overrides=True,
    )


class LangGraphInstrumentor(Instrumentor):
    """Points of ``langgraph``."""

    library = "langgraph"
    kinds = frozenset(("agent.invoke", "agent.delegate", "workflow.step", "memory.store"))
    control = staticmethod(control)
    isolate = staticmethod(isolate)
    pause = staticmethod(pause)
    table = (
        _point(_MAIN, "Pregel.invoke", "graph:INVOKE"),
        _point(_MAIN, "Pregel.ainvoke", "graph:INVOKE", "async"),
        _point(_MAIN, "Pregel.stream", "graph:GRAPH", "stream", choose="graph:streamed"),
        _point(_MAIN, "Pregel.astream", "graph:GRAPH", "astream", choose="graph:streamed"),
        _point(_RETRY, "run_with_retry", "steps:STEP", wanted="wanted:steps"),
        _point(_RETRY, "arun_with_retry", "steps:STEP", "async", wanted="wanted:steps"),
        _point(_STORE, "BaseStore.put", "store:PUT", choose="store:putting"),
        _point(_STORE, "BaseStore.aput", "store:PUT", "async", choose="store:putting"),
        _point(_STORE, "BaseStore.delete", "store:DELETE", choose="store:deleting"),
        _point(_STORE, "BaseStore.adelete", "store:DELETE", "async", choose="store:deleting"),
        _point(_STORE, "BaseStore.batch", "store:BATCH", choose="store:batching"),
        _point(_STORE, "BaseStore.abatch", "store:BATCH", "async", choose="store:batching"),
        _point(_BATCHED, "AsyncBatchedBaseStore.asearch", "store:SEARCH", "async"),
        Outlet(
            module="langgraph.prebuilt.tool_node",
            name="ToolRuntime.emit_output_delta",
            wanted="spanhook.instrument.langchain_core.wanted:parts",
            hold="spanhook.instrument.langchain_core.callbacks:hold_delta",
            optional=True,
        ),
        _cache("get", "reads"),
        _cache("aget", "reads", is_async=True),
        _cache("set", "hold"),
        _cache("aset", "hold", is_async=True),
        Signal(module=_LOOP, name="PregelLoop._suppress_interrupt", after=f"{_HERE}.graph:loop_left"),
    )
