"""Which fields of Mistral's requests hooks see, and which not."""

from spanhook.instrument.mistralai.apis import _FORMATS
from tests.request_fields.cases import every_field_is_listed
from tests.request_fields.checking import in_arguments
from tests.request_fields.others import MISTRAL


def test_every_field_is_listed() -> None:
    every_field_is_listed(MISTRAL)


def test_what_is_beside_the_messages() -> None:
    for name in MISTRAL.apis:
        listed = in_arguments(MISTRAL, name)
        assert set(listed) <= set(_FORMATS[name].beside), name
