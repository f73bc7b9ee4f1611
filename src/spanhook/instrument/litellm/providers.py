"""Which provider a call is for, in the conventions' terms, and its model without LiteLLM's prefix."""

from functools import lru_cache
from importlib import metadata
from typing import Any, NamedTuple

import litellm

from spanhook.diagnostics import log
from spanhook.instrument.addresses import address_of
from spanhook.instrument.prefixes import provider_named, split
from spanhook.instrument.wire import Server, Servers

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
    first, route, last = split(model)
    if first and (first == given if given else is_provider(first)):
        prefix, rest = f"{first}/{route}/" if route else f"{first}/", last
    provider = given or prefix.partition("/")[0] or _usual(model)
    return Named(prefix, rest, provider_named(provider))


def is_provider(name: str) -> bool:
    """Whether LiteLLM knows a provider by this name."""
    return any(name == getattr(one, "value", one) for one in litellm.provider_list)


def _usual(model: str) -> str:
    """The provider of a model without a prefix."""
    known: Any = litellm.model_cost.get(model)
    provider: Any = known.get("litellm_provider") if isinstance(known, dict) else ""
    return provider if isinstance(provider, str) else ""


@lru_cache(1000)
def reports_usage(model: str, given: str) -> bool:
    """Whether a stream reports its usage on request.

    For some providers, LiteLLM refuses the request. Before 1.83, it replaces what some of the others report by a count
    of its own.

    Args:
        model: The model's name, as passed.
        given: The provider, if it was passed.
    """
    name = named(model, given)
    if name.provider in ITSELF:
        return True
    if _version() < _REPORTS_EVERYWHERE:
        return False
    provider = given or name.prefix.partition("/")[0] or _usual(model)
    try:
        accepted = litellm.get_supported_openai_params(model=name.model, custom_llm_provider=provider or None)
    except Exception as error:  # a provider's own code, which may need more than the model's name
        log.debug("spanhook: what LiteLLM passes on to %s: %r", provider, error)
        return False
    return "stream_options" in (accepted or ())


_REPORTS_EVERYWHERE = (1, 83)


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in metadata.version("litellm").split(".")[:2])


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
