"""How aiobotocore carries JSON: as botocore does, but for streams and bodies, which are read with ``await``."""

from collections.abc import Iterable
from typing import Any

from aiobotocore import response
from aiobotocore.eventstream import AioEventStream

from spanhook.instrument.aiobotocore.streams import (
    AsyncEvents,
    AsyncPieces,
    AsyncReader,
    Given,
    HeldEvents,
    in_memory,
)
from spanhook.instrument.botocore.calls import chooser
from spanhook.instrument.botocore.content import Events, ModelBody, Parts
from spanhook.instrument.botocore.transport import BotocoreTransport, InvokedTransport
from spanhook.instrument.formats.bedrock import AnyBody
from spanhook.instrument.layers import AIOBOTOCORE
from spanhook.instrument.wire import Content, Fields, Payload, adapted, fields_of
from spanhook.model import Args, Kwargs

_BODIES: Any = (response.StreamingBody, getattr(response, "HttpxStreamingBody", response.StreamingBody))


class _Events(Events):
    def __init__(self, result: dict[str, Any], name: str) -> None:
        super().__init__(result, name)
        self.stream = AsyncEvents(result[name])

    def put(self, stream: Any) -> None:
        self._result[self._name] = HeldEvents(self._result[self._name], stream)


class _Parts(_Events, Parts):
    """The events of an invoked model."""


class _ModelBody(ModelBody):
    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result
        self.stream = AsyncPieces(result["body"])

    def put(self, stream: Any) -> None:
        body = self._result["body"]
        raw = getattr(body, "_raw_stream", None) or body.__wrapped__  # version 2 has proxies of responses
        self._result["body"] = type(body)(AsyncReader(stream, self.stream, raw), None)


class _Transport(BotocoreTransport):
    def stream_of(self, result: Any) -> str:
        return "async" if isinstance(fields_of(result).get("stream"), AioEventStream) else ""

    def content(self, args: Args, kwargs: Kwargs, result: Any) -> Content | None:  # noqa: ARG002
        return _Events(result, "stream")

    @staticmethod
    def given(events: Iterable[Any]) -> Any:
        return Given(events)


class _Invoked(InvokedTransport):
    def fields_in(self, result: Any) -> Fields:
        told = fields_of(result)
        body = told.get("body")
        raw = getattr(body, "_raw_stream", body)
        return fields_of(getattr(raw, "told", None)) if "ResponseMetadata" in told else told

    def stream_of(self, result: Any) -> str:
        body = fields_of(result).get("body")
        is_given = getattr(getattr(body, "_raw_stream", None), "told", None) is not None  # a hook's, which is known
        return "async" if isinstance(body, (AioEventStream, *_BODIES)) and not is_given else ""

    def content(self, args: Args, kwargs: Kwargs, result: Any) -> Content | None:
        return _Parts(result, "body") if self.is_streamed(args, kwargs) else _ModelBody(result)

    @staticmethod
    def given(events: Iterable[Any]) -> Any:
        return Given(events)

    @staticmethod
    def given_body(content: bytes, told: Payload) -> Any:
        return response.StreamingBody(in_memory(content, told), len(content))  # pyright: ignore[reportArgumentType]


_INVOKED = _Invoked()
UNKNOWN = adapted(AnyBody(), _INVOKED, AIOBOTOCORE)
choose = chooser(AIOBOTOCORE, _Transport(), _INVOKED)
