"""Handlers that keep what they are told: what LangChain tells beside what it returns."""

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from spanhook.cli.conformance.subject import Subject

STARTS = ("on_chat_model_start", "on_llm_start", "on_tool_start", "on_retriever_start")
TOKENS = ("on_llm_new_token", "on_stream_event")
ENDS = ("on_llm_end", "on_tool_end", "on_retriever_end")
ERRORS = ("on_llm_error", "on_tool_error", "on_retriever_error")


@dataclass
class Heard:
    """What one handler was told.

    Attributes:
        told: Event, run, what it was told with first, and the rest; in that order.
    """

    told: list[tuple[str, Any, Any, dict[str, Any]]] = field(default_factory=list[tuple[str, Any, Any, dict[str, Any]]])

    @property
    def results(self) -> list[Any]:
        """All that was told but starts."""
        return [one for one in self.told if one[0] not in STARTS]

    @property
    def ends(self) -> list[Any]:
        """The results that were told."""
        return self.of(*ENDS)

    def of(self, *events: str) -> list[Any]:
        """What was told in these events."""
        return [given for event, _, given, _ in self.told if event in events]

    @property
    def runs(self) -> dict[Any, list[str]]:
        """The events of each run, tokens only once."""
        found: dict[Any, list[str]] = {}
        for event, run, _, _ in self.told:
            events = found.setdefault(run, [])
            if event not in TOKENS or event not in events:
                events.append(event)
        return found

    @property
    def sequence(self) -> list[tuple[str, Any, Any]]:
        """Events with what they told."""
        return [(event, given, more.get("response")) for event, _, given, more in self.told]


def _telling(event: str) -> Any:
    def tell(self: Any, *args: Any, **kwargs: Any) -> None:
        given = args[0] if args else kwargs.pop("token", None)
        self.heard.told.append((event, kwargs.pop("run_id"), given, kwargs))

    async def atell(self: Any, *args: Any, **kwargs: Any) -> None:
        await asyncio.sleep(0)
        tell(self, *args, **kwargs)

    return tell, atell


class Handler(BaseCallbackHandler):
    """One that is called, on another thread where LangChain awaits."""

    def __init__(self) -> None:
        self.heard = Heard()


class AsyncHandler(AsyncCallbackHandler):
    """One that is awaited."""

    def __init__(self) -> None:
        self.heard = Heard()


for _event in (*STARTS, *TOKENS, *ENDS, *ERRORS):
    _sync, _async = _telling(_event)
    setattr(Handler, _event, _sync)
    setattr(AsyncHandler, _event, _async)


class _Untapped:
    def tap_output_iter(self, run_id: Any, output: Iterator[Any]) -> Iterator[Any]:
        return output

    tap_output_aiter: Any = tap_output_iter


HANDLERS: dict[str, Callable[[], Any]] = {"plain": Handler, "async": AsyncHandler}

try:
    from langchain_core.tracers._streaming import _StreamingCallbackHandler
except ImportError:  # private, and may go
    pass
else:

    class TokenHandler(_Untapped, Handler, _StreamingCallbackHandler[Any]):
        """One for which models stream when they are invoked; it is called in place, as LangGraph's for messages is."""

        run_inline = True

    HANDLERS["tokens"] = TokenHandler

try:
    from langchain_core.tracers._streaming import _V2StreamingCallbackHandler
except ImportError:  # not in LangChain 1.0
    pass
else:

    class EventHandler(Handler, _V2StreamingCallbackHandler):
        """One for which models tell events of the third version when they are invoked."""

    HANDLERS["events"] = EventHandler

_listening: ContextVar[Any] = ContextVar("spanhook.cli.conformance.hearing", default=None)
register_configure_hook(_listening, inheritable=True)


@contextmanager
def listening(sort: str) -> Generator[Heard, None, None]:
    """Have a handler told of everything that is called in the block."""
    handler = HANDLERS[sort]()
    token = _listening.set(handler)
    try:
        yield handler.heard
    finally:
        _listening.reset(token)


_ASYNC = ("ainvoke", "agenerate", "arun", "abatch", "astream", "events", "av3")
_MAIN = ("invoke", "ainvoke", "stream", "astream", "batch", "events", "v3", "av3")


def sorts(subject: str, kind: str, way: str) -> list[str]:
    """The handlers that make a difference when something is called so."""
    return [
        sort
        for sort in HANDLERS
        if (sort == "plain" or way in _MAIN)
        and (sort != "async" or way in _ASYNC)
        and (sort not in ("tokens", "events") or kind == "llm.call")
        # for text models, LangChain does not tell its own handler of the start where another is called in place
        and (subject, way, sort) != ("text", "events", "tokens")
    ]


def listeners(subject: Subject, way: str) -> Iterator[AbstractContextManager[Heard]]:
    """A handler of each of these sorts."""
    return map(listening, sorts(subject.name, subject.kind, way))
