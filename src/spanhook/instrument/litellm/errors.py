"""LiteLLM's own exceptions, by HTTP status."""

from typing import Any

import httpx
from litellm import exceptions

_BY_STATUS: dict[int, type[Exception]] = {
    400: exceptions.BadRequestError,
    401: exceptions.AuthenticationError,
    403: exceptions.PermissionDeniedError,
    404: exceptions.NotFoundError,
    408: exceptions.Timeout,
    422: exceptions.UnprocessableEntityError,
    429: exceptions.RateLimitError,
    500: exceptions.InternalServerError,
    503: exceptions.ServiceUnavailableError,
}
_REQUEST = httpx.Request("POST", "https://docs.litellm.ai/docs")
"""What LiteLLM's exceptions name as their request when there was none."""


def error_for(status: int, reason: str, model: str, provider: str) -> Exception:
    """The exception that LiteLLM raises for a server's refusal.

    Args:
        status: The HTTP status.
        reason: The message.
        model: The model, as the call named it.
        provider: LiteLLM's name of the provider.
    """
    response = httpx.Response(status, request=_REQUEST)
    told: dict[str, Any] = {"message": reason, "model": model, "llm_provider": provider}
    kind: Any = _BY_STATUS.get(status)
    if kind is None:
        return exceptions.APIError(status_code=status, request=_REQUEST, **told)
    if kind is exceptions.Timeout:
        return kind(**told)
    return kind(**told, response=response)
