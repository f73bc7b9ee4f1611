"""Where a store is: ``memory://``, ``sqlite:///FILE``, ``redis://HOST:PORT/NUMBER`` or ``postgresql://HOST/NAME``."""

import os
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from spanhook.errors import ConfigurationError

Scheme = Literal["memory", "sqlite", "redis", "postgresql"]

_EXPECTED = "expected memory://, sqlite:///spanhook.db or redis://127.0.0.1:6379/0"


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address.

    Attributes:
        scheme: The kind of store.
        url: The address with an absolute path; it may hold a password, so do not show it.
        path: The absolute path of an SQLite file; otherwise empty.
        shown: The address for messages, without user and password.
    """

    scheme: Scheme
    url: str
    path: str = ""
    shown: str = ""


def parse_address(url: str, folder: str = "") -> Address:
    """Parse the address of a store.

    ``memory://`` is memory of this process, which all hooks of it share that give the same name after the slashes.
    ``sqlite:///spanhook.db`` is a relative path, ``sqlite:////var/lib/spanhook.db`` an absolute one. ``rediss://`` is
    Redis over TLS; ``redis+unix://`` and ``unix://`` are not supported. PostgreSQL keeps requests for approval; other
    stores refuse it.

    Args:
        url: The address.
        folder: The folder at which relative paths start; by default the working directory.

    Raises:
        ConfigurationError: It is not such an address. The message has no password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigurationError(f"the address of a store cannot be read ({error}); {_EXPECTED}") from None
    scheme = parts.scheme
    if scheme == "memory":
        return Address("memory", url, shown=url)
    if scheme == "sqlite":
        path = unquote(parts.path)[1:]
        if parts.netloc or not path or parts.query or parts.fragment:
            raise ConfigurationError(f"{url!r} names no SQLite file; write sqlite:///spanhook.db (three slashes)")
        if path == ":memory:":
            raise ConfigurationError(
                f"{url!r} would be a file of that name; write memory:// for memory of this process"
            )
        path = os.path.abspath(os.path.join(folder, path))
        return Address("sqlite", f"sqlite:///{path}", path, f"sqlite:///{path}")
    if scheme in ("redis", "rediss"):
        if not parts.hostname:
            raise ConfigurationError("the address of a Redis has no host; write redis://127.0.0.1:6379/0")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return Address("redis", url, shown=f"{scheme}://{host}:{port or 6379}{parts.path}")
    if scheme in ("postgresql", "postgres"):
        name = parts.path.removeprefix("/")
        if not parts.hostname or not name:
            raise ConfigurationError(
                "the address of PostgreSQL names no host or no database; write postgresql://HOST/NAME"
            )
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return Address("postgresql", url, shown=f"postgresql://{host}:{port or 5432}/{name}")
    known = f"{scheme}://..." if scheme else "it has no scheme"
    raise ConfigurationError(f"a store cannot be opened ({known}); {_EXPECTED}")
