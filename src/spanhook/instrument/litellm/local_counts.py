"""Usage that LiteLLM counts with its own tokenizer at the end of a stream, because the provider did not report it.

It is sent to the application like a report.
"""

import weakref
from typing import Any

from spanhook.model import Args, Kwargs

_counted: dict[int, "weakref.ref[Any]"] = {}
"""By id, as LiteLLM's usage is not hashable."""


def note_usage(instance: Any, args: Args, kwargs: Kwargs, result: Any) -> None:
    """Remember a usage that has other numbers than the chunks that it was made of."""
    chunks = kwargs["chunks"] if "chunks" in kwargs else args[0]
    reported = instance._calculate_usage_per_chunk(chunks=chunks)
    names = ("prompt_tokens", "completion_tokens")
    if any((reported[name] or 0) != getattr(result, name) for name in names):
        key = id(result)
        _counted[key] = weakref.ref(result, lambda _: _counted.pop(key, None))


def is_counted_locally(usage: Any) -> bool:
    """Whether LiteLLM has counted a usage, at least in part."""
    found = _counted.get(id(usage))
    return found is not None and found() is usage
