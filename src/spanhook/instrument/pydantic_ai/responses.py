"""What a model's response reports: usage, model, id, why it stopped."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.pydantic_ai.messages import read
from spanhook.instrument.wire import finished
from spanhook.model import Attributes, Message, Usage, current_record


def response_told(result: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of a ``ModelResponse``."""
    attributes: Attributes = {}
    if isinstance(result.model_name, str) and result.model_name:
        attributes[semconv.GEN_AI_RESPONSE_MODEL] = result.model_name
    if isinstance(result.provider_response_id, str) and result.provider_response_id:
        attributes[semconv.GEN_AI_RESPONSE_ID] = result.provider_response_id
    op = current_record()
    # A client's call inside this one knows the provider's own word, unless it has returned a stream.
    if op is None or op.stream.streamed or not op.inner.transported:
        reason = result.finish_reason
        if isinstance(reason, str):
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
    return attributes, usage_of(result.usage)


def usage_of(reported: Any) -> Usage | None:
    """Usage as the library reports it; none if all is zero, as it is for responses without usage."""
    used = Usage()
    used.input_tokens = used.count(getattr(reported, "input_tokens", None), "input_tokens")
    used.output_tokens = used.count(getattr(reported, "output_tokens", None), "output_tokens")
    if not used.input_tokens and not used.output_tokens:
        return None
    used.cache_read_tokens = used.count(getattr(reported, "cache_read_tokens", None), "cache_read_tokens")
    used.cache_write_tokens = used.count(getattr(reported, "cache_write_tokens", None), "cache_write_tokens")
    details = getattr(reported, "details", None) or {}
    thought = details.get("reasoning_tokens") or details.get("thoughts_tokens")
    used.reasoning_tokens = used.count(thought, "reasoning_tokens")
    return used


def response_output(result: Any) -> list[Message]:
    """The message of a response, or of a stream of one."""
    response = result if hasattr(result, "parts") else result.get()
    return [finished(read(response), response.finish_reason)]


def response_mark(result: Any) -> Any:
    """The id of the response, if the provider gave one."""
    return getattr(result, "provider_response_id", None) or None
