"""The content of frames, and which frames are loaded."""

import uuid
from collections.abc import Iterable
from typing import Any, NamedTuple

from spanhook.iterations._config import HookConfig
from spanhook.iterations._context import HookEvent
from spanhook.model import ambient, clock, current_record, encodable, exact_text, words
from spanhook.store import Frame, FrameMemory, FrameType

OUTPUT_CHARS = 1000
"""How much of an output, a summary or an error message is stored."""
RECENT_FRAMES = 5
"""How many of the session's newest frames are stored with an error."""
RECENT_CHARS = 200

IMPORTANCE_OF_SUCCESS, IMPORTANCE_OF_FAILURE, IMPORTANCE_OF_COMPLETION, IMPORTANCE_OF_ERROR = 5, 7, 8, 10


class Place(NamedTuple):
    """The session and iteration that a frame belongs to."""

    session_id: str
    iteration: int
    tenant_id: str

    @classmethod
    def of(cls, session_id: str, iteration: int) -> "Place":
        op = current_record()
        tenant_id = ambient.get().tenant_id or ("" if op is None else op.identity.tenant_id)
        return cls(encodable(exact_text(session_id)), iteration, tenant_id)


def loaded(store: FrameMemory, place: Place, config: HookConfig) -> tuple[Frame, ...]:
    """The frames to load when an iteration starts, oldest first."""
    limit, tenant_id = config.context_frames, place.tenant_id
    found = store.recent(limit, tenant_id=tenant_id, session_id=place.session_id)
    if config.include_errors_in_context:
        found += store.recent(limit, tenant_id=tenant_id, type="error")
    if config.include_decisions_in_context:
        found += store.recent(limit, tenant_id=tenant_id, type="decision")
    return merged(found)


def merged(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Frames without duplicates, oldest first."""
    once = {frame.id: frame for frame in frames}
    return tuple(sorted(once.values(), key=lambda frame: frame.time_ns))


def iteration_frame(place: Place, output: Any, *, success: bool) -> Frame:
    """The result of an iteration."""
    text = text_of(output)
    ended = f"Iteration {place.iteration + 1} {'succeeded' if success else 'failed'}"
    return _frame(
        place,
        "iteration",
        f"{ended}: {cut(text, OUTPUT_CHARS)}" if text else ended,
        importance=IMPORTANCE_OF_SUCCESS if success else IMPORTANCE_OF_FAILURE,
        tags=_tags(place, "iteration", HookEvent.ITERATION_END),
        success=success,
        details={"output": cut(text, OUTPUT_CHARS), "output_length": len(text)},
    )


def error_frame(place: Place, error: BaseException | str, context: Any, before: list[Frame], most: int) -> Frame:
    """An error, its context and the frames before it."""
    kind = type(error).__name__ if isinstance(error, BaseException) else "Error"
    message = cut(words(error) if isinstance(error, BaseException) else error, OUTPUT_CHARS)
    told = cut(text_of(context), most)
    recent = [cut(frame.content, RECENT_CHARS) for frame in before]
    parts = [f"{kind}: {message}" if message else kind]
    if told:
        parts.append(f"Context: {told}")
    if recent:
        parts.append("Before it:\n" + "\n".join(f"- {line}" for line in recent))
    details = {"error_type": kind, "message": message, "context": told, "recent": recent}
    return _frame(
        place,
        "error",
        "\n".join(parts),
        importance=IMPORTANCE_OF_ERROR,
        tags=_tags(place, "error", HookEvent.ERROR),
        success=False,
        details=details,
    )


def noted_frame(place: Place, type: FrameType, content: Any, *, importance: int, tags: Iterable[str]) -> Frame:
    """A decision or note of the application."""
    own = (type, f"iter-{place.iteration + 1}", *map(encodable, tags))
    return _frame(place, type, text_of(content), importance=importance, tags=own)


def completion_frame(place: Place, summary: Any, *, success: bool, iterations: int, errors: int) -> Frame:
    """The summary of a session."""
    text = cut(text_of(summary), OUTPUT_CHARS)
    counted = f"{_several(iterations, 'iteration')}, {_several(errors, 'error')}"
    ended = f"Session {'completed' if success else 'failed'}: {counted}"
    return _frame(
        place,
        "completion",
        f"{ended}. {text}" if text else ended,
        importance=IMPORTANCE_OF_COMPLETION,
        tags=_tags(place, "completion", HookEvent.COMPLETION),
        success=success,
        details={"total_iterations": iterations, "error_count": errors, "summary": text},
    )


def _several(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _tags(place: Place, type: FrameType, event: HookEvent) -> tuple[str, ...]:
    numbered = () if type == "completion" else (f"iter-{place.iteration + 1}",)
    return (type, *numbered, f"hook:{event}")


def _frame(
    place: Place,
    type: FrameType,
    content: str,
    *,
    importance: int,
    tags: tuple[str, ...],
    success: bool | None = None,
    details: dict[str, Any] | None = None,
) -> Frame:
    return Frame(
        id=uuid.uuid4().hex,
        session_id=place.session_id,
        tenant_id=place.tenant_id,
        type=type,
        iteration=place.iteration,
        content=encodable(content),
        importance=importance,
        tags=tags,
        success=success,
        time_ns=clock.wall(),
        details=details or {},
    )


def text_of(value: Any) -> str:
    """A value as text."""
    if value is None:
        return ""
    return encodable(value if isinstance(value, str) else str(value))


def cut(text: str, most: int) -> str:
    """A text truncated to ``most`` characters, with an ellipsis if it was longer."""
    if len(text) <= most:
        return text
    return text[: most - 1] + "…" if most else ""
