"""A run of the application's own code: ``run_scope``."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from spanhook.engine import OperationBlock, OwnOperation, operation_for
from spanhook.errors import ConfigurationError
from spanhook.model import asheds, sheds
from spanhook.runs.context import Facts
from spanhook.runs.user import User, user_of


class RunScope:
    """What ``run_scope`` makes, and what its ``with`` or ``async with`` block gives.

    Attributes:
        output: What the run came to, to be set in the block; ``after_run`` hooks are told of it.
        interrupted: Set in the block where the run waits for somebody, rather than being done.
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
                op._record.left = "interrupted"


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
    """Make a run of what the ``with`` or ``async with`` block does, for hooks, traces and usage.

    Hooks of runs are called for it if no operation is around it. Entering raises the refusal of a ``before_run`` hook.

    Args:
        graph_id: What runs.
        run_id: The run's id; a new one unless given.
        thread_id: The thread, or session.
        assistant_id: The assistant; ``graph_id`` unless given.
        user: Who it is for, or the user's id.
        config: The run's configuration.
        input: What the run is given.

    Raises:
        ConfigurationError: An id is no string, or ``config`` is no mapping.
    """
    named = {"graph_id": graph_id, "run_id": run_id, "thread_id": thread_id, "assistant_id": assistant_id}
    ids = {label: _id(label, value) for label, value in named.items()}
    if config is not None and not isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"run_scope(config={config!r}): expected a mapping")
    whose = None if user is None else user_of(user)
    facts = Facts(ids["thread_id"], ids["assistant_id"], ids["graph_id"], whose, config or {})
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
    return str(value)
