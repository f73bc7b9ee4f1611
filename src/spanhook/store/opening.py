"""Opens what is kept at an address: requests for approval, the same object for the same address in one process, and
states.
"""

import os
import threading

from spanhook.errors import ConfigurationError
from spanhook.store.addresses import parse_address
from spanhook.store.approvals import Approvals
from spanhook.store.memory_approvals import MemoryApprovals
from spanhook.store.states import MemoryStates, PostgresStates, SQLiteStates, States

_opened: dict[str, Approvals] = {}
_opening = threading.Lock()


def open_approvals(url: str) -> Approvals:
    """The requests for approval at an address.

    Args:
        url: See ``parse_address``.

    Raises:
        ConfigurationError: The address cannot be used, or a package is missing.
    """
    address = parse_address(url)
    with _opening:
        known = _opened.get(address.url)
        if known is None:
            known = _opened[address.url] = _made(address.scheme, address.url, address.path)
        return known


def _made(scheme: str, url: str, path: str) -> Approvals:
    if scheme == "sqlite":
        from spanhook.store.sqlite_approvals import SQLiteApprovals

        if not os.path.isdir(os.path.dirname(path)):
            raise ConfigurationError(f"{url}: there is no folder {os.path.dirname(path)!r}; create it")
        return SQLiteApprovals(path)
    if scheme == "redis":
        from spanhook.store.redis_approvals import RedisApprovals

        return RedisApprovals(url)
    if scheme == "postgresql":
        from spanhook.store.postgres_approvals import PostgresApprovals

        return PostgresApprovals(url)
    return MemoryApprovals()


def open_states(url: str) -> States:
    """The states at an address.

    Args:
        url: ``memory://``, ``sqlite:///FILE`` or ``postgresql://...``.

    Raises:
        ConfigurationError: The address cannot be used for states, or a package is missing.
    """
    address = parse_address(url)
    if address.scheme == "postgresql":
        return PostgresStates(address.url)
    if address.scheme == "sqlite":
        if not os.path.isdir(os.path.dirname(address.path)):
            raise ConfigurationError(f"{url}: there is no folder {os.path.dirname(address.path)!r}; create it")
        return SQLiteStates(address.path)
    if address.scheme == "memory":
        return MemoryStates()
    raise ConfigurationError(f"{address.shown} cannot keep states; expected sqlite:///FILE or postgresql://...")
