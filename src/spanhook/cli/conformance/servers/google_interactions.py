"""Google's interactions and decisions, as the server on loopback answers them."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.servers.openai_replies import Json, Reply, Tokens


def has_steps() -> bool:
    """Whether the installed version of the SDK has steps; older ones have outputs."""
    return any(map(_is_there, ("google.genai._gaos", "google.genai._interactions.types.step_delta")))


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def _usage(tokens: Tokens) -> Json:
    said = tokens.output
    if type(said) is int and type(tokens.reasoning) is int:
        said -= tokens.reasoning
    told: Json = {"total_input_tokens": tokens.input, "total_output_tokens": said, "total_tokens": tokens.total}
    return {**told, "total_cached_tokens": tokens.cached, "total_thought_tokens": tokens.reasoning}


def _head(body: Json, status: str) -> Json:
    whom = {name: body[name] for name in ("model", "agent") if name in body}
    times = {"created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:01Z"}
    return {"id": "v1_interaction", "object": "interaction", "status": status, **whom, **times}


def _calls(reply: Reply) -> list[Json]:
    return [
        {"type": "function_call", "id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls
    ]


def interaction(body: Json, reply: Reply) -> Json:
    """A complete interaction."""
    said: Json = {"type": "text", "text": reply.text}
    content = [said] if not has_steps() else [{"type": "model_output", "content": [said]}]
    whole = {"steps" if has_steps() else "outputs": _calls(reply) or content, "usage": _usage(reply.tokens)}
    return {**_head(body, "requires_action" if reply.calls else "completed"), **whole}


def interaction_events(body: Json, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    """The interaction as a stream of events."""
    if reply.events:
        yield from ((one["event_type"], one) for one in reply.events)
        return
    steps = has_steps()
    name, family = ("step", "step") if steps else ("content", "content")

    def event(kind: str, **data: Any) -> tuple[str, Json]:
        return kind, {"event_type": kind, **data}

    begun, ended = ("created", "completed") if steps else ("start", "complete")
    yield event(f"interaction.{begun}", interaction=_head(body, "in_progress"))
    for index, item in enumerate(_calls(reply) or [{"type": "model_output" if steps else "text"}]):
        deltas: list[Json] = [{"type": "text", "text": word} for word in reply.words] if not reply.calls else []
        if not steps and reply.calls:
            deltas = [item]
        yield event(f"{family}.start", index=index, **{name: item})
        for delta in deltas:
            yield event(f"{family}.delta", index=index, delta=delta)
        yield event(f"{family}.stop", index=index)
    status = "requires_action" if reply.calls else "completed"
    yield event(f"interaction.{ended}", interaction={**_head(body, status), "usage": _usage(reply.tokens)})
    if steps:
        yield "done", "[DONE]"


def decision(body: Json, reply: Reply) -> Json:
    """Answers to questions."""
    answer: Json = {"type": "choice", "choice": "yes", "confidence": 0.9, "probabilities": {"yes": 0.9}}
    answers = dict.fromkeys(body.get("questions") or (), answer)
    return {"answers": answers, "usage": _usage(reply.tokens)}
