"""Which fields of Groq's requests hooks see, and which not."""

from spanhook.instrument.groq.apis import _FORMATS
from tests.request_fields.cases import every_field_is_listed, what_is_seen_is_in_the_request
from tests.request_fields.stainless import GROQ


def test_every_field_is_listed() -> None:
    every_field_is_listed(GROQ)


def test_what_is_seen_is_in_the_request() -> None:
    what_is_seen_is_in_the_request(GROQ, _FORMATS)
