"""What the attributes of other instrumentations' spans mean. Knows nothing of how they are handled."""

from collections.abc import Mapping
from typing import Any, Protocol

from spanhook import semconv
from spanhook.model import Usage, exact_text, make_encodable
from spanhook.semconv import Kind

_BY_OPERATION: Mapping[str, Kind] = {
    "chat": "llm.call",
    "text_completion": "llm.call",
    "generate_content": "llm.call",
    "execute_tool": "tool.execute",
    "invoke_agent": "agent.invoke",
    "invoke_workflow": "run",
    "create_agent": "agent.lifecycle",
    "embeddings": "embeddings.create",
    "retrieval": "retrieval.query",
}
_OPERATION_NAMES = frozenset(("call_llm", "prompts/get", "resources/read", "tools/call"))
"""First words of names of spans, besides the conventions' operations: ADK's, and methods of MCP."""
_BY_SPAN_KIND: Mapping[str, Kind] = {
    "LLM": "llm.call",
    "TOOL": "tool.execute",
    "AGENT": "agent.invoke",
    "EMBEDDING": "embeddings.create",
    "RETRIEVER": "retrieval.query",
    "WORKFLOW": "run",
}
FOREIGN_KINDS: frozenset[Kind] = frozenset((*_BY_OPERATION.values(), *_BY_SPAN_KIND.values()))
"""Kinds that spans of other instrumentations may have."""

_NAMES = (
    (semconv.OPENINFERENCE_MODEL, semconv.GEN_AI_REQUEST_MODEL),
    (semconv.OPENINFERENCE_EMBEDDING_MODEL, semconv.GEN_AI_REQUEST_MODEL),
    (semconv.OPENINFERENCE_TOOL, semconv.GEN_AI_TOOL_NAME),
    (semconv.GEN_AI_DATA_SOURCE_ID, semconv.RETRIEVER_NAME),
)
#: Input, output, cache read, cache written, reasoning.
_USAGE = (
    semconv.GEN_AI_USAGE_INPUT_TOKENS,
    semconv.GEN_AI_USAGE_OUTPUT_TOKENS,
    semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
    semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS,
    semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
)
_OLDER_USAGE = (*_USAGE[:3], semconv.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS, _USAGE[4])
_OPENINFERENCE_USAGE = (
    semconv.OPENINFERENCE_INPUT_TOKENS,
    semconv.OPENINFERENCE_OUTPUT_TOKENS,
    semconv.OPENINFERENCE_CACHE_READ_TOKENS,
    semconv.OPENINFERENCE_CACHE_WRITE_TOKENS,
    semconv.OPENINFERENCE_REASONING_TOKENS,
)


class BoundLibrary(Protocol):
    """A library whose calls are already operations, so that spans of others for them are not."""

    def doubles(self, scope: str, kind: str) -> bool:
        """Whether a scope and kind mean its calls."""
        ...

    def opens(self, scope: str) -> bool:
        """Whether the library opens the spans of this scope itself."""
        ...


#: By name; set by ``config``.
bound_libraries: dict[str, BoundLibrary] = {}
#: Scopes, or prefixes, whose owners continue without a span if its start raises: set by ``config``.
swallowing: set[str] = set()


def kind_of(attributes: Mapping[str, Any]) -> Kind | None:
    """The kind of operation a span of another instrumentation stands for, if any."""
    found = _BY_OPERATION.get(exact_text(attributes.get(semconv.GEN_AI_OPERATION_NAME)))
    if found is not None:
        return found
    named = attributes.get(semconv.OPENINFERENCE_SPAN_KIND) or attributes.get(semconv.TRACELOOP_SPAN_KIND) or ""
    return _BY_SPAN_KIND.get(exact_text(named).upper())


def is_double(scope: str, kind: Kind) -> bool:
    """Whether another instrumentation's span is for a call that is already a spanhook operation."""
    return any(library.doubles(scope, kind) for library in bound_libraries.values())


def repeats(scope: str, name: str, attributes: Mapping[str, Any]) -> bool:
    """Whether a bound library opens this span itself, for a call that is already a spanhook operation.

    Some libraries set a span's attributes once it has started; then its name begins with the operation.

    Args:
        scope: The instrumentation scope of the span.
        name: Its name.
        attributes: Those with which it starts.
    """
    if not any(library.opens(scope) for library in bound_libraries.values()):
        return False
    operation = name.partition(" ")[0]
    return operation in _BY_OPERATION or operation in _OPERATION_NAMES or kind_of(attributes) is not None


def swallows(scope: str) -> bool:
    """Whether the owner of this scope is known to make the call even if the start of its span raises."""
    return any(scope == name or scope.startswith(f"{name}.") for name in swallowing)


def described(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """A span's start attributes, with the conventions' names added."""
    found = dict(attributes)
    make_encodable(found)  # its names may be members of an Enum
    for theirs, name in _NAMES:
        if theirs in found and name not in found:
            found[name] = found[theirs]
    return found


def usage_of(attributes: Mapping[str, Any]) -> Usage | None:
    """Tokens that a span reports, under the conventions' names, old or new, or OpenInference's."""
    conventional = _OLDER_USAGE if semconv.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS in attributes else _USAGE
    for names in (conventional, _OPENINFERENCE_USAGE):
        inputs, outputs, *details = (attributes.get(name) for name in names)
        if inputs is None and outputs is None:
            continue
        used = Usage()
        used.source = "framework"
        used.input_tokens = used.count(inputs, "input_tokens")
        used.output_tokens = used.count(outputs, "output_tokens")
        read, write, reasoning = (used.count(told, name) for told, name in zip(details, _DETAILS, strict=True))
        used.cache_read_tokens = min(read, used.input_tokens)
        used.cache_write_tokens = min(write, used.input_tokens - used.cache_read_tokens)
        used.reasoning_tokens = min(reasoning, used.output_tokens)
        return used
    return None


_DETAILS = ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
