"""Which call is which: by method and path, in all the forms that clients write it."""

from typing import Any

from spanhook.instrument.openai.chat import CHAT
from spanhook.instrument.openai.completions import COMPLETIONS
from spanhook.instrument.openai.embeddings import EMBEDDINGS
from spanhook.instrument.openai.options import options_of
from spanhook.instrument.openai.responses import RESPONSES
from spanhook.shape import Args, Kwargs, Shape

#: What creates something, by the end of its path. Azure's and absolute URLs have more in front.
SHAPES = {
    "/chat/completions": CHAT,
    "/completions": COMPLETIONS,
    "/embeddings": EMBEDDINGS,
    "/responses": RESPONSES,
    "/responses/compact": RESPONSES,
}


def choose(_instance: Any, args: Args, kwargs: Kwargs) -> Shape | None:
    """The shape of a request; ``None`` for one that asks no model for anything."""
    options = options_of(args, kwargs)
    if options.method.lower() != "post":
        return None
    return SHAPES.get(options.url) or _by_ending(options.url)


def _by_ending(url: str) -> Shape | None:
    path = f"/{url.partition('?')[0].strip('/')}"
    for ending, shape in SHAPES.items():  # the longer of two endings stands first
        if path.endswith(ending):
            return shape
    return None
