import pytest

from spanhook.server.keys import hash_of, new_key
from spanhook.server.sessions import key_id_of, seal, unseal

SECRET = "a" * 43
KEPT = hash_of(SECRET)
NOW = 1_800_000_000
LATER = NOW + 60


def test_a_session_gives_the_key_back() -> None:
    cookie = seal("0123456789ab", SECRET, KEPT, LATER)
    assert SECRET not in cookie
    assert (key_id_of(cookie, NOW), unseal(cookie, KEPT)) == ("0123456789ab", SECRET)
    assert seal("0123456789ab", SECRET, KEPT, LATER) != cookie


def test_a_session_ends() -> None:
    cookie = seal("0123456789ab", SECRET, KEPT, LATER)
    assert key_id_of(cookie, LATER) == ""
    key_id, _, sealed = cookie.split(".")
    assert unseal(f"{key_id}.{LATER + 1}.{sealed}", KEPT) == ""


@pytest.mark.parametrize(
    "cookie", ["", "a.b.c", "a.1", "..", "a.1.!", "a.1.é", "a.\u0661.aaaa", f"a.{'9' * 40}.aaaa", "a.9999999999."]
)
def test_what_is_no_session_is_none(cookie: str) -> None:
    assert key_id_of(cookie, 5) == "" or unseal(cookie, KEPT) == ""


def test_neither_another_key_nor_its_hash_makes_one() -> None:
    cookie = seal("0123456789ab", SECRET, KEPT, LATER)
    assert unseal(cookie, new_key().hash) == ""
    assert unseal(cookie.replace("0123456789ab", "ba9876543210"), KEPT) == ""
    assert hash_of(unseal(seal("0123456789ab", KEPT, KEPT, LATER), KEPT)) != KEPT
