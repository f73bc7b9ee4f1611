"""An API as one SDK calls it: what a format says of the JSON that a transport carries, as an adapter."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook.errors import Reject
from spanhook.instrument.surroundings import requests_usage
from spanhook.instrument.wire.beside import put_beside, texts_beside
from spanhook.instrument.wire.describing import described
from spanhook.instrument.wire.format import Format
from spanhook.instrument.wire.opened import HeldChunks, OpenedChunks, OpenedTexts
from spanhook.instrument.wire.refused_options import refusals, refuses_option, remember_refusal
from spanhook.instrument.wire.tool_results import note_results
from spanhook.instrument.wire.transport import Payload, Transport
from spanhook.instrument.wire.unstreamed import Passing
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Body,
    Carried,
    Change,
    Chunks,
    Editing,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Request,
    Streaming,
    Texts,
    Usage,
    exact_text,
    in_order,
)

Told = tuple[Attributes, Usage | None]


def adapted(format: Format, transport: Transport, layer: str) -> Adapter:
    """The adapter of calls of one API.

    Args:
        format: What its JSON means.
        transport: How the SDK carries it.
        layer: The SDK's layer.
    """
    api = _Api(format, transport, frozenset(path.partition(".")[0] for path in format.beside))
    return Adapter(
        kind=format.kind,
        layer=layer,
        span_kind=SpanKind.CLIENT,
        start=api.start,
        watch=api.watch if format.content is not None else None,
        reading=Reading(
            response=api.response,
            source="provider",
            request=api.request,
            message=format.message,
            system_in_messages=format.system_in_messages,
            output=api.output,
            failure=api.failure if format.parses else None,
            fault=None if type(transport).fault is Transport.fault else transport.fault,
        ),
        editing=Editing(
            rewrite=api.rewrite,
            takes=format.takes | {"arguments"} if format.beside else format.takes,
            prepare=api.prepare if format.parses or format.streams else None,
            repeat=None if type(format).not_asking is Format.not_asking else api.repeat,
            answer=api.answer,
            native_error=api.native_error,
        ),
        streaming=Streaming(
            stream_of=transport.stream_of,
            chunks=api.chunks if format.streams else None,
            answer_chunks=api.answer_chunks if format.streams else None,
            texts=api.texts,
            body=api.body,
            opaque=True,
        ),
        named_by=format.named_by,
        nesting=Nesting(carries=api.carries),
    )


@dataclass(frozen=True)
class _Api:
    """One API over one transport."""

    format: Format
    transport: Transport
    holders: frozenset[str]
    """The fields that have texts beside the others, or in which these are."""

    # ------------------------------------------------------------------------------------------ requests

    def start(self, instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
        transport = self.transport
        body = transport.body_of(instance, args, kwargs)
        server = transport.server_of(instance, args, kwargs)
        model = transport.model_of(instance, args, kwargs, body)
        attributes = described(server, model, body, streamed=transport.is_streamed(args, kwargs))
        self.format.describe(attributes, body)
        return attributes

    def watch(self, instance: Any, args: Args, kwargs: Kwargs) -> Hashable:
        """All that the description of a request depends on; ``True`` and ``1`` are equal, but not alike."""
        transport, content = self.transport, self.format.content
        assert content is not None
        body = transport.body_of(instance, args, kwargs)
        told = [(name, value, type(value)) for name, value in body.items() if name not in content]
        server = transport.server_of(instance, args, kwargs)
        model = transport.model_of(instance, args, kwargs, body)
        model = model if type(model) is str else exact_text(model)
        return server, model, transport.is_streamed(args, kwargs), *told

    def request(self, instance: Any, args: Args, kwargs: Kwargs) -> Request:
        body = self.transport.body_of(instance, args, kwargs)
        request = self.format.request(body)
        if not self.holders.isdisjoint(body):
            request.arguments = texts_beside(body, self.format.beside)
        files = [{"type": "upload", "name": name} for name in self.transport.uploads(args, kwargs)]
        if files:
            request.messages = request.messages or [{"role": "user", "parts": []}]
            request.messages[-1]["parts"].extend(files)
        return request

    def carries(self, instance: Any, args: Args, kwargs: Kwargs) -> Carried:
        body = self.transport.body_of(instance, args, kwargs)
        carried = self.format.carries(body)
        if not self.holders.isdisjoint(body) and (beside := texts_beside(body, self.format.beside)):
            carried = [*carried, in_order(beside)]  # so that a framework's call that had none of it does not pass it on
        return carried

    def rewrite(self, instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
        transport = self.transport
        body = dict(transport.body_of(instance, args, kwargs))
        fixed = transport.fixed_model(instance, args, kwargs) if change.model is not None else ""
        if fixed and fixed != change.model:
            raise ValueError(f"the address always calls its deployment {fixed!r}; model= would have no effect")
        self.format.rewrite(body, change)
        if change.arguments is not None:
            put_beside(body, self.format.beside, change.arguments)
        return transport.with_body(instance, args, kwargs, body)

    def prepare(self, instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        """Requests the usage of a stream, if the settings allow it, the transport can, and the application did not."""
        transport = self.transport
        body = transport.body_of(instance, args, kwargs)
        if self.format.turns:
            note_results(self.format, body)
        if not transport.is_streamed(args, kwargs):
            return transport.keeping(args, kwargs) if self.format.parses else (args, kwargs)
        if requests_usage() and transport.may_request_usage(args, kwargs):
            asking = self.format.asking(body)
            known = refusals()
            if asking is not None and (not known or transport.server_of(instance, args, kwargs) not in known):
                return transport.with_body(instance, args, kwargs, asking)
        return args, kwargs

    def repeat(
        self, instance: Any, args: Args, kwargs: Kwargs, error: BaseException
    ) -> tuple[Args, Kwargs, Callable[[], None]] | None:
        """The call without the request for usage, if the server may have refused it for that. If the call succeeds now,
        the server is not asked again: an error may also quote the whole request.
        """
        transport = self.transport
        if not refuses_option(error):
            return None
        body = self.format.not_asking(transport.body_of(instance, args, kwargs))
        if body is None:
            return None
        remember = partial(remember_refusal, transport.server_of(instance, args, kwargs))
        return *transport.with_body(instance, args, kwargs, body), remember

    # ------------------------------------------------------------------------------------------ results

    def response(self, result: Any) -> Told:
        return self.format.response(self.transport.fields_in(result))

    def output(self, result: Any) -> list[Message]:
        return self.format.output(self.transport.fields_in(result))

    def failure(self, _instance: Any, args: Args, kwargs: Kwargs, _error: BaseException) -> Told:
        """What could not be parsed has been used nevertheless; nothing is known if the call failed earlier."""
        given = self.transport.unparsed(args, kwargs)
        return self.response(given) if given is not None else ({}, None)

    def chunks(self, instance: Any, args: Args, kwargs: Kwargs) -> Chunks:
        chunks = self._plain_chunks(instance, args, kwargs)
        opened, held, parsed = self.transport.opened, self.transport.held, self.transport.parsed
        made: Any = chunks
        if held is not None and parsed is not None:
            made = HeldChunks(chunks, held, parsed)
        elif opened is not None:
            made = OpenedChunks(chunks, opened)
        return made

    def _plain_chunks(self, instance: Any, args: Args, kwargs: Kwargs) -> Chunks:
        transport = self.transport
        return self.format.chunks(transport.body_of(instance, args, kwargs), partial(transport.construct, args, kwargs))

    @property
    def texts(self) -> Texts | None:
        texts, transport = self.format.texts(self.transport.chunk_like), self.transport
        if texts is None or transport.opened is None or transport.closed is None:
            return texts
        return OpenedTexts(texts, transport.opened, transport.closed)

    def body(self, instance: Any, args: Args, kwargs: Kwargs, result: Any) -> Body | None:
        """The unread content of a result; ``None`` if the result is the stream itself."""
        transport = self.transport
        content = transport.content(args, kwargs, result)
        if content is None:
            return None
        if self.format.binary:
            chunks: Chunks = Passing()
        else:
            construct = partial(transport.construct, args, kwargs)
            chunks = content.adder(self._plain_chunks(instance, args, kwargs), self.format.response, construct)

        def answer(value: Any) -> Iterable[Any]:
            body = transport.body_of(instance, args, kwargs)
            payload = self._payload(body, value)
            return content.written(payload, self.format.events(body, payload), self.format.last)

        texts = self.format.texts(transport.chunk_like)
        read = None if texts is None else content.texts_of(texts, self.format.last)
        return Body(content.stream, content.put, chunks, answer, read, content.framing, content.whole)

    # ------------------------------------------------------------------------------------------ answers

    def answer(self, instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
        """What the call would have returned."""
        transport = self.transport
        if transport.fits(args, kwargs, value):
            return value
        body = transport.body_of(instance, args, kwargs)
        payload = self._payload(body, value)
        return transport.deliver(instance, args, kwargs, payload, self.format.events(body, payload), self.format.last)

    def answer_chunks(self, instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
        """What the caller's stream would have yielded."""
        body = self.transport.body_of(instance, args, kwargs)
        return self.transport.chunks_for(args, kwargs, self.format.events(body, self._payload(body, value)))

    def native_error(self, instance: Any, args: Args, kwargs: Kwargs, reject: Reject) -> BaseException | None:
        """The SDK's exception, as if the server had refused the call for the same reason."""
        payload = self.format.error(reject.status_code, reject.reason)
        return self.transport.error(instance, args, kwargs, reject.status_code, reject.reason, payload)

    def _payload(self, body: Any, value: Any) -> Payload:
        return self.format.payload(body, self.transport.said_in(value))
