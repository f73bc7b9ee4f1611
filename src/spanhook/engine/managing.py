"""Functions that return a context manager: the operation begins as it is entered.

Leaving is the manager's own business: a result that holds a stream ends the operation as it is closed.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any

from spanhook.engine.calls import acall, call
from spanhook.model import Adapter, Args, Kwargs, shed


class Managed(AbstractContextManager[Any, Any]):
    """Stands for the manager that a function returns, which is called as this is entered.

    Args:
        adapter: How the call is read; its result is what entering gives.
        wrapped, instance, args, kwargs: The call.
    """

    def __init__(
        self, adapter: Adapter, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs
    ) -> None:
        self._adapter, self._wrapped, self._instance = adapter, wrapped, instance
        self._args, self._kwargs = args, kwargs
        self._entered: Any = None

    def __enter__(self) -> Any:
        try:
            return call(self._adapter, self._enter, self._instance, self._args, self._kwargs)
        except BaseException as error:
            shed(error)
            self.__exit__(type(error), error, error.__traceback__)  # a result that is refused is nobody's to leave
            raise

    def _enter(self, *args: Any, **kwargs: Any) -> Any:
        manager = self._wrapped(*args, **kwargs)
        result = manager.__enter__()
        self._entered = manager
        return result

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        entered, self._entered = self._entered, None  # there is none if a hook answered
        return None if entered is None else entered.__exit__(kind, error, trace)


class AsyncManaged(AbstractAsyncContextManager[Any, Any]):
    """``Managed`` for async context managers."""

    def __init__(
        self, adapter: Adapter, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs
    ) -> None:
        self._adapter, self._wrapped, self._instance = adapter, wrapped, instance
        self._args, self._kwargs = args, kwargs
        self._entered: Any = None

    async def __aenter__(self) -> Any:
        try:
            return await acall(self._adapter, self._enter, self._instance, self._args, self._kwargs)
        except BaseException as error:
            shed(error)
            await self.__aexit__(type(error), error, error.__traceback__)
            raise

    async def _enter(self, *args: Any, **kwargs: Any) -> Any:
        manager = self._wrapped(*args, **kwargs)
        result = await manager.__aenter__()
        self._entered = manager
        return result

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        entered, self._entered = self._entered, None
        return None if entered is None else await entered.__aexit__(kind, error, trace)
