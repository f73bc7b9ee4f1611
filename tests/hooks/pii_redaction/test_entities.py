"""How often ordinary text is taken for something to redact; docs/hooks/pii-redaction.md has these figures."""

from collections import Counter
from pathlib import Path

from spanhook.hooks.pii_redaction import Redactor
from spanhook.hooks.pii_redaction._entities import DEFAULTS, ENTITIES, IDENTITY_NUMBERS, PERSONAL, SECRETS

ORDINARY = (Path(__file__).parent / "ordinary.txt").read_text(encoding="utf-8")


def found(*names: str) -> Counter[str]:
    redactor = Redactor([ENTITIES[name] for name in names])
    return Counter(ORDINARY[one.start : one.end] for one in redactor.find(ORDINARY))


def test_ordinary_text_with_the_default_entities() -> None:
    assert found(*DEFAULTS) == {"200 300 4000": 1}  # in a row of plain numbers: a phone number of the United States


def test_ordinary_text_with_all_entities() -> None:
    assert found(*ENTITIES) == {"200 300 4000": 1, "0123456789": 1}  # the checksum of a British one is right


def test_entities_are_named_once() -> None:
    assert len(ENTITIES) == len({*PERSONAL, *SECRETS, *IDENTITY_NUMBERS}) == 29
    assert set(DEFAULTS) < set(ENTITIES)
