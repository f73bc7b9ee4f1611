"""Runs that are decided about when they are asked for, and begin later, perhaps in another process.

A server accepts a run, answers whoever asked for it, and executes it afterwards: its gates are asked where a refusal
still reaches that client. What they said is kept until the run has ended, so that whoever executes it need not ask.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, Self

from spanhook.model.adapter import Adapter
from spanhook.model.decision import DecisionRecord


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a server, or the author of a ``run_scope``, knows about a run: ``facts`` of an operation's instance."""

    thread_id: str
    assistant_id: str
    graph_id: str
    user: Any
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Admission:
    """That gates have let a run pass.

    Attributes:
        run_id, user_id: The run, and who it is for. It says nothing about any other.
        hooks: The digest of the hooks that were asked; others have not decided.
        state, run_state: What these have stored for the hooks after them.
        known: What the server has found out about the run.
        decisions: What they have decided except to let it pass, such as that one took too long.
    """

    run_id: str
    user_id: str
    hooks: str
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    run_state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    decisions: tuple[DecisionRecord, ...] = ()

    def binds(self, run_id: str, user_id: str, hooks: str) -> bool:
        """Whether it is about this run of this user, and these hooks have decided it."""
        return bool(run_id) and (self.run_id, self.user_id, self.hooks) == (run_id, user_id, hooks)

    def text(self) -> str:
        """It as JSON, without what is stored in it that JSON cannot express."""
        told: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("state", "run_state"):
            told[name] = {key: value for key, value in told[name].items() if _is_plain({key: value})}
        told["decisions"] = [asdict(one) for one in self.decisions]
        return json.dumps(told)

    @classmethod
    def of(cls, text: str | bytes | None) -> Self | None:
        """What ``text`` has written; ``None`` if it is none."""
        try:
            told: Any = json.loads(text or "")
            known = {name: told[name] for name in cls.__dataclass_fields__}
            known["decisions"] = tuple(DecisionRecord(**one) for one in known["decisions"])
        except (ValueError, TypeError, KeyError):
            return None
        words, maps = (known[name] for name in ("run_id", "user_id", "hooks")), ("state", "run_state", "known")
        if not all(isinstance(one, str) for one in words) or not all(isinstance(known[name], dict) for name in maps):
            return None
        return cls(**known)


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


class Admissions(Protocol):
    """Where admissions are kept: a place of ours, that no request can write to."""

    async def keep(self, admission: Admission) -> None:
        """Keep it until ``drop``, or for longer than runs last."""
        ...

    async def find(self, run_id: str) -> Admission | None:
        """The admission of a run; ``None`` if there is none."""
        ...

    async def drop(self, run_id: str) -> None:
        """Forget it: the run has ended."""
        ...


class KeptAdmissions:
    """Admissions in this process, for servers that execute their runs themselves.

    Args:
        most: How many are kept; then the oldest go.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._kept: OrderedDict[str, Admission] = OrderedDict()

    async def keep(self, admission: Admission) -> None:
        self._kept[admission.run_id] = admission
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    async def find(self, run_id: str) -> Admission | None:
        return self._kept.get(run_id)

    async def drop(self, run_id: str) -> None:
        self._kept.pop(run_id, None)


class Executing(Protocol):
    """A run that is executed: an operation whose call, outcome and end are known in different places."""

    async def enter(self) -> None:
        """Begin it.

        Raises:
            Reject: A gate refuses it, which had not been asked before.
        """
        ...

    def leave(self, result: Any = None, error: BaseException | None = None, *, left: str = "") -> BaseException | None:
        """Note how it went; returns what must be raised instead, if anything: whatever stopped the run."""
        ...

    async def end(self, error: BaseException | None = None) -> None:
        """End it, with an ``error`` that came later; its hooks are told. Nothing is raised."""
        ...

    async def hand_back(self) -> None:
        """End the operation, but not the run, which goes on elsewhere: its hooks are not told."""
        ...


class Runs(Protocol):
    """How a server's runs are decided about and executed."""

    @property
    def hooked(self) -> bool:
        """Whether a hook applies to runs; unless one does, nothing has to be found out about them for ``ask``."""
        ...

    def in_force(self, spec: str, folder: str) -> bool:
        """Whether the hooks that a spec names are active.

        Args:
            spec: ``./hooks.py:hooks`` or ``package.module:hooks``.
            folder: Where relative paths start.

        Raises:
            ConfigurationError: It names none, or they cannot be loaded.
        """
        ...

    async def ask(self, adapter: Adapter, instance: Any, known: Mapping[str, str]) -> Admission | None:
        """Ask the gates of a run that is to begin later; ``None`` if it has none.

        Args:
            adapter: How the run is read: its ``identity`` has ``run_id`` and ``user_id``.
            instance: What it is read from.
            known: To be kept with what they say.

        Raises:
            Reject: A gate refuses it.
        """
        ...

    def executing(self, adapter: Adapter, instance: Any, admission: Admission | None) -> Executing:
        """The run as it is executed. Unless ``admission`` is for it, its gates are asked, as none were before."""
        ...
