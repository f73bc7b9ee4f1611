"""Sessions of the web pages: what makes one, sealed into a cookie.

For an API key, the cookie has the key's secret, encrypted with a key that is derived from the hash that the database
keeps. So neither the cookie nor the database alone gives the secret away or makes a session, a session ends with its
key, and all processes of a database know it. For OpenID Connect, see ``openid``.
"""

import base64
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

COOKIE = "spanhook_session"
LASTS_S = 12 * 3600
"""Seconds until a session ends."""
_NONCE = 12


def seal(key_id: str, secret: str, kept: str, expires: int) -> str:
    """The cookie of a session.

    Args:
        key_id: The id of the API key, or another name of what is sealed, without a dot.
        secret: The key's secret, or another text.
        kept: The hash that is kept of the secret, or another text that only the server knows.
        expires: When the session ends, in seconds since the epoch.
    """
    nonce, about = os.urandom(_NONCE), f"{key_id}.{expires}"
    sealed = AESGCM(_derived(kept)).encrypt(nonce, secret.encode(), about.encode())
    return f"{about}.{base64.urlsafe_b64encode(nonce + sealed).decode().rstrip('=')}"


def key_id_of(cookie: str, now: float) -> str:
    """The id of the API key of a session that has not ended; empty if it has, or is none.

    Args:
        cookie: The cookie.
        now: The time in seconds since the epoch.
    """
    key_id, expires, sealed = _parts(cookie)
    return key_id if sealed and expires > now else ""


def unseal(cookie: str, kept: str) -> str:
    """The secret in a session's cookie; empty if it was not sealed with this hash, or was changed."""
    key_id, expires, sealed = _parts(cookie)
    try:
        opened = AESGCM(_derived(kept)).decrypt(sealed[:_NONCE], sealed[_NONCE:], f"{key_id}.{expires}".encode())
    except (InvalidTag, ValueError):
        return ""
    return opened.decode()


def _parts(cookie: str) -> tuple[str, int, bytes]:
    parts = cookie.split(".")
    if len(parts) != 3 or not (parts[1].isascii() and parts[1].isdecimal() and len(parts[1]) < 13):
        return "", 0, b""
    try:
        sealed = base64.urlsafe_b64decode(f"{parts[2]}{'=' * (-len(parts[2]) % 4)}".encode("ascii"))
    except ValueError:
        return "", 0, b""
    return parts[0], int(parts[1]), sealed


def _derived(kept: str) -> bytes:
    return HKDF(SHA256(), 32, None, b"spanhook session").derive(kept.encode())
