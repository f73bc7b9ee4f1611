"""Signatures as Standard Webhooks has them (https://www.standardwebhooks.com), by its reference library.

While a secret is replaced, deliveries have a signature with each: receivers accept either.
"""

import base64
import secrets as random
from collections.abc import Iterable
from datetime import UTC, datetime

from standardwebhooks.webhooks import Webhook

PREFIX = "whsec_"
_LEAST, _MOST, _NEW = 24, 64, 32


def new_secret() -> str:
    """A random secret of 32 bytes: ``whsec_``, and these in Base64."""
    return PREFIX + base64.b64encode(random.token_bytes(_NEW)).decode()


def check_secret(secret: str) -> str:
    """A secret that somebody has given, as it is.

    Raises:
        ValueError: It is none of 24 to 64 bytes, as the specification asks for.
    """
    try:
        if not secret.startswith(PREFIX):
            raise ValueError(PREFIX)
        length = len(base64.b64decode(secret.removeprefix(PREFIX), validate=True))
    except ValueError:
        raise ValueError(f"expected a secret such as {PREFIX}..., with its bytes in Base64") from None
    if not _LEAST <= length <= _MOST:
        raise ValueError(f"the secret has {length} bytes; expected {_LEAST} to {_MOST}")
    return secret


def signed(secrets: Iterable[str], event_id: str, body: str, now: float) -> dict[str, str]:
    """The headers of a delivery.

    Args:
        secrets: The secrets in force, the newest first.
        event_id: The event's id, the same for each attempt.
        body: What is sent.
        now: The time in seconds since the epoch.

    Raises:
        ValueError: There is no secret.
    """
    at = datetime.fromtimestamp(int(now), UTC)
    signatures = " ".join(Webhook(one).sign(event_id, at, body) for one in secrets)
    if not signatures:
        raise ValueError("there is no secret to sign with")
    return {"webhook-id": event_id, "webhook-timestamp": str(int(now)), "webhook-signature": signatures}
