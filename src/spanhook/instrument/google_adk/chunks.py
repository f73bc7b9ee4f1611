"""What a model yields: one response, or a stream of fragments and then the whole of what they said."""

from collections.abc import Mapping
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from spanhook import semconv
from spanhook.instrument.formats.google import GenerateContent
from spanhook.instrument.google_adk.contents import FORMAT, native
from spanhook.instrument.wire import OpenedTexts, as_reported, bounded, fields_of, usage_in_stream
from spanhook.model import Args, Attributes, ChunkText, Kwargs, Route, Texts, Usage, copied, current_record

_INPUT, _OUTPUT, _THOUGHTS = "prompt_token_count", "candidates_token_count", "thoughts_token_count"


def usage_of(reported: Any) -> Usage | None:
    """The counts of a response. Models other than Google's may count what they thought among what they said."""
    _, used = FORMAT.response({"usageMetadata": reported})
    if used is None:
        return None
    counts = fields_of(reported)
    told = [counts.get(name) or 0 for name in (_INPUT, _OUTPUT, _THOUGHTS, "total_token_count")]
    if told[2] and told[0] + told[1] == told[3]:
        used.output_tokens -= told[2]
    used.cache_write_tokens = used.count(counts.get("cache_creation_input_tokens"), "cache_write_tokens")
    return bounded(used)


class ModelChunks:
    """Adds up what one call yields. Counts are running totals."""

    def __init__(self, _instance: Any, args: Args, kwargs: Kwargs) -> None:
        self.keep = False
        self._request = args[0] if args else kwargs.get("llm_request")
        self._fragments: list[Any] = []
        self._whole: list[Any] = []
        self._usage: Any = None
        self._characters = 0
        self._op = current_record()

    @property
    def complete(self) -> bool:
        return bool(self._whole)

    def add(self, chunk: Any) -> bool:
        reported = getattr(chunk, "usage_metadata", None)
        if reported is not None:
            self._usage = as_reported(reported)
        if not getattr(chunk, "partial", None):
            self._whole.append(chunk)
            return True
        parts = _parts(chunk)
        self._characters += sum(len(one.text or "") for one in parts)
        if self.keep:
            self._fragments += copied(parts)  # their consumer may edit them
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        """End attributes and usage. The client inside of the call, if it is gated too, knows more than its model."""
        op = self._op
        used = usage_of(self._usage)
        if not self.complete:
            contents = getattr(self._request, "contents", None)
            used = usage_in_stream(
                used, {"contents": [_plain(one) for one in contents or ()]}, self._characters, is_whole=False
            )
        transported = op is not None and op.inner.transported
        return {} if transported or not self._whole else _attributes(self._whole[-1]), used

    def result(self) -> Any:
        """One response with all that was said."""
        if not self._whole:
            content = types.Content(role="model", parts=_joined(self._fragments))
            return LlmResponse(content=content, partial=True)
        last = self._whole[-1]
        if len(self._whole) == 1 or getattr(last, "content", None) is None:
            return last
        parts = [part for one in self._whole for part in _parts(one)]
        return last.model_copy(update={"content": types.Content(role="model", parts=parts)})


def _plain(content: Any) -> Any:
    return {"parts": [{"text": one.text or ""} for one in content.parts or ()]}


def _parts(response: Any) -> list[Any]:
    return list(getattr(getattr(response, "content", None), "parts", None) or ())


def _joined(parts: list[Any]) -> list[Any]:
    """Parts in which texts that go on with one another are one."""
    made: list[Any] = []
    for part in parts:
        last = made[-1] if made else None
        if last is not None and last.text is not None and part.text is not None and last.thought == part.thought:
            made[-1] = last.model_copy(update={"text": last.text + part.text})
        else:
            made.append(part)
    return made


def _attributes(response: Any) -> Attributes:
    attributes: Attributes = {}
    version, reason = getattr(response, "model_version", None), getattr(response, "finish_reason", None)
    if isinstance(version, str) and version:
        attributes[semconv.GEN_AI_RESPONSE_MODEL] = version
    if reason is not None:
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (str(getattr(reason, "value", reason)),)
    return attributes


# ------------------------------------------------------------------------------------------------- texts


def _opened(chunk: Any) -> dict[str, Any]:
    """A response as Google's JSON has it."""
    content = getattr(chunk, "content", None)
    told: dict[str, Any] = {"index": 0}
    if content is not None:
        told["content"] = content.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in ("error_message", "custom_metadata"):
        value = getattr(chunk, name, None)
        if value is not None:
            told[name] = value
    return {"candidates": [told]}


def _closed(chunk: Any, made: Mapping[str, Any]) -> Any:
    (told,) = made["candidates"]
    changes: dict[str, Any] = {name: one for name, one in told.items() if name not in ("content", "index")}
    if "content" in told:
        changes["content"] = native(told["content"])
    return chunk.model_copy(update={**changes, "avg_logprobs": None, "logprobs_result": None})


class ResponseTexts(OpenedTexts):
    """The texts of responses: fragments go on with each other, and what is no fragment says everything again."""

    def read(self, chunk: Any) -> ChunkText:
        found = super().read(chunk)
        if getattr(chunk, "partial", None):
            return found
        return ChunkText((), (*found.grows, *found.whole), ends=lambda _channel: True)

    def more(self, chunk: Any, leaf: Any, text: str) -> Any:
        return super().more(chunk, leaf, text).model_copy(update={"usage_metadata": None})

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return super().write(chunk, texts)


def _chunk_like(_chunk: Any, whole: Any) -> Any:
    return whole


TEXTS: Texts = ResponseTexts(GenerateContent().texts(_chunk_like), _opened, _closed)
