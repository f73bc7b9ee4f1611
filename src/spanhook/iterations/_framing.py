"""Which frames are written, and which are loaded: pure functions, and the little that they ask of a memory."""

import uuid
from collections.abc import Iterable
from typing import Any, NamedTuple

from spanhook.iterations._config import HookConfig
from spanhook.iterations._context import HookEvent
from spanhook.model import ambient, clock, current_record, encodable, words
from spanhook.store import Frame, FrameMemory, FrameType

OUTPUT_CHARS = 1000
"""So much of an iteration's output, a summary or an error's message is kept."""
RECENT_FRAMES = 5
"""So many frames tell what went on before an error."""
RECENT_CHARS = 200

IMPORTANCE_OF_SUCCESS, IMPORTANCE_OF_FAILURE, IMPORTANCE_OF_COMPLETION, IMPORTANCE_OF_ERROR = 5, 7, 8, 10


class Place(NamedTuple):
    """Where frames belong."""

    session_id: str
    iteration: int
    tenant_id: str

    @classmethod
    def of(cls, session_id: str, iteration: int) -> "Place":
        op = current_record()
        tenant_id = ambient.get().tenant_id or ("" if op is None else op.identity.tenant_id)
        return cls(encodable(session_id), iteration, tenant_id)


def loaded(store: FrameMemory, place: Place, config: HookConfig) -> tuple[Frame, ...]:
    """What is worth knowing as an iteration starts, oldest first."""
    limit, tenant_id = config.context_frames, place.tenant_id
    found = store.recent(limit, tenant_id=tenant_id, session_id=place.session_id)
    if config.include_errors_in_context:
        found += store.recent(limit, tenant_id=tenant_id, type="error")
    if config.include_decisions_in_context:
        found += store.recent(limit, tenant_id=tenant_id, type="decision")
    return merged(found)


def merged(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Frames without doubles, oldest first."""
    once = {frame.id: frame for frame in frames}
    return tuple(sorted(once.values(), key=lambda frame: frame.time_ns))


def iteration_frame(place: Place, output: Any, *, success: bool) -> Frame:
    """What came of an iteration."""
    text = text_of(output)
    ended = f"Iteration {place.iteration + 1} {'succeeded' if success else 'failed'}"
    return _frame(
        place,
        "iteration",
        HookEvent.ITERATION_END,
        f"{ended}: {cut(text, OUTPUT_CHARS)}" if text else ended,
        importance=IMPORTANCE_OF_SUCCESS if success else IMPORTANCE_OF_FAILURE,
        success=success,
        details={"output": cut(text, OUTPUT_CHARS), "output_length": len(text)},
    )


def error_frame(place: Place, error: BaseException | str, context: Any, before: list[Frame], most: int) -> Frame:
    """What failed, in what, and what went on before."""
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
        HookEvent.ERROR,
        "\n".join(parts),
        importance=IMPORTANCE_OF_ERROR,
        success=False,
        details=details,
    )


def noted_frame(place: Place, type: FrameType, content: Any, *, importance: int, tags: Iterable[str]) -> Frame:
    """What the application wants to be remembered."""
    return Frame(
        id=uuid.uuid4().hex,
        session_id=place.session_id,
        tenant_id=place.tenant_id,
        type=type,
        iteration=place.iteration,
        content=text_of(content),
        importance=importance,
        tags=(type, f"iter-{place.iteration + 1}", *map(encodable, tags)),
        time_ns=clock.wall(),
    )


def completion_frame(place: Place, summary: Any, *, success: bool, iterations: int, errors: int) -> Frame:
    """What a session came to."""
    text = cut(text_of(summary), OUTPUT_CHARS)
    ended = f"Session {'completed' if success else 'failed'}: {iterations} iterations, {errors} errors"
    return _frame(
        place,
        "completion",
        HookEvent.COMPLETION,
        f"{ended}. {text}" if text else ended,
        importance=IMPORTANCE_OF_COMPLETION,
        success=success,
        details={"total_iterations": iterations, "error_count": errors, "summary": text},
    )


def _frame(
    place: Place,
    type: FrameType,
    event: HookEvent,
    content: str,
    *,
    importance: int,
    success: bool,
    details: dict[str, Any],
) -> Frame:
    numbered = () if type == "completion" else (f"iter-{place.iteration + 1}",)
    return Frame(
        id=uuid.uuid4().hex,
        session_id=place.session_id,
        tenant_id=place.tenant_id,
        type=type,
        iteration=place.iteration,
        content=encodable(content),
        importance=importance,
        tags=(type, *numbered, f"hook:{event}"),
        success=success,
        time_ns=clock.wall(),
        details=details,
    )


def text_of(value: Any) -> str:
    """A value as it is remembered."""
    if value is None:
        return ""
    return encodable(value if isinstance(value, str) else str(value))


def cut(text: str, most: int) -> str:
    """The beginning of a text, with an ellipsis if that is not all of it."""
    if len(text) <= most:
        return text
    return text[: most - 1] + "…" if most else ""
