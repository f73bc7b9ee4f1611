"""The chunks of a model's stream, and the steps of an agent's."""

from collections.abc import Mapping
from typing import Any

from smolagents.memory import FinalAnswerStep
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    agglomerate_stream_deltas,
)
from smolagents.monitoring import TokenUsage

from spanhook.instrument.wire import encoded
from spanhook.model import (
    Args,
    Attributes,
    Kwargs,
    Leaf,
    PlainTexts,
    Route,
    Usage,
    copied,
    copied_dataclass,
    copies,
    leaves,
    with_texts,
)

copies(ChatMessageStreamDelta, ChatMessageToolCallStreamDelta, ChatMessageToolCallFunction)(copied_dataclass)


def usage_in(said: Any) -> Usage | None:
    """The usage in a message or a chunk, if it reports any: a total without details such as cached input."""
    told: Any = getattr(said, "token_usage", None)
    if not isinstance(told, TokenUsage):
        return None
    tokens: Any = told
    used = Usage()
    used.input_tokens = used.count(tokens.input_tokens, "input_tokens")
    used.output_tokens = used.count(tokens.output_tokens, "output_tokens")
    return used


class ModelChunks:
    """Adds up usage, as the library does; keeps the chunks themselves only if ``keep``."""

    complete = False

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = False
        self._used: Usage | None = None
        self._chunks: list[Any] = []

    def add(self, chunk: Any) -> bool:
        used = usage_in(chunk)
        if used is not None:
            self._used = self._used or Usage()
            self._used.add(used)
        if self.keep:
            self._chunks.append(copied(chunk))  # its consumer may edit it
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, self._used

    def result(self) -> ChatMessage:
        return agglomerate_stream_deltas([one for one in self._chunks if isinstance(one, ChatMessageStreamDelta)])


class Steps:
    """What an agent's stream yields; the result is in its last step."""

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self._result: Any = None

    def add(self, chunk: Any) -> bool:
        if isinstance(chunk, FinalAnswerStep):
            self._result, self.complete = chunk.output, True
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, None

    def result(self) -> Any:
        return self._result


class DeltaTexts(PlainTexts):
    """The texts of a model's chunks."""

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        changes: dict[Route, Any] = {one.route: "" for one in leaves(chunk) if one.route != leaf.route}
        changes["token_usage",] = None  # counted with the chunk itself
        return with_texts(chunk, {**changes, leaf.route: text})

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return with_texts(chunk, texts)


TEXTS = DeltaTexts()


def deltas_of(message: ChatMessage) -> list[ChatMessageStreamDelta]:
    """A message as the chunks of a stream."""
    calls = [
        ChatMessageToolCallStreamDelta(
            index=index,
            id=call.id,
            type="function",
            function=ChatMessageToolCallFunction(
                name=call.function.name, arguments=encoded(call.function.arguments or {})
            ),
        )
        for index, call in enumerate(message.tool_calls or ())
    ]
    content = message.content if isinstance(message.content, str) else None
    return [
        ChatMessageStreamDelta(content=content, tool_calls=calls or None),
        ChatMessageStreamDelta(content="", token_usage=message.token_usage),
    ]
