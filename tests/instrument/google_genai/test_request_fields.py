"""Which fields of Google's requests hooks see, and which not."""

from tests.request_fields.cases import every_field_is_listed
from tests.request_fields.others import GOOGLE


def test_every_field_is_listed() -> None:
    every_field_is_listed(GOOGLE)
