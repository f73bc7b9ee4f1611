"""LangChain: chat models, text models, tools, retrievers and embeddings.

Points wrap the base-class methods that ``invoke``, ``batch`` and events all end in, and every ``invoke`` of a class
from another package. Methods that LangChain compares by identity (``_stream``, ``_astream``, ``_arun``, ``bind_tools``)
are left alone; overrides of the first two are wrapped while hooks want to see text before callbacks get it.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.langchain_core.control import control
from spanhook.instrument.langchain_core.isolation import isolate
from spanhook.model import InnerStream, Outlet, Point, Receiver

_HERE = "spanhook.instrument.langchain_core"
_CHAT = "langchain_core.language_models.chat_models"
_TEXT = "langchain_core.language_models.llms"
_TOOLS = "langchain_core.tools.base"
_RETRIEVERS = "langchain_core.retrievers"
_CALLBACKS = "langchain_core.callbacks.manager"
_EMBEDDINGS = "langchain_core.embeddings.embeddings"


def _own(module: str, name: str, adapter: str, mode: str = "sync") -> Point:
    """The method in classes that override it; LangChain's own implementations end in other points."""
    return Point(
        module=module,
        name=name,
        adapter=f"{_HERE}.invoked:{adapter}",
        mode=mode,
        overrides=True,
        outside=("langchain_core",),
    )


def _point(module: str, name: str, adapter: str, mode: str = "sync", *, optional: bool = False) -> Point:
    return Point(module=module, name=name, adapter=f"{_HERE}.{adapter}", mode=mode, overrides=True, optional=optional)


def _inner(module: str, name: str) -> InnerStream:
    return InnerStream(
        module=module,
        name=name,
        outside=("langchain_core",),
        wanted=f"{_HERE}.wanted:windows",
        texts=f"{_HERE}.texts:GENERATION_TEXTS",
        sends="run_manager",
        place=2,
    )


def _cache(name: str, hold: str, *, is_async: bool = False) -> Outlet:
    return Outlet(
        module="langchain_core.caches",
        name=name,
        wanted="spanhook.instrument.caches:always",
        hold=f"spanhook.instrument.caches:{hold}",
        is_async=is_async,
        overrides=True,
    )


def _body(name: str) -> Receiver:
    """Where a tool's body receives what the tool's schema has made of the arguments."""
    return Receiver(
        module=_TOOLS,
        name=name,
        receipt=f"{_HERE}.tool_bodies:TOOL_BODY",
        wanted="spanhook.instrument.receivers:tools",
        overrides=True,
    )


class LangChainInstrumentor(Instrumentor):
    """Points of ``langchain-core``, on which LangChain and its integrations are built."""

    library = "langchain_core"
    kinds = frozenset(("llm.call", "tool.execute", "retrieval.query", "embeddings.create", "agent.delegate"))
    control = staticmethod(control)
    isolate = staticmethod(isolate)
    table = (
        _point(_CHAT, "BaseChatModel.generate", "chat:GENERATE"),
        _point(_CHAT, "BaseChatModel.agenerate", "chat:GENERATE", "async"),
        _point(_CHAT, "BaseChatModel.stream", "chat:STREAM", "stream"),
        _point(_CHAT, "BaseChatModel.astream", "chat:STREAM", "astream"),
        _point(_CHAT, "BaseChatModel._iter_v2_events", "events:EVENTS", "stream", optional=True),
        _point(_CHAT, "BaseChatModel._aiter_v2_events", "events:EVENTS", "astream", optional=True),
        _point(_TEXT, "BaseLLM.generate", "text:GENERATE"),
        _point(_TEXT, "BaseLLM.agenerate", "text:GENERATE", "async"),
        _point(_TEXT, "BaseLLM.stream", "text:STREAM", "stream"),
        _point(_TEXT, "BaseLLM.astream", "text:STREAM", "astream"),
        _point(_TOOLS, "BaseTool.run", "tools:TOOL"),
        _point(_TOOLS, "BaseTool.arun", "tools:TOOL", "async"),
        _point(_RETRIEVERS, "BaseRetriever.invoke", "retrieval:RETRIEVAL"),
        _point(_RETRIEVERS, "BaseRetriever.ainvoke", "retrieval:RETRIEVAL", "async"),
        _point(_EMBEDDINGS, "Embeddings.embed_documents", "retrieval:DOCUMENTS"),
        _point(_EMBEDDINGS, "Embeddings.embed_query", "retrieval:QUERY"),
        _point(_EMBEDDINGS, "Embeddings.aembed_documents", "retrieval:DOCUMENTS", "async"),
        _point(_EMBEDDINGS, "Embeddings.aembed_query", "retrieval:QUERY", "async"),
        _own(_CHAT, "BaseChatModel.invoke", "CHAT"),
        _own(_CHAT, "BaseChatModel.ainvoke", "CHAT", "async"),
        _own(_TEXT, "BaseLLM.invoke", "TEXT"),
        _own(_TEXT, "BaseLLM.ainvoke", "TEXT", "async"),
        _own(_TOOLS, "BaseTool.invoke", "TOOL"),
        _own(_TOOLS, "BaseTool.ainvoke", "TOOL", "async"),
        _body("BaseTool._run"),
        _body("BaseTool._arun"),
        _inner(_CHAT, "BaseChatModel._stream"),
        _inner(_CHAT, "BaseChatModel._astream"),
        _inner(_TEXT, "BaseLLM._stream"),
        _inner(_TEXT, "BaseLLM._astream"),
        _cache("BaseCache.update", "hold"),
        _cache("BaseCache.aupdate", "ahold", is_async=True),
        Outlet(
            module=_CALLBACKS,
            name="handle_event",
            wanted=f"{_HERE}.wanted:ends",
            hold=f"{_HERE}.callbacks:hold",
            around=f"{_HERE}.wanted:called_back",
        ),
        Outlet(
            module=_CALLBACKS,
            name="ahandle_event",
            wanted=f"{_HERE}.wanted:ends",
            hold=f"{_HERE}.callbacks:ahold",
            around=f"{_HERE}.wanted:acalled_back",
            is_async=True,
        ),
    )
