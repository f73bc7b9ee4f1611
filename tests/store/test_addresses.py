"""Addresses of stores."""

import os
from pathlib import Path

import pytest

from spanhook.errors import ConfigurationError
from spanhook.store import Address, parse_address


def test_memory_has_no_path() -> None:
    assert parse_address("memory://") == Address("memory", "memory://", "", "memory://")


def test_a_relative_file_starts_at_the_folder(tmp_path: Path) -> None:
    path = str(tmp_path / "data" / "spanhook.db")
    assert parse_address("sqlite:///data/spanhook.db", str(tmp_path)) == Address(
        "sqlite", f"sqlite:///{path}", path, f"sqlite:///{path}"
    )


def test_a_relative_file_starts_at_the_working_directory_without_a_folder() -> None:
    assert parse_address("sqlite:///a.db").path == os.path.join(os.getcwd(), "a.db")


def test_an_absolute_file_has_four_slashes() -> None:
    address = parse_address("sqlite:////var/lib/a%20b.db", "/elsewhere")
    assert address.path == "/var/lib/a b.db"
    assert parse_address(address.url) == address


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://127.0.0.1:6380/2", "redis://127.0.0.1:6380/2"),
        ("redis://localhost", "redis://localhost:6379"),
        ("rediss://someone:secret@redis.internal:6380/0", "rediss://redis.internal:6380/0"),
        ("redis://[::1]:6379/0", "redis://[::1]:6379/0"),
        ("postgresql://someone:secret@db.internal/agents?sslmode=require", "postgresql://db.internal:5432/agents"),
    ],
)
def test_a_server_is_shown_without_its_password(url: str, shown: str) -> None:
    address = parse_address(url)
    assert (address.scheme, address.url, address.shown) == (
        url.partition(":")[0].replace("rediss", "redis"),
        url,
        shown,
    )


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "it has no scheme"),
        ("spanhook.db", "it has no scheme"),
        ("mysql://u:secret@h/d", r"mysql://\.\.\."),
        ("postgresql://u:secret@h", "no database"),
        ("sqlite://a.db", "three slashes"),
        ("sqlite:///", "three slashes"),
        ("sqlite:///a.db?mode=ro", "three slashes"),
        ("sqlite:///:memory:", "write memory:// for"),
        ("redis://", "has no host"),
        ("redis://:secret@h:port/0", "cannot be read"),
        ("redis://:secret@h:99999/0", "cannot be read"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(url: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        parse_address(url)
    assert "secret" not in str(caught.value)
