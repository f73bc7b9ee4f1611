"""The loopback server's answers at OpenAI's endpoints for images, sound, videos, moderation and later jobs."""

import re
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]

CREATED = 1_760_000_000
_NO_TOKENS = {"type": "duration", "seconds": 2}


def answer(path: str, body: Json, text: str, used: Json) -> Any:
    """The answer: JSON, text or sound; ``None`` for a path that is none of these.

    Args:
        path: The path in lower case.
        body: What was sent.
        text: The model's text.
        used: The reported usage.
    """
    found = next((made for pattern, made in _ANSWERS.items() if re.search(pattern, path)), None)
    return None if found is None else found(body, text, used)


def events(whole: Json) -> Iterator[tuple[str, Json | str]]:
    """The answer as a stream of events."""
    if "text" in whole:
        for word in whole["text"].split(" "):
            yield "", {"type": "transcript.text.delta", "delta": word}
        yield "", {**whole, "type": "transcript.text.done"}
    elif whole.get("object") == "thread.run":
        yield "thread.run.created", {**whole, "usage": None}
        yield "thread.run.completed", {**whole, "status": "completed"}
        yield "done", "[DONE]"
    else:
        image = {"b64_json": whole["data"][0]["b64_json"], "created_at": CREATED, "size": "auto"}
        yield "", {**image, "type": "image_generation.partial_image", "partial_image_index": 0}
        yield "", {**image, "type": "image_generation.completed", "usage": whole["usage"]}


def _images(_body: Json, _text: str, used: Json) -> Json:
    details: Json = {
        **(used.get("input_tokens_details") or {}),
        "text_tokens": used.get("input_tokens"),
        "image_tokens": 0,
    }
    return {"created": CREATED, "data": [{"b64_json": "AAAA"}], "usage": {**used, "input_tokens_details": details}}


def _spoken(body: Json, text: str, used: Json) -> Any:
    if body.get("response_format") in ("text", "srt", "vtt"):
        return text
    reported = _NO_TOKENS if body.get("model") == "whisper-1" else {**used, "type": "tokens"}
    return {"text": text, "usage": reported}


def _moderation(body: Json, _text: str, _used: Json) -> Json:
    result: Json = {"flagged": False, "categories": {}, "category_scores": {}, "category_applied_input_types": {}}
    several = isinstance(body["input"], list)
    return {"id": "modr-1", "model": body.get("model"), "results": [result] * (len(body["input"]) if several else 1)}


def _video(body: Json, _text: str, _used: Json) -> Json:
    known = {"id": "video_1", "object": "video", "created_at": CREATED, "status": "queued", "progress": 0}
    return {**known, "model": body.get("model") or "sora-2", "seconds": "4", "size": "720x1280"}


def _run(body: Json, _text: str, used: Json) -> Json:
    tokens = {"prompt_tokens": used["input_tokens"], "completion_tokens": used["output_tokens"]}
    told = {**tokens, "total_tokens": used["total_tokens"]} if body.get("stream") else None
    return {"id": "run_1", "object": "thread.run", "status": "queued", "model": body.get("model"), "usage": told}


def _speech(_body: Json, text: str, _used: Json) -> bytes:
    return text.encode()


def _input_tokens(_body: Json, _text: str, used: Json) -> Json:
    return {"object": "response.input_tokens", "input_tokens": used["input_tokens"]}


def _object(kind: str) -> Callable[[Json, str, Json], Json]:
    return lambda _body, _text, _used: {"id": f"{kind}_1", "object": kind, "status": "queued"}


_ANSWERS: dict[str, Callable[[Json, str, Json], Json | bytes]] = {
    "/images/(generations|edits|variations)$": _images,
    "/audio/speech$": _speech,
    "/audio/(transcriptions|translations)$": _spoken,
    "/moderations$": _moderation,
    "/videos(/edits|/extensions|/[^/]+/remix)?$": _video,
    "/threads/([^/]+/)?runs$": _run,
    "/threads/[^/]+/runs/[^/]+/submit_tool_outputs$": _run,
    "/responses/input_tokens$": _input_tokens,
    "/batches$": _object("batch"),
    "/evals/[^/]+/runs$": _object("eval.run"),
    "/fine_tuning/jobs$": _object("fine_tuning.job"),
    "/fine_tuning/alpha/graders/run$": _object("grader.run"),
    "/agents/sessions(/[^/]+/events)?$": _object("agent.session"),
    "/agents/automations/[^/]+/invocations$": _object("agent.invocation"),
}
