import base64
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from spanhook.control_plane import SetError, opened, sealed
from spanhook.control_plane.sets import HookSet

KEY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


def public(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def made(key: Ed25519PrivateKey | None = KEY, **fields: Any) -> bytes:
    every: dict[str, Any] = {"definitions": [{"name": "é"}], "policies": [], "settings": {"mode": "shadow"}, **fields}
    return sealed("acme", 7, key=key, **every)


def changed(sent: bytes, **fields: Any) -> bytes:
    return json.dumps({**json.loads(sent), **fields}).encode()


def test_what_is_sealed_can_be_opened() -> None:
    for public_key in (public(KEY), None):
        found = opened(made(), public_key)
        digest = json.loads(made())["digest"]
        assert found == HookSet("acme", 7, ({"name": "é"},), (), {"mode": "shadow"}, digest)


def test_sets_of_the_same_content_are_the_same_bytes() -> None:
    assert made() == made()
    assert made() != made(settings={})


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (made(None), "is not signed"),
        (made(OTHER), "is not signed with the server's key"),
        (changed(made(), signature="AAAA"), "is not signed with the server's key"),
        (changed(made(), signature=json.loads(made(settings={}))["signature"]), "not signed with the server's key"),
        (changed(made(), payload=json.loads(made())["payload"].replace("acme", "evil")), "digest does not match"),
        (changed(made(), payload=1), "is not a set"),
        (changed(made(), signature="é"), "is not a set"),
        (b"[]", "is not a set"),
        (b"", "is not a set"),
        (b"[" * 100_000, "is not a set"),
    ],
)
def test_what_the_server_has_not_signed_is_refused(sent: bytes, why: str) -> None:
    with pytest.raises(SetError, match=why):
        opened(sent, public(KEY))


def test_a_signature_of_something_else_is_none_for_a_set() -> None:
    payload = json.loads(made())["payload"]
    signature = base64.b64encode(KEY.sign(payload.encode())).decode()
    with pytest.raises(SetError, match="is not signed with"):
        opened(changed(made(), signature=signature), public(KEY))


def test_a_format_of_tomorrow_is_told() -> None:
    other = json.dumps({"format": 2})
    sent = {"payload": other, "digest": hashlib.sha256(other.encode()).hexdigest(), "signature": ""}
    with pytest.raises(SetError, match="has the format 2; this version of spanhook knows 1: update it"):
        opened(json.dumps(sent).encode(), None)


@given(st.integers(0, 2000), st.integers(0, 255))
def test_no_changed_byte_goes_unnoticed(place: int, value: int) -> None:
    sent = bytearray(made())
    place %= len(sent)
    before = bytes(sent)
    sent[place] = value
    try:
        found = opened(bytes(sent), public(KEY))
    except SetError:
        return
    assert found == opened(before, public(KEY))  # a byte between the parts, which says nothing
