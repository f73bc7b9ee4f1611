"""Whether two names denote the same model or provider, however clients, routers and responses write them."""

import re
from functools import lru_cache
from typing import Any


def same_model(asked: Any, gated: str) -> bool:
    """Whether two names denote the same model, however providers, routers and responses write them."""
    if not asked or asked == gated:
        return True
    return isinstance(asked, str) and normalized(asked) == normalized(gated)


#: Providers in the conventions' terms. For others, frameworks use their own names, such as a class name.
_PROVIDERS = frozenset(
    (
        "anthropic", "aws.bedrock", "azure.ai.inference", "azure.ai.openai", "cohere", "deepseek", "gcp.gemini",
        "gcp.gen_ai", "gcp.vertex_ai", "groq", "ibm.watsonx.ai", "mistral_ai", "openai", "perplexity", "x_ai",
    )
)  # fmt: skip


def same_provider(asked: Any, gated: str) -> bool:
    """Whether two names may denote the same provider; true for frameworks' own names, whose provider is unknown."""
    if asked == gated or asked not in _PROVIDERS or gated not in _PROVIDERS:
        return True
    return not set(asked.split(".")).isdisjoint(gated.split("."))


_DATE = re.compile(
    r"""(?: [-@:] (?: latest
            | 20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])  # a day
            | 2[3-9](?:0[1-9]|1[0-2])                              # a month, as Mistral writes it
            | (?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]) )           # a day, as OpenAI wrote it
          (?:-v\d+)? )$""",
    re.VERBOSE,
)


@lru_cache(maxsize=1024)
def normalized(model: str) -> str:
    """A model's name without its location (``openai/``, ``models/``) and its date."""
    return _DATE.sub("", model.casefold().rpartition("/")[2])
