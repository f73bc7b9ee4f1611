"""A call's request and result in common terms, and the changes that a hook wants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from spanhook.errors import HookError
from spanhook.model.copying import copied
from spanhook.model.encoding import exact_text

_HTTP = {"method", "path", "headers"}
"""What the input of every HTTP request has."""
Message = dict[str, Any]
"""One message as the conventions write it: ``{"role": ..., "parts": [{"type": "text", "content": ...}, ...]}``."""


class Request:
    """A call's request in library-independent terms.

    Attributes:
        messages: Chat messages in the conventions' role/parts form; for a batch, the messages of all prompts in order.
        system: System instructions given apart from the messages.
        tools: Names of the tools offered to the model.
        arguments: A tool's arguments by name; of a model's call the texts beside its messages and instructions, such as
            the variables of a stored prompt, by the provider's names.
        model: The requested model.
    """

    __slots__ = ("_inputs", "_lent", "_tool_definitions", "arguments", "messages", "model", "system", "tools")

    def __init__(
        self,
        messages: list[Message] | None = None,
        system: str = "",
        tools: list[str] | None = None,
        arguments: dict[str, Any] | None = None,
        inputs: Any = None,
        model: str = "",
        tool_definitions: Any = (),
    ) -> None:
        self.messages = messages if messages is not None else []
        self.system = system
        self.tools = [exact_text(one) for one in tools] if tools else []
        self.arguments = arguments if arguments is not None else {}
        self.model = model if type(model) is str else exact_text(model)
        self._inputs, self._tool_definitions = inputs, tool_definitions
        self._lent = {"inputs", "tool_definitions"}

    @property
    def inputs(self) -> Any:
        """The input of an agent, step, retriever, embedding or store call, in the library's form."""
        return self._own("inputs", "_inputs")

    @inputs.setter
    def inputs(self, value: Any) -> None:
        self._inputs = value
        self._lent.discard("inputs")

    @property
    def lent_inputs(self) -> Any:
        """``inputs`` for a reader that does not change them: no copy is made."""
        return self._inputs

    @property
    def tool_definitions(self) -> list[Any]:
        """The tools offered to the model, with description and parameters, in the library's form."""
        return list(self._own("tool_definitions", "_tool_definitions"))

    @property
    def lent_tool_definitions(self) -> Any:
        """``tool_definitions`` for a reader that does not change them: no copy is made."""
        return self._tool_definitions

    @property
    def method(self) -> str:
        """The method of an HTTP request; empty for other operations."""
        return self._of_http("method", "")

    @property
    def path(self) -> str:
        """The path of an HTTP request, as the client sent it."""
        return self._of_http("path", "")

    @property
    def headers(self) -> dict[str, str]:
        """The headers of an HTTP request, by their names in lower case."""
        return self._of_http("headers", {})

    @property
    def body(self) -> bytes:
        """The body of an HTTP request.

        Raises:
            HookError: It was not read, because no hook has asked for that with ``body=True``.
        """
        body: bytes | None = self._of_http("body", None)
        if body is None:
            raise HookError("op.request.body was not read; a hook that needs it is registered with body=True")
        return body

    def _of_http(self, name: str, default: Any) -> Any:
        inputs = self.inputs
        if not isinstance(inputs, Mapping) or not inputs.keys() >= _HTTP:
            return default
        return cast("Mapping[str, Any]", inputs).get(name, default)

    def _own(self, name: str, slot: str) -> Any:
        """The library's value is copied on first access, because most hooks never read it."""
        if name in self._lent:
            setattr(self, slot, copied(getattr(self, slot)))
            self._lent.discard(name)
        return getattr(self, slot)

    def own(self) -> "Request":
        """The same request with copies of what adapters took from the call, for a reader that may change it in
        place.
        """
        self.messages = copied(self.messages)
        self.arguments = copied(self.arguments)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and self._key() == other._key()

    def _key(self) -> tuple[Any, ...]:
        return self.messages, self.system, self.tools, self.arguments, self._inputs, self.model, self._tool_definitions

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        names = ("messages", "system", "tools", "arguments", "inputs", "model")
        said = ((name, getattr(self, name)) for name in names)
        return f"Request({', '.join(f'{name}={value!r}' for name, value in said if value)})"


_TEXTS = {"text": "content", "tool_call_response": "response"}


@dataclass(frozen=True, slots=True)
class Response:
    """A result in library-independent terms.

    Attributes:
        messages: Output messages in role/parts form, one per choice.
        finish_reasons: Why the model stopped, one per choice.
        value: What a tool returned before the framework turned it into a message; ``None`` if unknown.
    """

    messages: Sequence[Message]
    finish_reasons: tuple[str, ...] = ()
    value: Any = None

    @property
    def text(self) -> str:
        """The text of all messages joined: what a model said or a tool returned."""
        return "".join(
            str(part.get(_TEXTS[part["type"]], ""))
            for message in self.messages
            for part in message.get("parts", ())
            if part.get("type") in _TEXTS
        )


@dataclass(frozen=True, slots=True)
class Change:
    """The changes that a hook asked for; ``None`` leaves a part as it is."""

    messages: Sequence[Message] | Sequence[Sequence[Message]] | None = None
    system: str | None = None
    arguments: Mapping[str, Any] | None = None
    inputs: Any = None
    model: str | None = None

    def fields(self) -> tuple[str, ...]:
        """Names of the parts to change, in a fixed order."""
        return tuple(name for name in self.__slots__ if getattr(self, name) is not None)
