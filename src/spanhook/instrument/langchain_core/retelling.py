"""Callback events for a call whose result a hook replaced: in LangChain's terms, with the original ids."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Protocol

from langchain_core.outputs import ChatGenerationChunk, GenerationChunk, LLMResult

from spanhook.instrument.langchain_core.answers import as_chunk, as_events, generations_of, id_in
from spanhook.model import Record

Telling = tuple[str, str, tuple[Any, ...], dict[str, Any]]
"""An event, the flag by which handlers ignore it, and its arguments."""


class _Told(Protocol):
    @property
    def event(self) -> str: ...
    @property
    def args(self) -> tuple[Any, ...]: ...
    @property
    def kwargs(self) -> dict[str, Any]: ...


def message_id(run: Any, told: Iterable[_Told]) -> str:
    """The id of a run's answer if it was already sent; otherwise the one that LangChain derives from the run's id."""
    for one in told:
        found: Any = None
        if one.event == "on_llm_new_token":
            found = getattr(one.kwargs.get("chunk"), "message", None)
        elif one.event == "on_llm_end":
            generations = one.args[3].generations
            found = getattr(generations[0][0], "message", None) if generations and generations[0] else None
        if found is not None and found.id:
            return found.id
    return id_in(run)


def retold(op: Record, index: int, events: Collection[str], identifier: str) -> Iterator[Telling]:
    """The events that give the ``index``th run of an operation the decided result, in the form of ``events``."""
    ends = any(event.endswith(("_end", "_error")) for event in events)
    if op.kind == "tool.execute":
        if ends:
            yield "on_tool_end", "ignore_agent", (op.result,), {"name": op.name}
        return
    if op.kind != "llm.call":
        return
    generations = generations_of(op.result, index)
    for position, generation in enumerate(generations):
        message = getattr(generation, "message", None)
        if message is not None and message.id is None:
            message.id = identifier if position == 0 else f"{identifier}-{position}"
    if "on_llm_new_token" in events:
        yield from _as_token(generations[0])
    if "on_stream_event" in events:
        for one in as_events(generations[0].message):
            yield "on_stream_event", "ignore_llm", (one,), {}
    if ends:
        whole = LLMResult(generations=[generations], llm_output=getattr(op.result, "llm_output", None))
        yield "on_llm_end", "ignore_llm", (whole,), {}


def _as_token(generation: Any) -> Iterator[Telling]:
    message = getattr(generation, "message", None)
    if message is None:
        chunk: Any = GenerationChunk(text=generation.text)
        yield "on_llm_new_token", "ignore_llm", (generation.text,), {"chunk": chunk}
        return
    one = as_chunk(message)
    yield "on_llm_new_token", "ignore_llm", (one.content,), {"chunk": ChatGenerationChunk(message=one)}
