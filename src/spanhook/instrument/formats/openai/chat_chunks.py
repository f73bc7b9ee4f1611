"""Adds up the chunks of a chat completion's stream."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spanhook.instrument.formats.openai.deltas import Deltas
from spanhook.instrument.wire import Construct, Fields, fields_of, index_of, plain, text_of


class ChatChunks(Deltas):
    """Counts the characters of content, reasoning and tool calls; keeps the messages only if ``keep``."""

    __slots__ = ("_known", "_messages", "_pieces")

    def __init__(self, body: Fields, construct: Construct, *, itself: bool) -> None:
        super().__init__(body, construct, itself=itself)
        self._messages: dict[int, Growing] = {}
        self._known = False
        self._pieces: list[str] = []

    def add(self, chunk: Any) -> bool:
        brief = self.brief
        if brief is not None and brief(chunk):
            return True
        shown = super().add(chunk)
        if not self._known:
            self._know(type(chunk))
        return shown

    def _know(self, kind: type) -> None:
        """Note that chunks can be read in short, once a choice has begun."""
        if self._head.get("id") and getattr(kind, "model_fields", {}).keys() >= _FIELDS:
            message = self._messages.get(0)
            if message is not None:
                self._known, self._pieces = True, message.pieces
            elif not self.keep:
                self._known = True

    @property
    def brief(self) -> Callable[[Any], bool] | None:
        """Reads a chunk that has nothing but a piece of one choice's text, as most have; false for any other."""
        if not self._known:
            return None
        return self._keeps if self.keep else self._counts

    # What a model holds need not be of the type that its class declares: a server may send anything.

    def _counts(self, chunk: Any) -> bool:
        """``brief`` without ``keep``."""
        try:
            fields = chunk.__dict__
            if fields["usage"] is None:
                (choice,) = fields["choices"]
                fields = choice.__dict__
                if fields["finish_reason"] is None:
                    delta = fields["delta"]
                    fields = delta.__dict__
                    content = fields["content"]
                    # text alone can be compared with text
                    if content >= "" and fields["tool_calls"] is None and not delta.__pydantic_extra__:
                        self.characters += len(content)
                        return True
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
        return False

    def _keeps(self, chunk: Any) -> bool:
        """``brief`` with ``keep``."""
        try:
            fields = chunk.__dict__
            if fields["usage"] is None:
                (choice,) = fields["choices"]
                fields = choice.__dict__
                if fields["finish_reason"] is None and fields["index"] == 0:
                    delta = fields["delta"]
                    if delta.__pydantic_fields_set__ <= _ONLY_TEXT and not delta.__pydantic_extra__:
                        content = delta.__dict__["content"]
                        if type(content) is str:
                            self._pieces.append(content)
                            return True
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
        return False

    def said(self) -> int:
        return self.characters + sum(len(piece) for message in self._messages.values() for piece in message.pieces)

    def arrived(self) -> int:
        return self.characters + sum(len(message.pieces) for message in self._messages.values())

    def hear(self, index: int, said: Fields) -> None:
        delta = said.get("delta")
        if delta is None:
            return
        told = fields_of(delta)
        content = told.get("content")
        if content and not self.keep:
            self.characters += len(content)
        calls = told.get("tool_calls")
        if calls:
            for call in calls:
                function = fields_of(fields_of(call).get("function"))
                self.characters += len(function.get("name") or "") + len(function.get("arguments") or "")
        more = told if type(delta) is dict else getattr(delta, "__pydantic_extra__", None)
        thought = told.get("reasoning")  # from compatible providers
        if more and not thought:
            thought = more.get("reasoning_content") or more.get("reasoning")
        if isinstance(thought, str):
            self.characters += len(thought)
        if self.keep:
            message = self._messages.get(index)
            if message is None:
                message = self._messages[index] = Growing()
            message.add(told, more or {})

    def result(self) -> Any:
        choices = [
            {"index": index, "message": message.whole(), "finish_reason": self.reasons.get(index), "logprobs": None}
            for index, message in sorted(self._messages.items())
        ]
        return self.construct({**self.whole(), "object": "chat.completion", "choices": choices})


class Growing:
    """One message, as far as it has arrived."""

    __slots__ = ("_calls", "_fields", "_items", "_sound", "_text")

    def __init__(self) -> None:
        self._sound: list[Fields] = []
        self._text: dict[str, list[str]] = {"content": []}
        self._fields: dict[str, Any] = {"role": "assistant"}
        self._calls: dict[int, dict[str, Any]] = {}
        self._items: dict[str, dict[int, dict[str, Any]]] = {}

    def add(self, delta: Fields, more: Mapping[str, Any]) -> None:
        for name, value in {**delta, **more}.items():
            if value is None or name == "role":
                continue
            if name == "tool_calls":
                for call in value:
                    self._call(fields_of(call))
            elif name == "audio":
                self._sound.append(fields_of(value))
            elif isinstance(value, str):
                self._text.setdefault(name, []).append(value)
            elif isinstance(value, list) and all("index" in fields_of(one) for one in value):
                items = self._items.setdefault(name, {})
                for one in value:
                    items.setdefault(index_of(fields_of(one)), {}).update(plain(one))
            else:
                self._fields[name] = value

    def _call(self, delta: Fields) -> None:
        call = self._calls.setdefault(index_of(delta), {"type": "function", "function": {"arguments": ""}})
        if delta.get("id"):
            call["id"] = delta["id"]
        function = fields_of(delta.get("function"))
        if function.get("name"):
            call["function"]["name"] = function["name"]
        call["function"]["arguments"] += function.get("arguments") or ""

    @property
    def pieces(self) -> list[str]:
        """The pieces of its text, which may be added to."""
        return self._text["content"]

    def whole(self) -> dict[str, Any]:
        """The message on the wire."""
        text = {name: "".join(pieces) for name, pieces in self._text.items()}
        items = {name: [one for _, one in sorted(found.items())] for name, found in self._items.items()}
        made = {**self._fields, **items, **text, "content": text["content"] or None}
        if self._calls:
            made["tool_calls"] = [call for _, call in sorted(self._calls.items())]
        if self._sound:
            made["audio"] = _joined(self._sound)
        return made


_ONLY_TEXT = frozenset(("content", "role"))
_FIELDS = frozenset(("choices", "usage"))


def _joined(sound: Sequence[Fields]) -> dict[str, Any]:
    """The audio from its pieces, each of which is encoded separately."""
    whole = {name: value for piece in sound for name, value in piece.items()}
    pieces = [text_of(piece.get("data")) for piece in sound]
    try:
        whole["data"] = b64encode(b"".join(map(b64decode, pieces))).decode()
    except ValueError:
        whole["data"] = "".join(pieces)
    whole["transcript"] = "".join(text_of(piece.get("transcript")) for piece in sound)
    return whole
