"""API keys: ``shk_ID_SECRET``. The id is public; of the secret only a hash is kept.

A secret has 256 bits of a random source, so one round of SHA-256 is enough: there is nothing to guess.
"""

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

PREFIX = "shk_"
_KEY = re.compile(r"shk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()


class NewKey(NamedTuple):
    """A new key.

    Attributes:
        key_id: Its id.
        text: The key, to be shown once.
        hash: What is kept.
    """

    key_id: str
    text: str
    hash: str


def new_key() -> NewKey:
    """Make a key."""
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return NewKey(key_id, f"{PREFIX}{key_id}_{secret}", hash_of(secret))


def hash_of(secret: str) -> str:
    """What is kept of a secret: its SHA-256, in hexadecimal."""
    return hashlib.sha256(secret.encode()).hexdigest()


def split_key(text: str) -> tuple[str, str] | None:
    """The id and the secret of a key; ``None`` if it is none."""
    found = _KEY.fullmatch(text)
    return (found[1], found[2]) if found else None


def is_secret(secret: str, kept: str | None) -> bool:
    """Whether a secret is the one of which the hash is kept. An unknown key, without one, takes as long."""
    return hmac.compare_digest(hash_of(secret), kept or _NOBODY) and kept is not None
