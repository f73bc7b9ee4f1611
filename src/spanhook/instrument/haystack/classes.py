"""Which classes follow the protocol of chat generators. This is read while the library is being imported."""

import inspect
import weakref

from spanhook.instrument.signatures import Signature

_OTHERS = (
    ("haystack.components.agents.agent", "Agent"),
    ("haystack.components.generators.chat.fallback", "FallbackChatGenerator"),
)
"""Components that are asked with messages and are no models: agents, and what only passes requests on."""
_KNOWN: "weakref.WeakKeyDictionary[type, Signature]" = weakref.WeakKeyDictionary()
_OPEN = frozenset((inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL))


def takes_messages(cls: type) -> bool:
    """Whether a class may be one of chat generators: its ``run`` takes ``messages``, or whatever it is given."""
    if any((one.__module__, one.__name__) in _OTHERS for one in cls.__mro__):
        return False
    parameters = _parameters(cls)
    return "messages" in parameters or any(
        one.kind is inspect.Parameter.VAR_KEYWORD and hasattr(cls, "__haystack_input__") for one in parameters.values()
    )


def _parameters(cls: type) -> dict[str, inspect.Parameter]:
    run = getattr(cls, "run", None)
    try:
        return dict(inspect.signature(run).parameters) if callable(run) else {}
    except (TypeError, ValueError):
        return {}


def signature_of(cls: type) -> Signature:
    """The arguments of a generator's ``run`` and ``run_async``, which are the same."""
    found = _KNOWN.get(cls)
    if found is None:
        places = [name for name, one in _parameters(cls).items() if name != "self" and one.kind in _PLACED]
        found = _KNOWN[cls] = Signature(*places)
    return found


_PLACED = frozenset((inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD))


def accepts(cls: type, name: str) -> bool:
    """Whether a generator's ``run`` takes an argument of this name."""
    parameters = _parameters(cls)
    return name in parameters or any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
