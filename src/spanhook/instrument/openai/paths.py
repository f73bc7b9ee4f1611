"""Identifies calls by method and path, in every form that clients write and servers accept."""

from typing import Any

from spanhook.instrument.openai.chat import CHAT
from spanhook.instrument.openai.compatible import ITSELF, compatible
from spanhook.instrument.openai.completions import COMPLETIONS
from spanhook.instrument.openai.decisions import DECISIONS
from spanhook.instrument.openai.embeddings import EMBEDDINGS
from spanhook.instrument.openai.endpoints import ENDPOINTS
from spanhook.instrument.openai.responses import RESPONSES
from spanhook.instrument.openai.servers import server_of
from spanhook.instrument.stainless import Paths, options_of, settle, whole
from spanhook.model import Adapter, Args, Kwargs

#: Calls to a model, by the end of their path. Azure's and absolute URLs have longer prefixes.
ADAPTERS = {
    "/chat/completions": CHAT,
    "/completions": COMPLETIONS,
    "/decisions": DECISIONS,
    "/embeddings": EMBEDDINGS,
    "/responses": RESPONSES,
    "/responses/compact": RESPONSES,
    **ENDPOINTS,
}
_OTHERS = {path: compatible(adapter) for path, adapter in ADAPTERS.items()}
ending = Paths(ADAPTERS).ending


def choose(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a request; ``None`` if it does not call a model."""
    options = options_of(args, kwargs)
    if options.method.lower() != "post":
        return None
    path = options.url
    adapter = ADAPTERS.get(path)
    if adapter is None or adapter is COMPLETIONS:
        path = ending(path)
        if path in ("", "/completions"):  # the missing prefix may be in the client's own address
            path = ending(whole(instance, options.url))
        adapter = ADAPTERS.get(path)
    if adapter is not None:
        settle(options)
    if adapter is None or server_of(instance, options.url)[0] in ITSELF:
        return adapter
    return _OTHERS[path]
