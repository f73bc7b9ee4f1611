"""Stand-ins for streams in APIs that have none."""

from collections.abc import Iterator
from typing import Any

from spanhook.instrument.stainless._estimate import estimate
from spanhook.instrument.stainless.delivery import Event, Payload
from spanhook.instrument.stainless.options import body_of
from spanhook.model import Args, Attributes, Kwargs, Usage


def no_events(_args: Args, _kwargs: Kwargs, _payload: Payload) -> Iterator[Event]:
    return iter(())


class NoChunks:
    """Stands in for an adder: if the body is cut off, only the request is known."""

    def __init__(self, _instance: Any, args: Args, kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self._args, self._kwargs = args, kwargs

    def add(self, chunk: Any) -> bool:  # noqa: ARG002
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, estimate(body_of(self._args, self._kwargs), 0)

    def result(self) -> Any:
        return None
