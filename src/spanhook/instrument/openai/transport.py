"""OpenAI's client: the servers behind it, and models that are named by the address, as Azure's deployments are."""

import re
from typing import Any

from spanhook.instrument.stainless import StainlessTransport, options_of
from spanhook.instrument.wire import Fields, Servers
from spanhook.model import Args, Kwargs, exact_text

AZURE, DEFAULT = "azure.ai.openai", "openai"
ITSELF = frozenset((DEFAULT, AZURE))
"""Providers that are OpenAI; others use its protocol. Unknown ones are taken for OpenAI."""
_DEPLOYMENT = re.compile(r"/deployments/([^/?#]+)")


class _OpenAITransport(StainlessTransport):
    def model_of(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> Any:  # noqa: ARG002
        model = body.get("model")
        return (model if type(model) is str else exact_text(model)) or getattr(instance, "_azure_deployment", None)

    def fixed_model(self, instance: Any, args: Args, kwargs: Kwargs) -> str:
        url = options_of(args, kwargs).url
        base = "" if "://" in url or _leaves_deployment(instance, url) else str(getattr(instance, "_base_url", ""))
        found = _DEPLOYMENT.search(url) or _DEPLOYMENT.search(base)
        return "" if found is None else found[1]


def _leaves_deployment(instance: Any, url: str) -> bool:
    """Whether Azure's client sends a request elsewhere than to the deployment in its own address."""
    # Not at the top: it imports the client, and this module is loaded while the client is being imported.
    from openai.lib.azure import _deployments_endpoints

    return getattr(instance, "_azure_deployment", None) is not None and url not in _deployments_endpoints


TRANSPORT = _OpenAITransport("openai", Servers(DEFAULT, {"BaseAzureClient": AZURE}))
server_of = TRANSPORT.server_at
