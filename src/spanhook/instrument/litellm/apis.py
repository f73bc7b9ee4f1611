"""Which API each of LiteLLM's functions calls: its format, over the arguments and results of that function."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from spanhook.instrument.formats.openai import MAKES, Endpoint, Responses
from spanhook.instrument.layers import LITELLM
from spanhook.instrument.litellm import answers
from spanhook.instrument.litellm.answers import Answers
from spanhook.instrument.litellm.formats import LiteLLMChat, LiteLLMCompletions, LiteLLMEmbeddings, LiteLLMMessages
from spanhook.instrument.litellm.providers import ITSELF, named
from spanhook.instrument.litellm.transport import LiteLLMTransport
from spanhook.instrument.wire import Format, adapted, text_of
from spanhook.model import Adapter, Args, Kwargs

Choose = Callable[[Any, Args, Kwargs], Adapter]


def _mark(result: Any) -> Any:
    """The id of an answer, which shows whether another call has already produced it."""
    return text_of(getattr(result, "id", None)) or None


def _bare(model: str) -> str:
    return named(model).model


def _adapter(format: Format, transport: LiteLLMTransport) -> Adapter:
    """LiteLLM is a framework's view of a model, because it calls clients that may be bound too; but it passes on what
    it is asked for, also to its own functions, of which one is made of another. Some of its streams only begin to call
    when they are read. Providers' keys may be among its arguments, so none are kept to recognize calls that are alike.
    """
    made = adapted(format, transport, LITELLM)
    return replace(
        made,
        watch=None,
        reading=replace(made.reading, source="framework", mark=_mark),
        editing=replace(made.editing, bare_model=_bare),
        streaming=made.streaming and replace(made.streaming, opaque=False),
        nesting=replace(made.nesting, role="relay"),
    )


def _choosing(make: Callable[[bool], Format], place: str, made: Answers, flag: str) -> tuple[Adapter, Choose, Choose]:
    """An API's adapter, and what chooses it for calls of its function, and of the async version of that.

    Args:
        make: Makes its format, given whether OpenAI is the provider.
        place: The function, as ``module:name``.
        made: Makes its answers.
        flag: The argument by which the function is asked for an awaitable.
    """
    formats = {itself: make(itself) for itself in (True, False)}
    transports = {is_async: LiteLLMTransport(place, made, is_async=is_async) for is_async in (True, False)}
    adapters = {
        (itself, is_async): _adapter(formats[itself], transports[is_async])
        for itself in (True, False)
        for is_async in (True, False)
    }
    sync, later = transports[False], transports[True]

    def choose(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter:
        return adapters[sync.provider_of(args, kwargs) in ITSELF, kwargs.get(flag) is True]

    def achoose(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter:
        return adapters[later.provider_of(args, kwargs) in ITSELF, True]

    return adapters[True, False], choose, achoose


def _endpoint(api: str, output: str, content: str, operation: str = MAKES) -> Callable[[bool], Format]:
    return lambda itself: Endpoint(operation, api, output, content, itself=itself)


CHAT, chat, achat = _choosing(
    lambda itself: LiteLLMChat(itself=itself), "litellm.main:completion", answers.CHAT, "acompletion"
)
TEXT, text, atext = _choosing(
    lambda itself: LiteLLMCompletions(itself=itself), "litellm.main:text_completion", answers.TEXT, "atext_completion"
)
EMBEDDINGS, embeddings, aembeddings = _choosing(
    lambda itself: LiteLLMEmbeddings(itself=itself), "litellm.main:embedding", answers.EMBEDDINGS, "aembedding"
)
RESPONSES, responses, aresponses = _choosing(
    lambda itself: Responses(itself=itself), "litellm.responses.main:responses", answers.RESPONSES, "aresponses"
)
IMAGES, images, aimages = _choosing(
    _endpoint("images.generations", "image", "prompt"),
    "litellm.images.main:image_generation",
    answers.IMAGES,
    "aimg_generation",
)
EDITS, edits, aedits = _choosing(
    _endpoint("images.edits", "image", "prompt"), "litellm.images.main:image_edit", answers.IMAGES, "async_call"
)
VARIATIONS, variations, avariations = _choosing(
    _endpoint("images.variations", "image", ""), "litellm.images.main:image_variation", answers.IMAGES, ""
)
SPEECH, speech, aspeech = _choosing(
    _endpoint("audio.speech", "speech", "input"), "litellm.main:speech", answers.PLAIN, "aspeech"
)
TRANSCRIPTION, transcription, atranscription = _choosing(
    _endpoint("audio.transcriptions", "text", "prompt"),
    "litellm.main:transcription",
    answers.TRANSCRIPTION,
    "atranscription",
)
MODERATION, moderation, amoderation = _choosing(
    _endpoint("moderations", "", "input", "moderation"), "litellm.main:moderation", answers.PLAIN, "amoderation"
)
MESSAGES, messages, amessages = _choosing(
    lambda _itself: LiteLLMMessages(), "litellm:anthropic_messages", answers.MESSAGES, "is_async"
)
RERANK, rerank, arerank = _choosing(
    _endpoint("rerank", "", "query", "rerank"), "litellm.rerank_api.main:rerank", answers.PLAIN, "arerank"
)
COMPACT, compact, acompact = _choosing(
    lambda itself: Responses(itself=itself, compact=True),
    "litellm.responses.main:responses",
    answers.RESPONSES,
    "acompact_responses",
)
