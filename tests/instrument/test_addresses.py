"""Hosts and ports of URLs."""

import pytest

from spanhook.instrument.addresses import address_of


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://api.openai.com/v1", ("api.openai.com", 443)),
        ("http://LOCALHOST/v1", ("localhost", 80)),
        ("http://[::1]:8080/v1", ("::1", 8080)),
        ("https://user:word@models.example:444", ("models.example", 444)),
        ("models.example/v1", ("", 0)),
        ("", ("", 0)),
    ],
)
def test_the_server_of_a_url(url: str, address: tuple[str, int]) -> None:
    assert address_of(url) == address


def test_a_port_that_there_cannot_be() -> None:
    with pytest.raises(ValueError, match="Port out of range"):
        address_of("https://models.example:70000")
