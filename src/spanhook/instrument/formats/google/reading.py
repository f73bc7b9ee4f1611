"""What Google's JSON reports: fields under either of their names, and usage.

JSON of protocol buffers may name a field ``inlineData`` or ``inline_data``: servers write the first, SDKs a mixture.
"""

import re
from functools import lru_cache
from typing import Any

from spanhook.instrument.wire import bounded, fields_of
from spanhook.model import Usage

_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_USAGE = {
    "input_tokens": ("promptTokenCount", "toolUsePromptTokenCount"),
    "output_tokens": ("candidatesTokenCount", "responseTokenCount", "thoughtsTokenCount"),
    "cache_read_tokens": ("cachedContentTokenCount",),
    "reasoning_tokens": ("thoughtsTokenCount",),
}
"""Counts that make up each of the conventions'. Those of a prompt include its cached part; thoughts are counted apart
from what the candidates say.
"""


@lru_cache(1000)
def snake(name: str) -> str:
    """The other name of a field."""
    return _WORD.sub("_", name).lower()


def field(value: Any, name: str) -> Any:
    """A field of an object, under either of its names.

    Args:
        value: JSON, or a model.
        name: The name as servers write it.
    """
    told = value if type(value) is dict else fields_of(value)
    found = told.get(name)
    return told.get(snake(name)) if found is None else found


def name_in(told: Any, name: str) -> str:
    """The name under which JSON has a field; the one that servers write if it has none."""
    return name if name in told or snake(name) not in told else snake(name)


def usage_of(reported: Any) -> Usage | None:
    """The reported counts; ``None`` if nothing was reported."""
    if not fields_of(reported):
        if not reported:
            return None
        used = Usage()
        used.skip("usage")
        return used
    used = Usage()
    for ours, names in _USAGE.items():
        setattr(used, ours, sum(used.count(field(reported, name), ours) for name in names))
    return bounded(used)
