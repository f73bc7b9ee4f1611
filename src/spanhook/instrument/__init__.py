"""The libraries that spanhook binds, by the name users give them."""

import importlib
from collections.abc import Iterable, Iterator

from spanhook.errors import ConfigurationError
from spanhook.instrument.engine import Instrumentor

#: Instrumentors by library. OpenTelemetry's own comes first: the others report through it.
INSTRUMENTORS = {
    "langchain_core": "spanhook.instrument.langchain_core:LangChainInstrumentor",
    "langgraph": "spanhook.instrument.langgraph:LangGraphInstrumentor",
    "openai": "spanhook.instrument.openai:OpenAIInstrumentor",
}
ALIASES = {"langchain": "langchain_core", "langchain-core": "langchain_core"}


def names(given: Iterable[str]) -> list[str]:
    """The libraries meant by ``given``.

    Raises:
        ConfigurationError: There is no instrumentor for one of them.
    """
    found: list[str] = []
    for name in [given] if isinstance(given, str) else given:
        known = ALIASES.get(name.strip(), name.strip())
        if known not in INSTRUMENTORS:
            raise ConfigurationError(f"unknown library {name!r}; spanhook binds {', '.join(INSTRUMENTORS)}")
        found.append(known)
    return found


def instrumentor(name: str) -> Instrumentor:
    """The instrumentor of one library; the library itself is not imported."""
    module, _, attribute = INSTRUMENTORS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)()


def installed(only: Iterable[str] | None = None) -> Iterator[Instrumentor]:
    """Instrumentors of the libraries that are installed, or of those among ``only``."""
    wanted = names(only) if only is not None else list(INSTRUMENTORS)
    for name in wanted:
        found = instrumentor(name)
        if found.version:
            yield found
