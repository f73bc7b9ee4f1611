"""Callback handlers that record what LangChain sends them besides return values."""

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
    """What one handler received.

    Attributes:
        told: Event, run, first argument and the rest, in that order.
    """

    told: list[tuple[str, Any, Any, dict[str, Any]]] = field(default_factory=list[tuple[str, Any, Any, dict[str, Any]]])

    @property
    def results(self) -> list[Any]:
        """Everything received except start events."""
        return [one for one in self.told if one[0] not in STARTS]

    @property
    def ends(self) -> list[Any]:
        """The results received."""
        return self.of(*ENDS)

    def of(self, *events: str) -> list[Any]:
        """What was received in these events."""
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
        """Events with their arguments."""
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
    """A sync handler, called on another thread where LangChain awaits."""

    def __init__(self) -> None:
        self.heard = Heard()


class AsyncHandler(AsyncCallbackHandler):
    """An async handler."""

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
except ImportError:  # private, and may be removed
    pass
else:

    class TokenHandler(_Untapped, Handler, _StreamingCallbackHandler[Any]):
        """A handler that makes models stream when invoked; it is called in place, like LangGraph's message handler."""

        run_inline = True

    HANDLERS["tokens"] = TokenHandler

try:
    from langchain_core.tracers._streaming import _V2StreamingCallbackHandler
except ImportError:  # not in LangChain 1.0
    pass
else:

    class EventHandler(Handler, _V2StreamingCallbackHandler):
        """A handler that makes models send version 3 events when invoked."""

    HANDLERS["events"] = EventHandler

_listening: ContextVar[Any] = ContextVar("spanhook.cli.conformance.libraries.hearing", default=None)
register_configure_hook(_listening, inheritable=True)


@contextmanager
def listening(sort: str) -> Generator[Heard, None, None]:
    """Attach a handler to everything that is called in the block."""
    handler = HANDLERS[sort]()
    token = _listening.set(handler)
    try:
        yield handler.heard
    finally:
        _listening.reset(token)


_ASYNC = ("ainvoke", "agenerate", "arun", "abatch", "astream", "events", "av3")
_MAIN = ("invoke", "ainvoke", "stream", "astream", "batch", "events", "v3", "av3")


def sorts(subject: str, kind: str, way: str) -> list[str]:
    """The kinds of handler that matter for a way of calling."""
    return [
        sort
        for sort in HANDLERS
        if (sort == "plain" or way in _MAIN)
        and (sort != "async" or way in _ASYNC)
        and (sort not in ("tokens", "events") or kind == "llm.call")
        # for text models, LangChain does not send its own handler the start event if another is called in place
        and (subject, way, sort) != ("text", "events", "tokens")
    ]


def listeners(subject: Subject, way: str) -> Iterator[AbstractContextManager[Heard]]:
    """A handler of each relevant kind."""
    return map(listening, sorts(subject.name, subject.kind, way))
