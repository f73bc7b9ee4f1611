"""Which fields of Anthropic's requests hooks see, and which not."""

from spanhook.instrument.formats.anthropic import Batches, Messages
from tests.request_fields.cases import every_field_is_listed
from tests.request_fields.checking import in_arguments
from tests.request_fields.stainless import ANTHROPIC


def test_every_field_is_listed() -> None:
    every_field_is_listed(ANTHROPIC)


def test_what_is_beside_the_messages() -> None:
    assert list(Messages.beside) == in_arguments(ANTHROPIC, "/v1/messages?beta")
    assert list(Batches.beside) == in_arguments(ANTHROPIC, "/v1/messages/batches") == []
