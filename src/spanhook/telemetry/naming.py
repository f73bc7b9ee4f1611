"""Which of the conventions' sets of names are written; ``semconv.SETS`` says which name belongs to which set."""

import os
from typing import Any

from spanhook import semconv


class Naming:
    """A choice of sets.

    Args:
        chosen: The sets that are written.

    Attributes:
        older, newest: Whether the names of v1.41 are written, and the newest ones.
        cache_write: The attribute names for tokens written to a cache.
        schema_url: The schema that contains all the names, if there is one.
    """

    __slots__ = ("cache_write", "newest", "older", "schema_url")

    def __init__(self, *chosen: semconv.NameSet) -> None:
        self.older, self.newest = "v1.41" in chosen, "newest" in chosen
        both = semconv.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS, semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS
        self.cache_write = tuple(name for name in both if self.has(name))
        self.schema_url = None if self.newest else semconv.SCHEMA_URL

    def has(self, name: str) -> bool:
        """Whether a name is written."""
        of = semconv.SETS.get(name)
        return of is None or (self.older if of == "v1.41" else self.newest)

    def told(self, kind: str, attributes: dict[str, Any]) -> dict[str, Any]:
        """What is known of an operation before its call, as its span is to have it: ``attributes``, or others."""
        if self.older:
            if semconv.GEN_AI_REQUEST_TOP_K in attributes:  # a double, which the newest has made an int
                attributes[semconv.GEN_AI_REQUEST_TOP_K] = float(attributes[semconv.GEN_AI_REQUEST_TOP_K])
        elif kind == "agent.invoke":
            return {name: value for name, value in attributes.items() if name not in semconv.NOT_OF_AGENTS}
        return attributes


V1_41 = Naming("v1.41")


def chosen() -> Naming:
    """The sets that ``OTEL_SEMCONV_STABILITY_OPT_IN`` asks for; values for other conventions are ignored."""
    words = {word.strip() for word in os.environ.get(semconv.OPT_IN, "").split(",")}
    if semconv.OPT_IN_BOTH in words:
        return Naming("v1.41", "newest")
    return Naming("newest") if semconv.OPT_IN_NEWEST in words else V1_41
