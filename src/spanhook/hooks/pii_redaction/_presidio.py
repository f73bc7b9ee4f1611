"""Presidio's pattern recognizers, without its language models: they find by regular expression and checksum alone."""

import inspect
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spanhook.errors import ConfigurationError
from spanhook.hooks.pii_redaction._entities import ENTITIES, Entity
from spanhook.hooks.pii_redaction._finders import Finder, Span

GENERIC = ("CREDIT_CARD", "CRYPTO", "IBAN_CODE", "IP_ADDRESS", "MAC_ADDRESS")
"""What Presidio looks for if settings name nothing."""
LOWEST_SCORE = 0.4
"""What Presidio is less sure of is left alone; it gives this score to patterns that need words around them."""
_ON_THE_NETWORK = frozenset(("EmailRecognizer",))
"""Recognizers that download a list when they are first used; spanhook has its own pattern for addresses."""


def presidio_entities(names: Sequence[str] | None) -> list[Entity]:
    """What Presidio's pattern recognizers find.

    Args:
        names: Presidio's names of entities, such as ``AU_TFN``; those that spanhook has too come from both.

    Raises:
        ConfigurationError: Presidio is not installed, or neither it nor spanhook knows a name.
    """
    if find_spec("presidio_analyzer") is None:
        raise ConfigurationError('detector: presidio needs Presidio; pip install "spanhook[presidio]"')
    found = [entity for entity in _recognizers() if entity.name in (GENERIC if names is None else names)]
    unknown = [name for name in names or () if name not in ENTITIES and all(name != one.name for one in found)]
    if unknown:
        raise ConfigurationError(
            f"entities: {', '.join(unknown)}: neither spanhook nor a pattern recognizer of Presidio has these"
        )
    return found


def _recognizers() -> Iterator[Entity]:
    base: Any = import_module("presidio_analyzer").PatternRecognizer
    known: dict[str, Any] = vars(import_module("presidio_analyzer.predefined_recognizers"))
    for name, cls in sorted(known.items()):
        if inspect.isclass(cls) and issubclass(cls, base) and cls is not base and name not in _ON_THE_NETWORK:
            recognizer: Any = cls()
            for entity in recognizer.supported_entities:
                yield Entity(entity, _finder(recognizer, entity), longest=512)


def _finder(recognizer: Any, entity: str) -> Finder:
    def find(text: str) -> Iterator[Span]:
        for found in recognizer.analyze(text, [entity], None) or ():
            if found.score >= LOWEST_SCORE:
                yield found.start, found.end

    return find
