"""Which fields of Cohere's requests hooks see, and which not."""

from spanhook.instrument.cohere.apis import _FORMATS
from tests.request_fields.cases import every_field_is_listed, what_is_seen_is_in_the_request
from tests.request_fields.others import COHERE


def test_every_field_is_listed() -> None:
    every_field_is_listed(COHERE)


def test_what_is_seen_is_in_the_request() -> None:
    what_is_seen_is_in_the_request(COHERE, _FORMATS)
