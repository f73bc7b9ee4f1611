"""Who is behind a client: provider, server address and port, by its class and base URL."""

from typing import Any
from urllib.parse import urlsplit

AZURE, DEFAULT = "azure.ai.openai", "openai"

#: Providers in the conventions' terms by the end of the host's name. Whoever else speaks the protocol is ``openai``.
_HOSTS = (
    ("openai.azure.com", AZURE),
    ("services.ai.azure.com", AZURE),
    ("cognitiveservices.azure.com", AZURE),
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
"""Provider, address and port; no address and port 0 where the URL tells none."""

_servers: dict[int, tuple[type, Any, Server]] = {}
"""By the id of a base URL, which is kept so that no other gets that id. To write a URL out takes far longer."""


def server_of(client: Any, url: str) -> Server:
    """The server that ``client`` asks for ``url``: its own, unless the URL is an absolute one."""
    if url[:4].lower() == "http":
        return _look_at(url, client)
    base = client._base_url
    known = _servers.get(id(base))
    if known is not None and known[1] is base and known[0] is type(client):
        return known[2]
    if len(_servers) >= _MAX_KEPT:
        _servers.clear()
    found = _look_at(str(base), client)
    _servers[id(base)] = type(client), base, found
    return found


def _look_at(url: str, client: Any) -> Server:
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (80 if parts.scheme == "http" else 443)
    provider = AZURE if hasattr(client, "_azure_deployment") else _provider(host)
    return provider, host, port if host else 0


def _provider(host: str) -> str:
    for ending, provider in _HOSTS:
        # a region may stand in front of a name with a hyphen, as in `europe-west4-aiplatform.googleapis.com`
        if host == ending or host.endswith((f".{ending}", f"-{ending}")):
            return provider
    if "bedrock" in host and host.endswith(_BEDROCK):
        return "aws.bedrock"
    return DEFAULT
