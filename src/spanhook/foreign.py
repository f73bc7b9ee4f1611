"""What the attributes of other instrumentations' spans mean. Knows nothing of what is done about them."""

from collections.abc import Mapping
from typing import Any

from spanhook import semconv
from spanhook.semconv import Kind
from spanhook.usage import Usage

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
_BY_SPAN_KIND: Mapping[str, Kind] = {
    "LLM": "llm.call",
    "TOOL": "tool.execute",
    "AGENT": "agent.invoke",
    "EMBEDDING": "embeddings.create",
    "RETRIEVER": "retrieval.query",
    "WORKFLOW": "run",
}
FOREIGN_KINDS: frozenset[Kind] = frozenset((*_BY_OPERATION.values(), *_BY_SPAN_KIND.values()))
"""Kinds that spans of other instrumentations may be."""

#: Libraries whose calls are operations already, so that spans of others for the same call are not: set by ``config``.
bound_libraries: set[str] = set()
_SCOPE_WORDS: Mapping[str, str] = {"openai": "openai", "langchain": "langchain_core", "langgraph": "langgraph"}


def kind_of(attributes: Mapping[str, Any]) -> Kind | None:
    """The kind of operation a span of another instrumentation stands for, if any."""
    found = _BY_OPERATION.get(str(attributes.get(semconv.GEN_AI_OPERATION_NAME, "")))
    if found is not None:
        return found
    named = attributes.get(semconv.OPENINFERENCE_SPAN_KIND) or attributes.get(semconv.TRACELOOP_SPAN_KIND) or ""
    return _BY_SPAN_KIND.get(str(named).upper())


def is_double(scope: str) -> bool:
    """Whether another instrumentation's span is for a call that spanhook has as an operation of its own."""
    words = scope.lower().replace("-", "_").replace(".", "_")
    if "openai_agents" in words:
        return "openai_agents" in bound_libraries
    return any(word in words and library in bound_libraries for word, library in _SCOPE_WORDS.items())


def usage_of(attributes: Mapping[str, Any]) -> Usage | None:
    """Tokens as a span of the conventions reports them."""
    inputs = attributes.get(semconv.GEN_AI_USAGE_INPUT_TOKENS)
    outputs = attributes.get(semconv.GEN_AI_USAGE_OUTPUT_TOKENS)
    if inputs is None and outputs is None:
        return None
    used = Usage()
    used.input_tokens, used.output_tokens = used.count(inputs, "input_tokens"), used.count(outputs, "output_tokens")
    read, write, reasoning = (used.count(attributes.get(key), name) for key, name in _DETAILS)
    used.cache_read_tokens = min(read, used.input_tokens)
    used.cache_write_tokens = min(write, used.input_tokens - used.cache_read_tokens)
    used.reasoning_tokens = min(reasoning, used.output_tokens)
    return used


_DETAILS = (
    (semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS, "cache_read_tokens"),
    (semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS, "cache_write_tokens"),
    (semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS, "reasoning_tokens"),
)
