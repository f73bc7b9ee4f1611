"""Which addresses are of this machine, and which can be trusted."""

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether an address, or the name ``localhost``, can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_secure(url: str) -> bool:
    """Whether nobody on the way can read or change what is sent to an address: HTTPS, or this machine."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        )
    except ValueError:
        return False


def is_unspecified(host: str) -> bool:
    """Whether an address stands for every address of this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return host == ""
