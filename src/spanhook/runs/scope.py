"""A run of the application's own code: ``run_scope``."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from spanhook.engine import OperationBlock, OwnOperation, operation_for
from spanhook.errors import ConfigurationError
from spanhook.model import EndDetails, RunFacts, asheds, exact_text, sheds
from spanhook.runs.user import User, user_of


class RunScope:
    """A run of your own code: the value of ``with run_scope(...)`` and ``async with run_scope(...)``.

    Attributes:
        output: The run's result for ``after_run`` hooks; set it in the block.
        interrupted: Set it to true in the block if the run waits for input and is not finished.
    """

    def __init__(self, block: OperationBlock) -> None:
        self.output: Any = None
        self.interrupted = False
        self._block = block
        self._op: OwnOperation | None = None

    @property
    def run_id(self) -> str:
        """The id of the run; empty before the block has been entered."""
        return "" if self._op is None else self._op.identity.run_id

    @sheds
    def __enter__(self) -> Self:
        self._op = self._block.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell()
        self._block.__exit__(kind, error, trace)

    @asheds
    async def __aenter__(self) -> Self:
        self._op = await self._block.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell()
        await self._block.__aexit__(kind, error, trace)

    def _tell(self) -> None:
        op = self._op
        if op is not None:
            op._output = self.output
            if self.interrupted:
                op._record.part(EndDetails).left = "interrupted"


def run_scope(
    graph_id: str = "",
    *,
    run_id: str | UUID = "",
    thread_id: str | UUID = "",
    assistant_id: str | UUID = "",
    user: User | Mapping[str, Any] | str | None = None,
    config: Mapping[str, Any] | None = None,
    input: Any = None,
) -> RunScope:
    """Make one run of a ``with`` or ``async with`` block, for hooks, traces and usage.

    Run hooks are called unless the block is inside another operation. If a ``before_run`` hook refuses, entering
    the block raises that refusal.

    Args:
        graph_id: The name of what runs.
        run_id: The run's id; a new one unless given.
        thread_id: The thread, or session.
        assistant_id: The assistant; ``graph_id`` unless given.
        user: Who it is for, or the user's id.
        config: The run's configuration.
        input: The input of the run.

    Raises:
        ConfigurationError: An id is neither a string nor a UUID, or ``config`` is not a mapping.
    """
    named = {"graph_id": graph_id, "run_id": run_id, "thread_id": thread_id, "assistant_id": assistant_id}
    ids = {label: _id(label, value) for label, value in named.items()}
    if config is not None and not isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"run_scope(config={config!r}): expected a mapping")
    whose = None if user is None else user_of(user)
    facts = RunFacts(ids["thread_id"], ids["assistant_id"], ids["graph_id"], whose, config or {})
    known = {
        "run_id": ids["run_id"],
        "session_id": ids["thread_id"],
        "user_id": "" if whose is None else whose.identity,
    }
    request = None if input is None else {"inputs": input}
    given = {name: value for name, value in known.items() if value}
    return RunScope(operation_for("run", ids["graph_id"], request=request, ids=given, facts=facts))


def _id(label: str, value: Any) -> str:
    if not isinstance(value, str | UUID):
        raise ConfigurationError(f"run_scope({label}={value!r}): expected a string or a UUID")
    return exact_text(value)
