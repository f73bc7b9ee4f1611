"""What users call: the hooks, each in sync and in async code."""

from collections.abc import Iterable
from typing import Any, Literal

from spanhook.concurrency import drive
from spanhook.errors import ConfigurationError
from spanhook.iterations._block import Iteration
from spanhook.iterations._config import HookConfig
from spanhook.iterations._context import Handler, HookEvent, HookResult
from spanhook.iterations._framing import Place
from spanhook.iterations._remembering import Remembering, check_place
from spanhook.iterations._ways import ASIDE, IN_PLACE
from spanhook.store import FrameMemory, MemoryFrames, SessionStatistics


class IterationHooks:
    """Remembers what the iterations of an agent's loop came to, and says at the start of each what is worth knowing.

    ``iteration`` does all of it for one turn. The methods do it by hand: each only reads and writes frames and calls
    handlers. They never raise because the memory or a handler fails: the result says so, and it is logged.

    Each has a twin for async code, with an ``a`` before its name, which keeps no event loop waiting.

    Args:
        store: Where frames are kept; in memory unless given.
        config: What is done; everything unless given.

    Raises:
        ConfigurationError: ``config`` is no ``HookConfig``, or ``store`` no memory for frames.
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
        """Have ``handler`` called on an event, after those registered before it; once, however often it is registered.

        Args:
            event: When.
            handler: Takes a ``HookContext``. What it raises is logged, and keeps nothing else from being done.

        Raises:
            ConfigurationError: There is no such event, or the handler cannot be called.
        """
        self._does.handlers.add(event, handler)

    def unregister_handler(self, event: HookEvent, handler: Handler) -> bool:
        """Call ``handler`` no more.

        Returns:
            Whether it was registered.

        Raises:
            ConfigurationError: There is no such event.
        """
        return self._does.handlers.remove(event, handler)

    # ----------------------------------------------------------------- one turn

    def iteration(self, session_id: str, iteration: int, *, name: str = "") -> Iteration:
        """Make one turn of an agent's loop, for ``with`` and ``async with``: an operation of the kind ``iteration``.

        On entering, hooks may refuse it, then ``on_iteration_start`` loads its ``frames``. On leaving,
        ``on_iteration_end`` writes its ``output``, after ``on_error`` if it failed.

        Args:
            session_id: The session; the identity of all operations inside has it, too.
            iteration: The number of the iteration, counted from 0.
            name: What the loop is called, which hooks' ``names=`` are compared with.

        Raises:
            ConfigurationError: The session or the number cannot be one.
        """
        check_place(session_id, iteration)
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"iteration(name={name!r}): expected text")
        return Iteration(self._does, session_id, iteration, name)

    # ----------------------------------------------------------------- in sync code

    def on_iteration_start(self, session_id: str, iteration: int) -> HookResult:
        """Load what is worth knowing: the session's newest frames, and errors and decisions of other sessions too.

        Returns:
            The frames, oldest first and none twice, and how many they are.

        Raises:
            ConfigurationError: The session or the number cannot be one.
        """
        return drive(self._does.start(IN_PLACE, session_id, iteration))

    def on_iteration_end(self, session_id: str, iteration: int, success: bool, output: Any = "") -> HookResult:
        """Write what came of an iteration, with up to 1,000 characters of its output.

        Raises:
            ConfigurationError: The session or the number cannot be one.
        """
        return drive(self._does.end(IN_PLACE, session_id, iteration, output, success=success))

    def on_error(
        self, session_id: str, iteration: int, error: BaseException | str, error_context: Any = ""
    ) -> HookResult:
        """Write an error, of importance 10, with its context and what went on before.

        Raises:
            ConfigurationError: The session or the number cannot be one.
        """
        return drive(self._does.fail(IN_PLACE, session_id, iteration, error, error_context))

    def on_completion(
        self, session_id: str, *, success: bool = True, summary: Any = "", total_iterations: int | None = None
    ) -> HookResult:
        """Write what a session came to, of importance 8, with how many iterations and errors there were.

        Args:
            session_id: The session.
            success: Whether it did what it was to do.
            summary: In words, up to 1,000 characters of them.
            total_iterations: How many iterations there were, if that is not what was remembered.

        Raises:
            ConfigurationError: The session cannot be one.
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
        """Write something of your own, such as a decision that later iterations, of other sessions too, should know.

        Args:
            session_id, iteration: Where it belongs.
            content: What is to be known, all of it.
            type: A decision is loaded at the start of every session's iterations, a note of this session's alone.
            importance: From 1 to 10.
            tags: Further words to find it by.

        Raises:
            ConfigurationError: The session or the number cannot be one, or there is no such type or importance.
        """
        self._check_note(type, importance)
        return drive(self._does.note(IN_PLACE, session_id, iteration, type, content, importance=importance, tags=tags))

    @staticmethod
    def _check_note(type: Any, importance: Any) -> None:
        if type not in ("decision", "note"):
            raise ConfigurationError(f"remember(type={type!r}): expected 'decision' or 'note'")
        if importance not in range(1, 11):
            raise ConfigurationError(f"remember(importance={importance!r}): expected a number from 1 to 10")

    def statistics(self, session_id: str) -> SessionStatistics:
        """What a session has come to so far. What the memory raises is raised."""
        check_place(session_id, 0)
        place = Place.of(session_id, 0)
        return self.store.statistics(place.session_id, tenant_id=place.tenant_id)

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
        self._check_note(type, importance)
        return await self._does.note(ASIDE, session_id, iteration, type, content, importance=importance, tags=tags)

    async def astatistics(self, session_id: str) -> SessionStatistics:
        """``statistics`` for async code."""
        return await ASIDE.made(lambda: self.statistics(session_id), self.store.blocking)
