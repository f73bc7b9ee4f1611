"""Identifies the server behind a client: provider, address and port, from its class and base URL."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from spanhook.instrument.addresses import address_of

#: Providers in the conventions' terms, by the end of the host name.
_HOSTS = (
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.openai"),
    ("cognitiveservices.azure.com", "azure.ai.openai"),
    ("models.ai.azure.com", "azure.ai.inference"),
    ("inference.ai.azure.com", "azure.ai.inference"),
    ("deepseek.com", "deepseek"),
    ("groq.com", "groq"),
    ("x.ai", "x_ai"),
    ("mistral.ai", "mistral_ai"),
    ("perplexity.ai", "perplexity"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("anthropic.com", "anthropic"),
    ("cohere.com", "cohere"),
    ("cohere.ai", "cohere"),
    ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
)
_BEDROCK = (".amazonaws.com", ".api.aws")
_MAX_KEPT = 1000

Server = tuple[str, str, int]
"""Provider, address and port; empty and 0 if the URL has none."""


class Servers:
    """The servers used by the clients of one package.

    Args:
        default: The provider for unknown hosts that use the protocol.
        classes: Providers by client class name, whatever the URL; the classes need not be imported.
    """

    def __init__(self, default: str, classes: Mapping[str, str]) -> None:
        self._default, self._classes = default, classes
        self._known: dict[int, tuple[type, Any, Server]] = {}
        """By the id of a base URL, which is kept alive so that the id is not reused. Converting a URL to text takes far
        longer."""

    def at(self, client: type, base: Any, url: str = "") -> Server:
        """The server that gets a request.

        Args:
            client: The client's class.
            base: The client's own URL, as text or in any other form.
            url: The request's URL; one that is not absolute does not matter.
        """
        if url[:4].lower() == "http":
            return self._look_at(url, client)
        known = self._known.get(id(base))
        if known is not None and known[1] is base and known[0] is client:
            return known[2]
        if len(self._known) >= _MAX_KEPT:
            self._known.clear()
        found = self._look_at(str(base), client)
        self._known[id(base)] = client, base, found
        return found

    def _look_at(self, url: str, client: type) -> Server:
        host, port = address_of(url)
        known = (self._classes.get(one.__name__) for one in client.__mro__)
        return next(filter(None, known), "") or _provider_at(host) or self._default, host, port


@lru_cache(maxsize=_MAX_KEPT)
def _provider_at(host: str) -> str:
    """The provider at a host; empty if it is not known."""
    for ending, provider in _HOSTS:
        # a region and a hyphen may precede the name, as in `europe-west4-aiplatform.googleapis.com`
        if host == ending or host.endswith((f".{ending}", f"-{ending}")):
            return provider
    return "aws.bedrock" if "bedrock" in host and host.endswith(_BEDROCK) else ""
