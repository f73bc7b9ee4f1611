"""LiteLLM: its functions that call a model, whichever provider's, and its router."""

from collections.abc import Iterator

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.layers import LITELLM
from spanhook.model import Attempts, Point, Signal

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


class LiteLLMInstrumentor(Instrumentor):
    """Points of ``litellm``."""

    library = "litellm"
    kinds = frozenset(("llm.call", "embeddings.create"))
    table = (
        *_points(),
        *_attempts(),
        Signal(
            module="litellm.litellm_core_utils.asyncify",
            name="run_async_function",
            before=f"{_HERE}.running:same_context",
        ),
    )
