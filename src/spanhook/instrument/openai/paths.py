"""Which call is which: by method and path, in all the forms that clients write it."""

from typing import Any

from spanhook.instrument.openai.chat import CHAT
from spanhook.instrument.openai.compatible import ITSELF, compatible
from spanhook.instrument.openai.completions import COMPLETIONS
from spanhook.instrument.openai.decisions import DECISIONS
from spanhook.instrument.openai.embeddings import EMBEDDINGS
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
}
_OTHERS = {path: compatible(shape) for path, shape in SHAPES.items()}


def choose(instance: Any, args: Args, kwargs: Kwargs) -> Shape | None:
    """The shape of a request; ``None`` for one that asks no model for anything."""
    options = options_of(args, kwargs)
    if options.method.lower() != "post":
        return None
    path = options.url
    shape = SHAPES.get(path)
    if shape is None:
        path = _ending(path)
        shape = SHAPES.get(path)
    if shape is None or server_of(instance, options.url)[0] in ITSELF:
        return shape
    return _OTHERS[path]


def _ending(url: str) -> str:
    """The one of the known paths that a URL ends in, or empty."""
    path = f"/{url.partition('#')[0].partition('?')[0].strip('/')}"
    return next((ending for ending in SHAPES if path.endswith(ending)), "")  # the longer of two stands first
