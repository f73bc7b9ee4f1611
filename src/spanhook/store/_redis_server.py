"""A Redis server: one pool of connections for each process, and scripts that run as a whole."""

import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from spanhook.errors import ConfigurationError, StoreError
from spanhook.store._renewal import renewed
from spanhook.store.addresses import parse_address

T = TypeVar("T")

TIMEOUT_S = 1.0
"""How long to wait for a connection, and for an answer."""
MOST_CONNECTIONS = 32


class RedisServer:
    """Runs Lua scripts on a server.

    Args:
        url: ``redis://`` or ``rediss://``.

    Raises:
        ConfigurationError: The package ``redis`` is not installed, or the address cannot be used.
    """

    def __init__(self, url: str) -> None:
        self.shown = parse_address(url).shown
        try:
            import redis
        except ImportError:
            raise ConfigurationError(f'{self.shown} needs the package redis; pip install "spanhook[redis]"') from None
        self.redis: Any = redis
        self._url = url
        try:
            self._connect()
        except (ValueError, TypeError) as error:
            raise ConfigurationError(f"{self.shown} cannot be used: {type(error).__name__}") from None
        renewed.add(self)

    def _connect(self) -> None:
        redis = self.redis
        pool = redis.BlockingConnectionPool.from_url(
            self._url,
            max_connections=MOST_CONNECTIONS,
            timeout=TIMEOUT_S,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            decode_responses=True,
        )
        # What may have happened is never sent again by itself, whatever the address says.
        pool.connection_kwargs.update(retry=None, retry_on_timeout=False, retry_on_error=[])
        self._client = client = redis.Redis(connection_pool=pool)
        weakref.finalize(self, client.connection_pool.disconnect)
        self._scripts: dict[str, Any] = {}

    def renew(self) -> None:
        """Open new connections in a forked child."""
        self._connect()

    def run(self, script: str, keys: Sequence[str], arguments: Sequence[str | int | float]) -> list[Any]:
        """Run a script, which the server is sent only if it does not know it.

        Raises:
            StoreError: The server cannot be reached, or refuses.
        """
        known = self._scripts.get(script)
        if known is None:
            known = self._scripts[script] = self._client.register_script(script)
        return self.use(lambda _client: known(keys=list(keys), args=list(arguments)))

    def use(self, function: Callable[[Any], T]) -> T:
        """Call a function with the client.

        Raises:
            StoreError: The server cannot be reached, or refuses.
        """
        try:
            return function(self._client)
        except (self.redis.RedisError, OSError) as error:
            # The text of other errors may have the address with its password.
            why = f": {error}" if isinstance(error, self.redis.ResponseError) else ""
            raise StoreError(f"{self.shown} cannot be used: {type(error).__name__}{why}") from None

    def close(self) -> None:
        """Close the connections; they are opened again when needed."""
        self._client.connection_pool.disconnect()
