"""Which provider a call is for, in the conventions' terms, and its model without LiteLLM's prefix."""

from functools import lru_cache
from typing import Any, NamedTuple

import litellm

from spanhook.instrument.addresses import address_of
from spanhook.instrument.wire import Server, Servers

#: LiteLLM's names of providers, where they differ from the conventions'.
_PROVIDERS = {
    "anthropic_text": "anthropic",
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "azure_text": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock_converse": "aws.bedrock",
    "bedrock_mantle": "aws.bedrock",
    "codestral": "mistral_ai",
    "cohere_chat": "cohere",
    "custom_openai": "openai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "text-completion-codestral": "mistral_ai",
    "text-completion-openai": "openai",
    "vertex_ai": "gcp.vertex_ai",
    "vertex_ai_beta": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "watsonx_text": "ibm.watsonx.ai",
    "xai": "x_ai",
}
_ROUTES = frozenset(("converse", "converse_like", "invoke", "responses"))
"""What LiteLLM writes between a provider and its model to choose one of the provider's APIs."""
ITSELF = frozenset(("openai", "azure.ai.openai"))
"""Providers that are OpenAI."""


class Named(NamedTuple):
    """A model's name as LiteLLM takes it, in its parts.

    Attributes:
        prefix: What precedes the model, with a slash at its end.
        model: The model.
        provider: The provider, in the conventions' terms.
    """

    prefix: str
    model: str
    provider: str


@lru_cache(1000)
def named(model: str, given: str = "") -> Named:
    """The parts of a model's name.

    Args:
        model: The name.
        given: The provider that the call names besides, if any.
    """
    prefix, rest = "", model
    first, slash, more = model.partition("/")
    if slash and (first == given if given else is_provider(first)):
        prefix, rest = f"{first}/", more
        second, slash, last = rest.partition("/")
        if slash and second in _ROUTES:
            prefix, rest = f"{prefix}{second}/", last
    provider = given or prefix.partition("/")[0] or _usual(model)
    return Named(prefix, rest, _PROVIDERS.get(provider, provider.partition("-language-models")[0]))


def is_provider(name: str) -> bool:
    """Whether LiteLLM knows a provider by this name."""
    return any(name == getattr(one, "value", one) for one in litellm.provider_list)


def _usual(model: str) -> str:
    """The provider of a model without a prefix."""
    known: Any = litellm.model_cost.get(model)
    provider: Any = known.get("litellm_provider") if isinstance(known, dict) else ""
    return provider if isinstance(provider, str) else ""


_SERVERS = Servers("", {})


@lru_cache(1000)
def server_of(model: str, given: str, url: str) -> Server:
    """Provider, address and port of a call.

    Args:
        model: The model's name, as passed.
        given: The provider, if it was passed.
        url: The server's URL, if it was passed.
    """
    provider = named(model, given).provider
    if not url:
        return provider or "litellm", "", 0
    try:
        host, port = address_of(url)
        provider = provider or _SERVERS.at(object, url)[0]
    except ValueError:
        host, port = "", 0
    return provider or "litellm", host, port
