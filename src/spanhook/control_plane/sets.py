"""The format of a set: what the processes of a tenant enforce, with a version, a digest and a signature.

Both ends use it. The signature is over the bytes that are sent, so nobody has to write the same JSON twice.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

FORMAT = 1
LARGEST = 16 * 1024 * 1024
"""Bytes of a set."""
_PURPOSE = b"spanhook set 1\n"
"""What is signed begins with it, so that a signature for something else is none for a set."""


class SetError(Exception):
    """A set that cannot be used; the message says why."""


class SigningKey(Protocol):
    """A private key of Ed25519, as ``cryptography`` has it."""

    def sign(self, data: bytes, /) -> bytes:
        """The signature of some bytes."""
        ...


@dataclass(frozen=True, slots=True)
class HookSet:
    """A set.

    Attributes:
        tenant: Whose processes enforce it; empty for processes of all tenants.
        version: It grows with each change.
        definitions: Definitions of hooks.
        policies: Groups of policies, each with ``tenant_id`` and ``policies``.
        settings: Settings of the process.
        digest: The SHA-256 of what was sent, in hexadecimal digits.
    """

    tenant: str
    version: int
    definitions: tuple[Any, ...]
    policies: tuple[Any, ...]
    settings: Mapping[str, Any]
    digest: str


def sealed(
    tenant: str,
    version: int,
    *,
    definitions: list[Any],
    policies: list[Any],
    settings: Mapping[str, Any],
    key: SigningKey | None,
) -> bytes:
    """A set as it is sent: JSON with ``payload``, ``digest`` and ``signature``.

    Args:
        tenant, version, definitions, policies, settings: See ``HookSet``.
        key: What it is signed with; ``None`` leaves ``signature`` empty.
    """
    payload = json.dumps(
        {
            "format": FORMAT,
            "tenant": tenant,
            "version": version,
            "definitions": definitions,
            "policies": policies,
            "settings": dict(settings),
        },
        separators=(",", ":"),
        sort_keys=True,
    )
    signature = b"" if key is None else key.sign(_PURPOSE + payload.encode())
    return json.dumps(
        {
            "payload": payload,
            "digest": hashlib.sha256(payload.encode()).hexdigest(),
            "signature": base64.b64encode(signature).decode(),
        }
    ).encode()


def opened(sent: bytes, public_key: str | None) -> HookSet:
    """The set in what was sent or kept.

    Args:
        sent: As ``sealed`` has made it.
        public_key: The key that it must be signed with, in Base64; ``None`` if it need not be signed.

    Raises:
        SetError: It is damaged, is not signed with that key, or has a format that is not known here.
    """
    try:
        envelope: Any = json.loads(sent)
        payload, digest, signature = envelope["payload"], envelope["digest"], envelope["signature"]
        raw: bytes = payload.encode()
        signed = base64.b64decode(signature, validate=True)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SetError("is not a set") from None
    if hashlib.sha256(raw).hexdigest() != digest:
        raise SetError("is damaged: its digest does not match")
    if public_key is not None:
        _verify(_PURPOSE + raw, signed, public_key)
    try:
        return _set(json.loads(payload), digest)
    except (ValueError, RecursionError):
        raise SetError("is not a set") from None


def _set(found: Any, digest: str) -> HookSet:
    content = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if content.get("format") != FORMAT:
        raise SetError(f"has the format {content.get('format')!r}; this version of spanhook knows {FORMAT}: update it")
    tenant, version = content.get("tenant"), content.get("version")
    definitions, policies, settings = (content.get(name) for name in ("definitions", "policies", "settings"))
    if (
        not isinstance(tenant, str)
        or type(version) is not int
        or not isinstance(definitions, list)
        or not isinstance(policies, list)
        or not isinstance(settings, dict)
    ):
        raise SetError("is not a set")
    return HookSet(
        tenant,
        version,
        tuple(cast("list[Any]", definitions)),
        tuple(cast("list[Any]", policies)),
        cast("dict[str, Any]", settings),
        digest,
    )


def _verify(signed: bytes, signature: bytes, public_key: str) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not signature:
        raise SetError("is not signed")
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True)).verify(signature, signed)
    except (InvalidSignature, ValueError, binascii.Error):
        raise SetError("is not signed with the server's key") from None
