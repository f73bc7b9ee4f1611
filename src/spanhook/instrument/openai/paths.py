"""Which of OpenAI's APIs a call is, by method and path."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai import (
    MAKES,
    RUNS,
    Chat,
    Completions,
    Decisions,
    Embeddings,
    Endpoint,
    Responses,
)
from spanhook.instrument.layers import OPENAI
from spanhook.instrument.openai.transport import ITSELF, TRANSPORT, server_of
from spanhook.instrument.stainless import options_of, settle, whole
from spanhook.instrument.wire import Format, Paths, adapted
from spanhook.model import Adapter, Args, Attributes, Kwargs

_THREAD = re.compile(r"/threads/([^/]+)/runs", re.IGNORECASE)


def _formats(*, itself: bool) -> Mapping[str, Format]:
    """Calls to a model, by the end of their path, in which a star stands for an id. Azure's and absolute URLs have
    longer prefixes.

    Args:
        itself: The server is OpenAI's own, or Azure's.
    """

    def row(operation: str, api: str, output: str = "", content: str = "", system: str = "", *beside: str) -> Endpoint:
        return Endpoint(operation, api, output, content, system, beside, itself=itself)

    return {
        "/chat/completions": Chat(itself=itself),
        "/completions": Completions(itself=itself),
        "/decisions": Decisions(itself=itself),
        "/embeddings": Embeddings(itself=itself),
        "/responses": Responses(itself=itself),
        "/responses/compact": Responses(itself=itself, compact=True),
        "/responses/input_tokens": Responses(itself=itself, counts=True),
        "/images/generations": row(MAKES, "images.generations", "image", "prompt"),
        "/images/edits": row(MAKES, "images.edits", "image", "prompt"),
        "/images/variations": row(MAKES, "images.variations", "image"),
        "/audio/speech": row(MAKES, "audio.speech", "speech", "input", "instructions"),
        "/audio/transcriptions": row(
            MAKES, "audio.transcriptions", "text", "prompt", "", "keywords", "known_speaker_names"
        ),
        "/audio/translations": row(MAKES, "audio.translations", "text", "prompt"),
        "/moderations": row("moderation", "moderations", content="input"),
        "/videos": row(MAKES, "videos", "video", "prompt"),
        "/videos/edits": row(MAKES, "videos", "video", "prompt"),
        "/videos/extensions": row(MAKES, "videos", "video", "prompt"),
        "/videos/*/remix": row(MAKES, "videos", "video", "prompt"),
        "/threads/runs": row(RUNS, "threads.runs", content="thread.messages", system="instructions"),
        "/threads/*/runs": row(
            RUNS, "threads.runs", "", "additional_messages", "instructions", "additional_instructions"
        ),
        "/threads/*/runs/*/submit_tool_outputs": row(RUNS, "threads.runs", content="tool_outputs"),
        "/agents/sessions": row(RUNS, "agents.sessions", content="input"),
        "/agents/sessions/*/events": row(RUNS, "agents.sessions", content="events"),
        "/agents/automations/*/invocations": row(RUNS, "agents.automations"),
        "/batches": row("batch", "batches"),
        "/evals/*/runs": row("evaluate", "evals.runs"),
        "/fine_tuning/alpha/graders/run": row("evaluate", "graders", content="model_sample"),
        "/fine_tuning/jobs": row("fine_tune", "fine_tuning.jobs"),
    }


def _adapters(*, itself: bool) -> dict[str, Adapter]:
    made = {path: adapted(one, TRANSPORT, OPENAI) for path, one in _formats(itself=itself).items()}
    return {path: _of_thread(one) if "/threads/*" in path else one for path, one in made.items()}


def _of_thread(adapter: Adapter) -> Adapter:
    """The adapter of a call whose path names a conversation."""

    def start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes | None:
        attributes, thread = adapter.start(instance, args, kwargs), _THREAD.search(options_of(args, kwargs).url)
        if attributes is not None and thread:
            attributes[semconv.GEN_AI_CONVERSATION_ID] = thread[1]
        return attributes

    return replace(adapter, start=start, watch=None)


ADAPTERS, _OTHERS = _adapters(itself=True), _adapters(itself=False)
CHAT = ADAPTERS["/chat/completions"]
ending = Paths(ADAPTERS).ending


def choose(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a request; ``None`` if it does not call a model."""
    options = options_of(args, kwargs)
    if options.method.lower() != "post":
        return None
    path = options.url
    adapter = ADAPTERS.get(path)
    if adapter is None or path == "/completions":
        path = ending(path)
        if path in ("", "/completions"):  # the missing prefix may be in the client's own address
            path = ending(whole(instance, options.url))
        adapter = ADAPTERS.get(path)
    if adapter is not None:
        settle(options)
    if adapter is None or server_of(instance, options.url)[0] in ITSELF:
        return adapter
    return _OTHERS[path]
