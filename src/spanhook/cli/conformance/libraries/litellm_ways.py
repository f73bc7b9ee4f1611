"""Every way of calling a model through LiteLLM, each reduced to comparable facts."""

import gc
import os
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from spanhook.cli.conformance.libraries.stainless_ways import collected

os.environ.setdefault("DEFAULT_MAX_RETRIES", "0")  # of clients of OpenAI where LiteLLM passes no number on
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise importing it fetches a list of prices
with warnings.catch_warnings():  # about its own code, some of which it only imports when it is used
    warnings.simplefilter("ignore")
    litellm: Any = import_module("litellm")
    _http: Any = import_module("litellm.llms.custom_httpx.http_handler")
    litellm.Router(model_list=[])

litellm.suppress_debug_info = True
litellm.disable_aiohttp_transport = True  # its connections would outlive their event loop

ASK = "Say hello."
MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASK}]
CHAT: dict[str, Any] = {"messages": MESSAGES}
VARYING = frozenset(("id", "created", "created_at", "_response_ms", "completed_at"))
"""Fields that differ from call to call."""


@dataclass(frozen=True)
class At:
    """Where a call goes to: what it is given besides its request."""

    given: dict[str, Any]


def facts(value: Any) -> Any:
    """A result as its type and content, without what varies."""
    if isinstance(value, list):
        return [facts(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        told = cast("dict[str, Any]", value)
        return {name: facts(one) for name, one in told.items() if name not in VARYING}
    if hasattr(value, "model_dump"):
        return type(value).__name__, facts(value.model_dump(mode="json", warnings=False))
    return value


def renew() -> None:
    """Forget the clients that LiteLLM keeps: their connections belong to event loops that have ended."""
    litellm.in_memory_llm_clients_cache.flush_cache()
    if "module_level_aclient" in vars(litellm):
        litellm.module_level_aclient = _http.AsyncHTTPHandler(timeout=60.0)


@contextmanager
def _uncollected() -> Generator[None]:
    """Without garbage collection: LiteLLM leaves streams to it, and one that is closed while httpcore has its lock, in
    the same thread, waits for that lock forever.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _sync(function: str, request: dict[str, Any]) -> Callable[[At], Any]:
    def ask(at: At) -> Any:
        with _uncollected():
            return facts(getattr(litellm, function)(**request, **at.given))

    return ask


def _later(function: str, request: dict[str, Any]) -> Callable[[At], Any]:
    async def ask(at: At) -> Any:
        renew()
        return facts(await getattr(litellm, function)(**request, **at.given))

    return ask


def _stream(function: str, request: dict[str, Any]) -> Callable[[At], Any]:
    def ask(at: At) -> Any:
        with _uncollected():
            return facts(list(getattr(litellm, function)(**request, **at.given, stream=True)))

    return ask


def _later_stream(function: str, request: dict[str, Any]) -> Callable[[At], Any]:
    async def ask(at: At) -> Any:
        renew()
        return facts(await collected(await getattr(litellm, function)(**request, **at.given, stream=True)))

    return ask


def ways_of(function: str, request: dict[str, Any], *, streams: bool = True) -> dict[str, Callable[[At], Any]]:
    """The ways of calling one function and its async version."""
    ways = {"create": _sync(function, request), "async create": _later(f"a{function}", request)}
    if streams:
        ways["stream"] = _stream(function, request)
        ways["async stream"] = _later_stream(f"a{function}", request)
    return ways


def _content(made: Any) -> Any:
    """Sound as its bytes, or any other result."""
    return made.content if hasattr(made, "iter_bytes") else facts(made)


def messages(request: dict[str, Any]) -> dict[str, Callable[[At], Any]]:
    """The ways of calling Anthropic's messages."""

    async def create(at: At) -> Any:
        renew()
        return facts(await litellm.anthropic_messages(**request, **at.given))

    async def stream(at: At) -> Any:
        renew()
        made = await litellm.anthropic_messages(**request, **at.given, stream=True)
        return b"".join(await collected(made)).decode()

    return {"async create": create, "async stream": stream}


def endpoint(function: str, request: dict[str, Any]) -> dict[str, Callable[[At], Any]]:
    """The ways of calling a function for images, sound and the like, named by it."""

    async def later(at: At) -> Any:
        renew()
        return _content(await getattr(litellm, f"a{function}")(**request, **at.given))

    def now(at: At) -> Any:
        with _uncollected():
            return _content(getattr(litellm, function)(**request, **at.given))

    return {
        function: now,
        f"async {function}": later,
    }


def opened(function: str, request: dict[str, Any]) -> dict[str, Callable[[At], Any]]:
    """Its streams, unread."""
    return {
        "stream": lambda at: getattr(litellm, function)(**request, **at.given, stream=True),
        "async stream": lambda at: getattr(litellm, f"a{function}")(**request, **at.given, stream=True),
    }


async def _routed(router: Any) -> Any:
    renew()
    return facts(await router.acompletion("group", MESSAGES))


async def _routed_stream(router: Any) -> Any:
    renew()
    return facts(await collected(await router.acompletion("group", MESSAGES, stream=True)))


ROUTES: dict[str, Callable[[Any], Any]] = {
    "create": lambda router: facts(router.completion("group", MESSAGES)),
    "async create": _routed,
    "stream": lambda router: facts(list(router.completion("group", MESSAGES, stream=True))),
    "async stream": _routed_stream,
}
"""The ways of calling a router."""
