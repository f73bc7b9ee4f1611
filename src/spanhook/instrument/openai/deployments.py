"""Models that are named by the address: Azure's deployments."""

import re
from typing import Any

from spanhook.instrument.stainless import options_of
from spanhook.model import Args, Kwargs


def with_model(instance: Any, args: Args, kwargs: Kwargs, body: dict[str, Any], model: str) -> None:
    """Make the body ask for another model.

    Raises:
        ValueError: The address names the model, as for Azure's deployments, and the body has no effect.
    """
    url = options_of(args, kwargs).url
    base = "" if "://" in url or _leaves_deployment(instance, url) else str(getattr(instance, "_base_url", ""))
    found = _DEPLOYMENT.search(url) or _DEPLOYMENT.search(base)
    if found is not None and found[1] != model:
        raise ValueError(f"the address always calls its deployment {found[1]!r}; model= would have no effect")
    body["model"] = model


def _leaves_deployment(instance: Any, url: str) -> bool:
    """Whether Azure's client sends a request elsewhere than to the deployment in its own address."""
    # Not at the top: it imports the client, and this module is loaded while the client is being imported.
    from openai.lib.azure import _deployments_endpoints

    return getattr(instance, "_azure_deployment", None) is not None and url not in _deployments_endpoints


_DEPLOYMENT = re.compile(r"/deployments/([^/?#]+)")
