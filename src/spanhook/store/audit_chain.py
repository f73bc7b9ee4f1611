"""The chain of hashes of an audit log: how a record becomes a line, and what its hash covers.

A record is a JSON object of strings, whole numbers, booleans, nulls, and lists and objects of these; there are no
fractions, which languages write differently. It is written as canonical JSON: keys sorted, no spaces, ASCII only. Its
``hash`` is the SHA-256, or with a key the HMAC-SHA-256 (RFC 2104), of the canonical JSON of the record without
``hash``, in hexadecimal. Its ``prev`` is the hash of the record before it, and that of the first is 64 zeros.
"""

import hashlib
import hmac
import json
from typing import Any

ZERO = "0" * 64
Entry = dict[str, Any]


def canonical(entry: Entry) -> bytes:
    """An object as canonical JSON."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest(data: bytes, key: bytes | None) -> str:
    """The SHA-256 of ``data``, or its HMAC-SHA-256 if there is a key, in hexadecimal."""
    if key is None:
        return hashlib.sha256(data).hexdigest()
    return hmac.new(key, data, hashlib.sha256).hexdigest()


def sealed(entry: Entry, key: bytes | None) -> tuple[bytes, str]:
    """The line of a record, with its line feed, and its hash."""
    mark = digest(canonical(entry), key)
    return canonical({**entry, "hash": mark}) + b"\n", mark
