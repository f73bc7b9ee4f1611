import pytest

from spanhook.server.addresses import is_loopback, is_secure, is_unspecified


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "::", "10.0.0.1", "localhost.example", "127.0.0.1.example")))


@pytest.mark.parametrize(
    "url", ["https://x.example", "https://[2001:db8::1]:8/a", "http://localhost:1", "http://[::1]"]
)
def test_what_nobody_can_listen_to_is_secure(url: str) -> None:
    assert is_secure(url)


@pytest.mark.parametrize("url", ["", "http://x.example", "https://", "https://[", "file:///etc", "javascript:1", "x"])
def test_everything_else_is_not(url: str) -> None:
    assert not is_secure(url)


def test_every_address_is_unspecified() -> None:
    assert [is_unspecified(one) for one in ("0.0.0.0", "[::]", "", "127.0.0.1", "x")] == [
        True,
        True,
        True,
        False,
        False,
    ]
