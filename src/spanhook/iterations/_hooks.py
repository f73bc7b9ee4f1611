"""The public class: each hook for sync and for async code."""

from collections.abc import Iterable
from typing import Any, Literal

from spanhook.concurrency import drive
from spanhook.errors import ConfigurationError
from spanhook.iterations._block import Iteration
from spanhook.iterations._config import HookConfig
from spanhook.iterations._context import Handler, HookEvent, HookResult
from spanhook.iterations._remembering import Remembering, check_place
from spanhook.iterations._ways import ASIDE, IN_PLACE
from spanhook.store import FrameMemory, MemoryFrames, SessionStatistics


class IterationHooks:
    """Stores the results of an agent's iterations, and loads what is relevant when the next one starts.

    ``iteration`` does all of this for one turn. The other methods do the steps by hand: each only reads or writes
    frames and calls handlers. If the memory or a handler fails, they do not raise: the failure is logged and reported
    in the result.

    Each method has an async version, with an ``a`` before its name, that does not block the event loop.

    Args:
        store: Where frames are stored; by default in memory.
        config: The settings; by default everything is enabled.

    Raises:
        ConfigurationError: ``config`` is not a ``HookConfig``, or ``store`` is not a ``FrameMemory``.
    """

    def __init__(self, store: FrameMemory | None = None, config: HookConfig | None = None) -> None:
        if config is not None and not isinstance(config, HookConfig):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"IterationHooks(config={config!r}): expected a HookConfig; see HookConfig.of()")
        missing = [name for name in ("add", "recent", "statistics", "blocking") if not hasattr(store, name)]
        if store is not None and missing:
            raise ConfigurationError(
                f"IterationHooks(store={store!r}): expected MemoryFrames(), SQLiteFrames(path) or a FrameMemory of "
                f"your own; it has no {missing[0]!r}"
            )
        self.store: FrameMemory = MemoryFrames() if store is None else store
        self.config = HookConfig() if config is None else config
        self._does = Remembering(self.store, self.config)

    # ----------------------------------------------------------------- handlers

    def register_handler(self, event: HookEvent, handler: Handler) -> None:
        """Call ``handler`` on an event, after the handlers registered before it. Registering it twice has no effect.

        Args:
            event: The event.
            handler: Takes a ``HookContext``. Its exceptions are logged and have no other effect.

        Raises:
            ConfigurationError: The event is unknown, or the handler is not callable.
        """
        self._does.handlers.add(event, handler)

    def unregister_handler(self, event: HookEvent, handler: Handler) -> bool:
        """Stop calling ``handler`` on an event.

        Returns:
            Whether it was registered.

        Raises:
            ConfigurationError: The event is unknown.
        """
        return self._does.handlers.remove(event, handler)

    # ----------------------------------------------------------------- one turn

    def iteration(self, session_id: str, iteration: int, *, name: str = "") -> Iteration:
        """Create one turn of an agent's loop, for ``with`` or ``async with``: an operation of the kind ``iteration``.

        On entry, hooks can refuse it, and ``on_iteration_start`` loads its ``frames``. On exit, ``on_error`` is called
        if it failed, and ``on_iteration_end`` stores its ``output``.

        Args:
            session_id: The session, also in the identity of all operations inside.
            iteration: The number of the iteration, counted from 0.
            name: The name of the loop, which ``names=`` of hooks filters by.

        Raises:
            ConfigurationError: The session or the number is invalid.
        """
        check_place(session_id, iteration)
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"iteration(name={name!r}): expected text")
        return Iteration(self._does, session_id, iteration, name)

    # ----------------------------------------------------------------- in sync code

    def on_iteration_start(self, session_id: str, iteration: int) -> HookResult:
        """Load the session's newest frames, and the newest errors and decisions of all sessions.

        Returns:
            The frames, oldest first and without duplicates, and their number.

        Raises:
            ConfigurationError: The session or the number is invalid.
        """
        return drive(self._does.start(IN_PLACE, session_id, iteration))

    def on_iteration_end(self, session_id: str, iteration: int, success: bool, output: Any = "") -> HookResult:
        """Store the result of an iteration, with up to 1,000 characters of its output.

        Raises:
            ConfigurationError: The session or the number is invalid.
        """
        return drive(self._does.end(IN_PLACE, session_id, iteration, output, success=success))

    def on_error(
        self, session_id: str, iteration: int, error: BaseException | str, error_context: Any = ""
    ) -> HookResult:
        """Store an error with importance 10, its context and the session's newest frames.

        Raises:
            ConfigurationError: The session or the number is invalid.
        """
        return drive(self._does.fail(IN_PLACE, session_id, iteration, error, error_context))

    def on_completion(
        self, session_id: str, *, success: bool = True, summary: Any = "", total_iterations: int | None = None
    ) -> HookResult:
        """Store the summary of a session with importance 8 and its numbers of iterations and errors.

        Args:
            session_id: The session.
            success: Whether the session succeeded.
            summary: A summary, stored up to 1,000 characters.
            total_iterations: The number of iterations; by default the number stored.

        Raises:
            ConfigurationError: The session or the number is invalid.
        """
        return drive(self._does.complete(IN_PLACE, session_id, summary, total_iterations, success=success))

    def remember(
        self,
        session_id: str,
        iteration: int,
        content: Any,
        *,
        type: Literal["decision", "note"] = "decision",
        importance: int = 7,
        tags: Iterable[str] = (),
    ) -> HookResult:
        """Store something of your own, such as a decision that later iterations and other sessions should know.

        Args:
            session_id, iteration: The session and iteration that it belongs to.
            content: The text, stored in full.
            type: A decision is loaded by all sessions, a note only by this one.
            importance: From 1 to 10.
            tags: Additional tags.

        Raises:
            ConfigurationError: The session, number, type, importance or tags are invalid.
        """
        self._check_note(type, importance, tags)
        return drive(self._does.note(IN_PLACE, session_id, iteration, type, content, importance=importance, tags=tags))

    @staticmethod
    def _check_note(type: Any, importance: Any, tags: Any) -> None:
        if type not in ("decision", "note"):
            raise ConfigurationError(f"remember(type={type!r}): expected 'decision' or 'note'")
        if importance not in range(1, 11):
            raise ConfigurationError(f"remember(importance={importance!r}): expected a number from 1 to 10")
        if isinstance(tags, str):
            raise ConfigurationError(f"remember(tags={tags!r}): expected several texts, such as [{tags!r}]")

    def statistics(self, session_id: str) -> SessionStatistics:
        """Statistics of a session.

        Returns:
            The numbers; if the memory fails, zeros with the ``error``, which is logged.

        Raises:
            ConfigurationError: The session is invalid.
        """
        return drive(self._does.count(IN_PLACE, session_id))

    # ----------------------------------------------------------------- in async code

    async def aon_iteration_start(self, session_id: str, iteration: int) -> HookResult:
        """``on_iteration_start`` for async code."""
        return await self._does.start(ASIDE, session_id, iteration)

    async def aon_iteration_end(self, session_id: str, iteration: int, success: bool, output: Any = "") -> HookResult:
        """``on_iteration_end`` for async code."""
        return await self._does.end(ASIDE, session_id, iteration, output, success=success)

    async def aon_error(
        self, session_id: str, iteration: int, error: BaseException | str, error_context: Any = ""
    ) -> HookResult:
        """``on_error`` for async code."""
        return await self._does.fail(ASIDE, session_id, iteration, error, error_context)

    async def aon_completion(
        self, session_id: str, *, success: bool = True, summary: Any = "", total_iterations: int | None = None
    ) -> HookResult:
        """``on_completion`` for async code."""
        return await self._does.complete(ASIDE, session_id, summary, total_iterations, success=success)

    async def aremember(
        self,
        session_id: str,
        iteration: int,
        content: Any,
        *,
        type: Literal["decision", "note"] = "decision",
        importance: int = 7,
        tags: Iterable[str] = (),
    ) -> HookResult:
        """``remember`` for async code."""
        self._check_note(type, importance, tags)
        return await self._does.note(ASIDE, session_id, iteration, type, content, importance=importance, tags=tags)

    async def astatistics(self, session_id: str) -> SessionStatistics:
        """``statistics`` for async code."""
        return await self._does.count(ASIDE, session_id)
