"""LiteLLM: its functions that call a model, whichever provider's, its router, its agents and the tools that it runs."""

from collections.abc import Iterator

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.layers import LITELLM
from spanhook.model import Attempts, Outlet, Point, Signal

_HERE = "spanhook.instrument.litellm"

#: Modules and functions by the name of their adapter; the async version of a function begins with ``a``. Newer versions
#: have a second function of the same name in front, which may pass a call on to code that is not Python.
_FUNCTIONS = (
    ("CHAT", "chat", "completion", "main", "chat_completions.dispatch"),
    ("TEXT", "text", "text_completion", "main"),
    ("EMBEDDINGS", "embeddings", "embedding", "main", "embeddings.dispatch"),
    ("RESPONSES", "responses", "responses", "responses.main", "responses.dispatch"),
    ("IMAGES", "images", "image_generation", "images.main"),
    ("EDITS", "edits", "image_edit", "images.main"),
    ("VARIATIONS", "variations", "image_variation", "images.main"),
    ("SPEECH", "speech", "speech", "main"),
    ("TRANSCRIPTION", "transcription", "transcription", "main"),
    ("MODERATION", "moderation", "moderation", "main"),
    ("RERANK", "rerank", "rerank", "rerank_api.main"),
    ("COMPACT", "compact", "compact_responses", "responses.main"),
)


#: Anthropic's messages, which newer versions have elsewhere.
_MESSAGES = (
    "llms.anthropic.experimental_pass_through.messages.handler",
    "llms.anthropic.messages.native.handler",
    "messages.dispatch",
)


def _points() -> Iterator[Point]:
    for module in _MESSAGES:
        for name, choose, mode in (
            ("anthropic_messages", "amessages", "async"),
            ("anthropic_messages_handler", "messages", "sync"),
        ):
            yield Point(
                module=f"litellm.{module}",
                name=name,
                adapter=f"{_HERE}.apis:MESSAGES",
                choose=f"{_HERE}.apis:{choose}",
                mode=mode,
                optional=True,
            )
    for adapter, choose, function, *modules in _FUNCTIONS:
        for module in modules:
            for prefix, mode in (("", "sync"), ("a", "async")):
                yield Point(
                    module=f"litellm.{module}",
                    name=f"{prefix}{function}",
                    adapter=f"{_HERE}.apis:{adapter}",
                    choose=f"{_HERE}.apis:{prefix}{choose}",
                    mode=mode,
                    optional=module.endswith("dispatch") or function == "compact_responses",
                )


#: What tries again, or something else, when a call has failed: functions that fall back and retry, and the router.
#: Newer versions have what it does elsewhere.
_TRIES = (
    "litellm_core_utils.fallback_utils:async_completion_with_fallbacks",
    "main:completion_with_retries",
    "main:acompletion_with_retries",
    "main:responses_with_retries",
    "main:aresponses_with_retries",
    "router:Router.async_function_with_fallbacks",
    "router:Router.async_function_with_fallbacks_common_utils",
    "router_rust.core:RustCore._run",
    "router_rust.core:RustCore._run_sync",
)


def _attempts() -> Iterator[Attempts]:
    for place in _TRIES:
        module, _, name = place.partition(":")
        yield Attempts(module=f"litellm.{module}", name=name, layer=LITELLM, optional=True)


def _point(place: str, adapter: str, choose: str = "", *, mode: str = "async") -> Point:
    """A function of agents or tools, which older versions lack; ``place`` is ``module:name``."""
    module, _, name = place.partition(":")
    return Point(
        module=f"litellm.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        optional=True,
    )


def _signal(place: str, before: str) -> Signal:
    module, _, name = place.partition(":")
    return Signal(module=f"litellm.{module}", name=name, before=f"{_HERE}.{before}", optional=True)


def _cache(name: str, hold: str, *, is_async: bool = False) -> Outlet:
    return Outlet(
        module="litellm.caching.caching_handler",
        name=f"LLMCachingHandler.{name}",
        wanted="spanhook.instrument.caches:always",
        hold=f"spanhook.instrument.caches:{hold}",
        is_async=is_async,
    )


_AGENTS = (
    _point("harness.runtime:AsyncSession.turn_events", "harness:TURN", "harness:turn_chosen", mode="astream"),
    _point("harness.endpoint:ModelEndpoint._invoke_sdk", "harness:TURN", "harness:served"),
    _signal("harness.runtime:_Turn._start_producer", "harness:turn_begins"),
    _point("tool_loop:run_tool_loop", "loops:LOOP", mode="sync"),
    _point("tool_loop:arun_tool_loop", "loops:LOOP"),
    _signal("tool_loop:run_tool_loop", "loops:loop_begins"),
    _signal("tool_loop:arun_tool_loop", "loops:async_loop_begins"),
    _point("a2a_protocol.main:asend_message", "a2a:ASKED"),
    _point("a2a_protocol.main:asend_message_streaming", "a2a:ASKED", mode="astream"),
)


#: Functions of the application's loops are called by an object of ours, which takes their place.
_CALLS = (
    Point(module=f"{_HERE}.loops", name="Executor.__call__", adapter=f"{_HERE}.loops:CALL"),
    Point(module=f"{_HERE}.loops", name="AsyncExecutor.__call__", adapter=f"{_HERE}.loops:CALL", mode="async"),
)


_TOOLS = (
    *_CALLS,
    _point("harness.handlers.tool_loop_handler:_execute_tool", "tools:FUNCTION"),
    _point("integrations.websearch_interception.handler:WebSearchInterceptionLogger._execute_search", "tools:SEARCH"),
    _point(
        "integrations.code_interpreter_interception.handler:CodeInterpreterInterceptionLogger._run_tool_call",
        "tools:CODE",
    ),
    _point("sandbox.main:arun_code", "tools:SANDBOX"),
    _point("sandbox.main:acode_interpreter_tool", "tools:EPHEMERAL"),
    _point("llms.litellm_proxy.skills.sandbox_executor:SkillsSandboxExecutor.execute", "tools:SKILL", mode="sync"),
)


class LiteLLMInstrumentor(Instrumentor):
    """Points of ``litellm``."""

    library = "litellm"
    kinds = frozenset(("agent.delegate", "agent.invoke", "embeddings.create", "llm.call", "tool.execute"))
    table = (
        *_points(),
        *_attempts(),
        *_AGENTS,
        *_TOOLS,
        _cache("sync_set_cache", "hold"),
        _cache("async_set_cache", "ahold", is_async=True),
        Signal(
            module="litellm.litellm_core_utils.streaming_chunk_builder_utils",
            name="ChunkProcessor.calculate_usage",
            after=f"{_HERE}.local_counts:note_usage",
        ),
        Signal(
            module="litellm.litellm_core_utils.asyncify",
            name="run_async_function",
            before=f"{_HERE}.running:same_context",
        ),
    )
