"""How one SDK carries the JSON of an API: what is read from its calls and results, and put into them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from spanhook.instrument.wire.content import Content, Event, Payload
from spanhook.instrument.wire.reading import Fields, fields_of, is_model, plain
from spanhook.instrument.wire.servers import Server
from spanhook.model import Args, Kwargs


class Transport(ABC):
    """How one SDK carries JSON. It knows nothing of what the JSON means.

    Its functions get a call as the wrapped method received it: ``(instance, args, kwargs)``.

    Attributes:
        opened: Reads the JSON in a chunk of a stream, as a dict; ``None`` if chunks are models or dicts themselves.
        closed: A chunk with other JSON in it, given the original chunk. Needed with ``opened``.
        held: What ``opened`` reads of a chunk, as it is: text that nobody can change, so that it can be read later.
        parsed: Reads the JSON in that text. Needed with ``held``.
    """

    opened: Callable[[Any], Any] | None = None
    held: Callable[[Any], Any] | None = None
    parsed: Callable[[Any], Any] | None = None
    closed: Callable[[Any, Any], Any] | None = None

    # ------------------------------------------------------------------------------------------ calls

    @abstractmethod
    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:
        """The JSON that will be sent; empty if it is not an object."""

    @abstractmethod
    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:
        """The call with other JSON."""

    @abstractmethod
    def server_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Server:
        """The provider, and the server that gets the request."""

    @abstractmethod
    def is_streamed(self, args: Args, kwargs: Kwargs) -> bool:
        """Whether the caller gets a stream."""

    def may_request_usage(self, args: Args, kwargs: Kwargs) -> bool:  # noqa: ARG002
        """Whether a stream's usage can be requested, and hidden from a caller who did not request it."""
        return True

    def model_of(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> Any:  # noqa: ARG002
        """The requested model, which may be named elsewhere than in the JSON."""
        return body.get("model")

    def fixed_model(self, instance: Any, args: Args, kwargs: Kwargs) -> str:  # noqa: ARG002
        """The model, or deployment, that the address names, whatever the JSON says; empty if it names none."""
        return ""

    def uploads(self, args: Args, kwargs: Kwargs) -> Iterable[str]:  # noqa: ARG002
        """The form fields that hold files."""
        return ()

    def keeping(self, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        """The call, made to keep an answer that the SDK then fails to parse."""
        return args, kwargs

    def unparsed(self, args: Args, kwargs: Kwargs) -> Any:  # noqa: ARG002
        """The answer that the SDK failed to parse, if ``keeping`` kept it."""
        return None

    # ------------------------------------------------------------------------------------------ results

    def fields_in(self, result: Any) -> Fields:
        """The fields of a result, or of what ``construct`` made; empty if there is nothing to read yet."""
        return fields_of(result)

    def fault(self, result: Any) -> str:  # noqa: ARG002
        """Why a result that was returned is an error, as an ``error.type``, such as an HTTP status; empty if it is
        none.
        """
        return ""

    def stream_of(self, result: Any) -> str:  # noqa: ARG002
        """``"sync"`` or ``"async"`` if a result is a stream, or will be read later; else empty."""
        return ""

    def content(self, args: Args, kwargs: Kwargs, result: Any) -> Content | None:  # noqa: ARG002
        """What a result holds that will be read later; ``None`` if the result is the stream itself."""
        return None

    # ------------------------------------------------------------------------------------------ answers

    def fits(self, args: Args, kwargs: Kwargs, value: Any) -> bool:  # noqa: ARG002
        """Whether a hook's answer is what the call would return, and needs no conversion."""
        return False

    def said_in(self, value: Any) -> Any:
        """A hook's answer as text or JSON, if it is a model or another object of the SDK's."""
        return plain(value) if is_model(value) else value

    @abstractmethod
    def deliver(
        self, instance: Any, args: Args, kwargs: Kwargs, payload: Payload, events: Iterable[Event], last: str
    ) -> Any:
        """What the call would have returned for an answer that no server gave.

        Args:
            instance, args, kwargs: The call.
            payload: The answer without streaming.
            events: The answer as a stream.
            last: The data of the event that ends a stream; empty if there is none.
        """

    def chunks_for(self, args: Args, kwargs: Kwargs, events: Iterable[Event]) -> Iterable[Any]:  # noqa: ARG002
        """Events in the type that the caller's stream yields."""
        return (data for _, data in events)

    def error(
        self,
        instance: Any,  # noqa: ARG002
        args: Args,  # noqa: ARG002
        kwargs: Kwargs,  # noqa: ARG002
        status: int,  # noqa: ARG002
        reason: str,  # noqa: ARG002
        payload: Payload,  # noqa: ARG002
    ) -> BaseException | None:
        """The SDK's exception for a call that a server refuses; ``None`` if it has none.

        Args:
            instance, args, kwargs: The call.
            status: The HTTP status.
            reason: The message of the exception.
            payload: What the server would send.
        """
        return None

    def construct(self, args: Args, kwargs: Kwargs, value: Payload) -> Any:  # noqa: ARG002
        """JSON in the type that the call returns without streaming, whether it is complete or not."""
        return value

    def chunk_like(self, chunk: Any, value: Payload) -> Any:  # noqa: ARG002
        """JSON in the type that a stream yields to which ``chunk`` belongs."""
        return value
