"""Secrets of webhooks at rest: encrypted with a key that only the server's environment has."""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE = 12


class Seal:
    """Encrypts secrets with AES-256-GCM, each bound to what it belongs to.

    Args:
        key: A secret that is not in the database, at least 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(HKDF(SHA256(), 32, None, b"spanhook webhooks").derive(key))

    def close(self, text: str, owner: str) -> bytes:
        """Encrypt a text.

        Args:
            text: The text.
            owner: The id of what it belongs to: nothing else opens it.
        """
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, text.encode(), owner.encode())

    def open(self, sealed: bytes, owner: str) -> str:
        """The text; empty if it was closed with another key, for something else, or was changed."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], owner.encode()).decode()
        except (InvalidTag, ValueError):
            return ""
