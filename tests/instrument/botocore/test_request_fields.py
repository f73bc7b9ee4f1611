"""Which fields of Amazon Bedrock's requests hooks see, and which not."""

from spanhook.instrument.formats.bedrock import Converse
from tests.request_fields.cases import every_field_is_listed
from tests.request_fields.checking import in_arguments
from tests.request_fields.others import BEDROCK


def test_every_field_is_listed() -> None:
    every_field_is_listed(BEDROCK)


def test_what_is_beside_the_messages() -> None:
    assert list(Converse.beside) == in_arguments(BEDROCK, "Converse")
