"""Which call is which: by method and path, in all the forms that clients write it and servers understand it."""

from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from spanhook.instrument.openai.chat import CHAT
from spanhook.instrument.openai.compatible import ITSELF, compatible
from spanhook.instrument.openai.completions import COMPLETIONS
from spanhook.instrument.openai.decisions import DECISIONS
from spanhook.instrument.openai.embeddings import EMBEDDINGS
from spanhook.instrument.openai.endpoints import ENDPOINTS
from spanhook.instrument.openai.options import options_of
from spanhook.instrument.openai.providers import server_of
from spanhook.instrument.openai.responses import RESPONSES
from spanhook.shape import Args, Kwargs, Shape

#: What asks a model, by the end of its path. Azure's and absolute URLs have more in front.
SHAPES = {
    "/chat/completions": CHAT,
    "/completions": COMPLETIONS,
    "/decisions": DECISIONS,
    "/embeddings": EMBEDDINGS,
    "/responses": RESPONSES,
    "/responses/compact": RESPONSES,
    **ENDPOINTS,
}
_OTHERS = {path: compatible(shape) for path, shape in SHAPES.items()}
_ENDINGS = tuple(sorted((tuple(path[1:].split("/")) for path in SHAPES), key=len, reverse=True))


def choose(instance: Any, args: Args, kwargs: Kwargs) -> Shape | None:
    """The shape of a request; ``None`` for one that asks no model for anything."""
    options = options_of(args, kwargs)
    if options.method.lower() != "post":
        return None
    path = options.url
    shape = SHAPES.get(path)
    if shape is None or shape is COMPLETIONS:
        path = ending(path)
        if path in ("", "/completions"):  # what is missing in front may stand in the client's own address
            path = ending(_whole(instance, options.url))
        shape = SHAPES.get(path)
    if shape is None or server_of(instance, options.url)[0] in ITSELF:
        return shape
    return _OTHERS[path]


def _whole(instance: Any, url: str) -> str:
    """The path as it is sent: behind the client's own, unless it is an absolute address."""
    return url if "://" in url else f"{instance._base_url.path}/{url}"


@lru_cache(1000)
def ending(url: str) -> str:
    """The one of the known paths that an address ends in, or empty.

    Servers take a path percent-encoded, in upper case, with doubled slashes and with dots for the same, some of them,
    so all of them are.
    """
    segments: list[str] = []
    path = url.partition("#")[0].partition("?")[0]
    for _ in range(3):
        path = unquote(path)
    for said in path.replace("\\", "/").lower().split("/"):
        segment = said.partition(";")[0].partition("?")[0].partition("#")[0].strip()
        if segment == "..":
            del segments[-1:]
        elif segment and segment != ".":
            segments.append(segment)
    for known in _ENDINGS:  # the longest first
        last = segments[-len(known) :]
        if len(last) == len(known) and all(one in ("*", there) for one, there in zip(known, last, strict=True)):
            return f"/{'/'.join(known)}"
    return ""
