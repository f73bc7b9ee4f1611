"""What was recorded of one operation, and what happens if a hook reads more than that.

While a hook runs, reading what is not recorded raises ``NotRecorded`` and is noted, so that the hook's decision becomes
``unknown`` even if it catches everything. Nothing is ever made up in place of what is missing.
"""

import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, NoReturn, cast

from spanhook import semconv
from spanhook.cli.replay.otlp import RecordedSpan
from spanhook.model import Message, Request, copies

missed: ContextVar[list[str] | None] = ContextVar("spanhook.cli.replay.missed", default=None)
"""What the running hook has read that is not recorded; ``None`` while no hook runs."""


class NotRecorded(BaseException):
    """A hook has read what the recording does not contain. No ``Exception``, so that hooks do not handle it.

    Args:
        what: What it has read.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not recorded")
        self.what = what


def not_recorded(what: str) -> NoReturn:
    """Note what the running hook has read, and end it."""
    found = missed.get()
    if found is not None:
        found.append(what)
    raise NotRecorded(what)


class Unrecorded:
    """Stands for an object of the library's: it can be passed on, but any use of it is noted."""

    def __init__(self, what: str) -> None:
        object.__setattr__(self, "_what", what)

    def _used(self, *_args: Any, **_kwargs: Any) -> Any:
        not_recorded(object.__getattribute__(self, "_what"))

    __getattr__ = __setattr__ = __getitem__ = __iter__ = __len__ = __bool__ = __str__ = __contains__ = _used
    __eq__ = __lt__ = __gt__ = __call__ = __add__ = __radd__ = __await__ = __format__ = __enter__ = _used
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @property
    def __class__(self) -> type[Any]:  # pyright: ignore[reportIncompatibleMethodOverride] # `isinstance` asks for it
        if missed.get() is None:
            return type(self)
        return self._used()

    def __repr__(self) -> str:
        return "<not recorded>"


class Result:
    """What a recorded call returned, as far as it was recorded; the library's own object is not.

    Attributes:
        content: The operation.
    """

    def __init__(self, content: "Content") -> None:
        self.content = content


@copies(Result)
def _read(result: Result) -> Any:
    """A hook reads ``op.result``."""
    return result if missed.get() is None else not_recorded("op.result")


class Extras(dict[str, Any]):
    """``op.extras`` without what is not recorded, which cannot be read.

    Args:
        facts: What is recorded, if a hook asks for it.
    """

    def __init__(self, facts: Callable[[], dict[str, Any]]) -> None:
        super().__init__()
        self._facts = facts

    def __missing__(self, name: str) -> Any:
        if name in ("metadata", "config"):
            not_recorded(f"op.extras[{name!r}]")
        return self._facts()[name]

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return self.get(str(name), self) is not self

    def _whole(self, *_args: Any) -> Any:
        not_recorded("op.extras as a whole")

    __iter__ = __len__ = __eq__ = __repr__ = keys = values = items = copy = _whole  # pyright: ignore[reportAssignmentType]
    __hash__ = None  # pyright: ignore[reportAssignmentType]


_NEVER = frozenset(("embeddings.create", "memory.store", "agent.lifecycle", "mcp.resource.read", "mcp.prompt.get"))
"""Kinds without recorded content."""
_IN_ORDER = (
    semconv.GEN_AI_SYSTEM_INSTRUCTIONS,
    semconv.GEN_AI_INPUT_MESSAGES,
    semconv.GEN_AI_TOOL_DEFINITIONS,
    semconv.GEN_AI_OUTPUT_MESSAGES,
)
"""The content of calls in the order in which it is recorded: if one is there, those before it have been read."""
_OF_TOOLS: Mapping[str, Any] = {"messages": (), "system": "", "tools": (), "tool_definitions": (), "inputs": None}
"""What requests of tools do not have."""


_CUT = "…"
"""The end of a text that the collector's configurations have cut off, as JSON that is cut off cannot be read."""


class Content:
    """The content of one operation as hooks read it.

    Args:
        span: What was recorded.

    Attributes:
        names: What a call to a store works on; the names of a tool that has several.
        rewriters: Hooks that rewrote the request then and have not run yet now. Until they have, what the request said
            before is not known: the recording has it as the last of them left it.
        replacers: The same for the result.
        fault: Why the result that was returned is an error; empty if it is none.
    """

    def __init__(self, span: RecordedSpan) -> None:
        self._found = span.attributes
        self.kind = str(span.attributes[semconv.KIND])
        named: Any = span.attributes.get(semconv.NAMES)
        if type(named) is not tuple:
            named = str(span.attributes.get(semconv.MEMORY_NAMESPACE, "")).split(",")
        self.names = tuple(map(str, cast("tuple[Any, ...]", named)))
        modified: Any = span.attributes.get(semconv.MODIFIED)
        self._modified = frozenset(map(str, cast("tuple[Any, ...]", modified) if type(modified) is tuple else ()))
        self.fault = ""
        self.rewriters: set[str] = set()
        self.replacers: set[str] = set()

    def is_original(self, name: str) -> bool:
        """Whether this part of the request is recorded as hooks see it now."""
        return not (self.rewriters and name in self._modified)

    def request(self, name: str) -> Any:
        """A part of the request, new each time."""
        if not self.is_original(name):
            not_recorded(f"op.request.{name} before it was rewritten")
        if name == "model":
            return str(self._found.get(semconv.GEN_AI_REQUEST_MODEL, ""))
        if self.kind == "tool.execute":
            return self._of_tool(name)
        if self.kind == "retrieval.query" and name == "inputs" and semconv.GEN_AI_RETRIEVAL_QUERY_TEXT in self._found:
            return self._text(semconv.GEN_AI_RETRIEVAL_QUERY_TEXT, "op.request.inputs")
        if name == "tool_definitions" and self.kind == "llm.call":
            return self._definitions()
        if self.kind in _NEVER or name not in ("messages", "system", "tools"):
            not_recorded(f"op.request.{name}")
        return getattr(self, f"_{name}")()

    def _of_tool(self, name: str) -> Any:
        if name in _OF_TOOLS:
            value = _OF_TOOLS[name]
            return [] if value == () else value
        if semconv.GEN_AI_TOOL_CALL_ARGUMENTS in self._found:
            return self._json(semconv.GEN_AI_TOOL_CALL_ARGUMENTS, dict, "op.request.arguments")
        if semconv.GEN_AI_TOOL_CALL_RESULT in self._found:  # content is recorded, and arguments only if there are any
            return {}
        not_recorded("op.request.arguments")

    def _messages(self) -> list[Message]:
        return self._json(semconv.GEN_AI_INPUT_MESSAGES, list, "op.request.messages", [])

    def _system(self) -> str:
        parts = self._json(semconv.GEN_AI_SYSTEM_INSTRUCTIONS, list, "op.request.system", [])
        if not parts and any(one.get("role") in ("system", "developer") for one in self._messages()):
            not_recorded("op.request.system")  # some libraries have it in the messages, too
        return "".join(str(part.get("content", "")) for part in parts)

    def _tools(self) -> list[str]:
        tools = self._json(semconv.GEN_AI_TOOL_DEFINITIONS, list, "op.request.tools", [])
        return [str(one.get("name", "")) for one in tools]

    def _definitions(self) -> list[Any]:
        """The definitions of tools, if there are none; others are not recorded in the library's form."""
        found = self._json(semconv.GEN_AI_TOOL_DEFINITIONS, list, "op.request.tool_definitions", [])
        return found and not_recorded("op.request.tool_definitions")

    def output(self) -> list[Message]:
        """The output messages."""
        if self.replacers:
            not_recorded("op.response before it was replaced")
        if self.kind == "tool.execute":
            text = self._text(semconv.GEN_AI_TOOL_CALL_RESULT, "op.response")
            return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": text}]}]
        return self._json(semconv.GEN_AI_OUTPUT_MESSAGES, list, "op.response")

    def _text(self, name: str, what: str) -> str:
        text = self._found.get(name)
        if not isinstance(text, str) or text.endswith(_CUT):
            not_recorded(what)
        return text

    def _json(self, name: str, sort: type[Any], what: str, default: Any = None) -> Any:
        text = self._found.get(name)
        if text is None:
            if default is not None and any(one in self._found for one in _IN_ORDER[_IN_ORDER.index(name) + 1 :]):
                return default
            not_recorded(what)
        try:
            value = json.loads(text) if isinstance(text, str) else json.loads(json.dumps(text))
        except (ValueError, TypeError):
            not_recorded(what)  # cut off by a limit on attributes
        return value if isinstance(value, sort) else not_recorded(what)


class RecordedRequest(Request):
    """The request of a recorded call; parts that are not recorded cannot be read.

    Args:
        content: What is recorded.
        instead: What hooks have put in place of it.
    """

    def __init__(self, content: Content, instead: Mapping[str, Any]) -> None:  # pyright: ignore[reportMissingSuperCall]
        self._content, self._kept = content, dict(instead)

    def __getattribute__(self, name: str) -> Any:
        if name not in _PARTS:
            return super().__getattribute__(name)
        kept: dict[str, Any] = super().__getattribute__("_kept")
        if name not in kept:
            kept[name] = cast("Content", super().__getattribute__("_content")).request(name)
        return kept[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PARTS:
            self._kept[name] = value
        else:
            super().__setattr__(name, value)

    def own(self) -> "Request":
        return self

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in sorted(_PARTS))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._content.kind}>"


_PARTS = frozenset(("messages", "system", "tools", "arguments", "inputs", "model", "tool_definitions"))
