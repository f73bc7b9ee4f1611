"""Chat models' version 3 events: each goes both to callbacks and into the caller's stream object."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from opentelemetry.trace import SpanKind

from spanhook.instrument.langchain_core.announcing import CHAT_EVENTS
from spanhook.instrument.langchain_core.answers import as_ai_message
from spanhook.instrument.langchain_core.callbacks import keeper_of
from spanhook.instrument.langchain_core.chat import (
    TAKES,
    carries_prompts,
    chat_request,
    chat_rewrite,
    stream_answer,
)
from spanhook.instrument.langchain_core.chat import stream_start as start
from spanhook.instrument.langchain_core.chat_chunks import ChatChunks
from spanhook.instrument.langchain_core.messages import read
from spanhook.instrument.langchain_core.results import result_output, result_response
from spanhook.instrument.layers import LANGCHAIN_CHAT, LANGCHAIN_CHAT_STREAM
from spanhook.model import (
    Adapter,
    Args,
    Deferred,
    Editing,
    Kwargs,
    Nesting,
    Reading,
    Record,
    Streaming,
    current_record,
    first,
)


def event_prompts(_instance: Any, args: Args, kwargs: Kwargs) -> Sequence[Sequence[BaseMessage]]:
    return [first(args, kwargs, "messages")]


class Unseen:
    """Stands in for the caller's stream object while its events are held back."""

    def __init__(self, stream: Any, op: Record) -> None:
        self.stream, self.events, self._op = stream, list[Any](), op
        self._generation_info: dict[str, Any] = {}  # filled by LangChain as chunks arrive

    def __getattr__(self, name: str) -> Any:
        if name == "stream":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self.stream, name)

    def dispatch(self, event: Any) -> None:
        self.events.append(event)

    def out(self) -> Iterator[Callable[[bool], Any]]:
        op, events = self._op, self.events
        self.events = []
        if op.error is not None:
            return
        if op.decided.replaced:
            events = list(_as_events(op.decided.answer, self.stream))
        else:
            self.stream._generation_info.update(self._generation_info)
        for event in events:
            yield lambda _, event=event: self.stream.dispatch(event)


def _as_events(value: Any, stream: Any) -> Iterable[Any]:
    from langchain_core.language_models._compat_bridge import message_to_events

    return message_to_events(as_ai_message(value), message_id=stream.message_id)


def prepare(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Send what hooks must see first to another stream object instead of the caller's."""
    op = current_record()
    manager = kwargs.get("run_manager")
    keeper = None if op is None else keeper_of(op)
    if op is None or keeper is None or not keeper.parts:
        return args, kwargs
    if manager is not None and manager.handlers:
        keeper.add(manager.run_id)
    unseen = Unseen(kwargs["stream"], op)
    op.part(Deferred).outputs = (unseen, *op.deferred.outputs)
    return args, {**kwargs, "stream": unseen}


def answer_events(_instance: Any, _args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    """The events of an answer. If it replaces the call, none of them has been dispatched yet."""
    stream = kwargs["stream"]
    for event in _as_events(value, stream):
        if not isinstance(stream, Unseen):
            stream.dispatch(event)
        yield event


EVENTS = Adapter(
    kind="llm.call",
    layer=LANGCHAIN_CHAT_STREAM,
    span_kind=SpanKind.CLIENT,
    start=start,
    reading=Reading(response=result_response, request=chat_request(event_prompts), message=read, output=result_output),
    editing=Editing(
        rewrite=chat_rewrite(event_prompts, "messages", many=False),
        takes=TAKES,
        answer=stream_answer,
        announce=CHAT_EVENTS,
        prepare=prepare,
    ),
    streaming=Streaming(chunks=ChatChunks, answer_chunks=answer_events, ends="completed"),
    nesting=Nesting(
        role="framework",
        carries=carries_prompts(event_prompts),
        transport_of=frozenset((LANGCHAIN_CHAT,)),  # `generate` reads the events itself if a handler asks for them
    ),
)
