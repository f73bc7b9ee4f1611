"""The chunks of a model's stream. Each of them is the whole response so far, and what it adds to that."""

from typing import Any

from spanhook.instrument.llama_index.responses import model_response
from spanhook.model import Args, Attributes, Kwargs, Usage


class ModelChunks:
    """Keeps the last chunk, which is the response, and the usage that any of them reports."""

    complete = False

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = False
        self._last: Any = None
        self._attributes: Attributes = {}
        self._used: Usage | None = None

    def add(self, chunk: Any) -> bool:
        attributes, used = model_response(chunk)
        self._last = chunk
        self._attributes = attributes or self._attributes
        self._used = used or self._used
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return self._attributes, self._used

    def result(self) -> Any:
        return self._last
