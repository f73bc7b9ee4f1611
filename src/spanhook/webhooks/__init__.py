"""Deliveries to endpoints of others: where they may go, signatures, the envelope, and trying again.

It needs ``pip install "spanhook[webhooks]"``. It knows no hooks, and no database of the control plane.
"""

from importlib.util import find_spec

from spanhook.errors import ConfigurationError

_missing = [name for name in ("h11", "standardwebhooks") if find_spec(name) is None]
if _missing:
    raise ConfigurationError(
        f'webhooks need {", ".join(_missing)}, not installed here: pip install "spanhook[webhooks]"'
    )

from spanhook.webhooks.deliverer import Deliverer  # noqa: E402
from spanhook.webhooks.destinations import Destination, DestinationError, Destinations  # noqa: E402
from spanhook.webhooks.envelope import MEDIA_TYPE, cloud_event, new_event_id, utc_text  # noqa: E402
from spanhook.webhooks.forwarder import Forwarder  # noqa: E402
from spanhook.webhooks.payload import body_of, entry_of  # noqa: E402
from spanhook.webhooks.schedule import Schedule  # noqa: E402
from spanhook.webhooks.sending import Answer, DeliveryError, Sender  # noqa: E402
from spanhook.webhooks.signing import check_secret, new_secret, signed  # noqa: E402
from spanhook.webhooks.tracing import traceparent  # noqa: E402

__all__ = [
    "MEDIA_TYPE",
    "Answer",
    "Deliverer",
    "DeliveryError",
    "Destination",
    "DestinationError",
    "Destinations",
    "Forwarder",
    "Schedule",
    "Sender",
    "body_of",
    "check_secret",
    "cloud_event",
    "entry_of",
    "new_event_id",
    "new_secret",
    "signed",
    "traceparent",
    "utc_text",
]
