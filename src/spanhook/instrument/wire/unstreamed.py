"""Stand-ins for adders of chunks, where there is nothing to add up."""

from collections.abc import Callable
from typing import Any

from spanhook.instrument.wire._estimate import estimate
from spanhook.instrument.wire.reading import Fields
from spanhook.model import Attributes, Usage

Construct = Callable[[dict[str, Any]], Any]
"""Creates what a call returns without streaming, from JSON that may lack fields."""


class NoChunks:
    """For APIs without streams: if a body is cut off, only the request is known.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
    """

    def __init__(self, body: Fields, construct: Construct) -> None:  # noqa: ARG002
        self.keep = self.complete = False
        self._body = body

    def add(self, chunk: Any) -> bool:  # noqa: ARG002
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, estimate(self._body, 0)

    def result(self) -> Any:
        return None


class Passing:
    """For bytes that have nothing to read, such as sound."""

    keep = complete = False

    def add(self, chunk: Any) -> bool:  # noqa: ARG002
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, None

    def result(self) -> Any:
        return None
