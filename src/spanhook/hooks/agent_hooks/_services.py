"""Interceptors elsewhere: a context is posted, and a verdict or a response with one answers."""

from typing import Any

from spanhook.hooks.agent_hooks._config import Interceptor
from spanhook.hooks.remote_policy import ContextService

_LONGEST = 600.0
_NAME = "agent_hooks"


class Service:
    """An interceptor with an address.

    Args:
        given: Its settings.
        timeout: Seconds for an answer, all attempts together; ``None`` for ten minutes.

    Raises:
        ConfigurationError: A setting cannot be used, or a package is missing.
    """

    def __init__(self, given: Interceptor, timeout: float | None) -> None:
        self._name = given.name or _NAME
        self._service = ContextService(
            str(given.use),
            timeout=min(timeout or _LONGEST, _LONGEST),
            retries=given.retries,
            headers=given.headers,
            headers_env=given.headers_env,
            component=self._name,
        )

    async def intercept(self, context: dict[str, Any]) -> Any:
        """The verdict of the service.

        Raises:
            PolicyError: It has not given one.
        """
        return await self._service.ask(context, self._name)
