"""Builds the tree of a run from its operations, as they end.

Keeps only plain data: it keeps no operation, argument or result alive.
"""

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from spanhook.fork import after_fork
from spanhook.model import DecisionRecord, Record, Usage

MAX_NODES = 2000
"""Operations kept per run; further ones are only counted."""
MAX_WORDS = 500
"""Characters kept of an exception's message."""
WAIT_S = 0.2
"""How long a run that has ended waits for hooks in shadow mode, if they saw anything of it."""


@dataclass(slots=True)
class Node:
    """One finished operation and those that ended inside it.

    Attributes:
        kind, name, status: Those of the operation.
        start_ns, duration_ns: On the monotonic clock.
        usage: Its own usage, or the sum of what is inside.
        by_model: Usage by model, for models that used tokens.
        decisions: Every decision about it except ``allow``.
        shadow_decisions: The same of hooks in shadow mode: what they would have done.
        undecided: Hooks in shadow mode may have more to say; only at the top of a tree.
        error: Its error in one line, or the type of a result that is one; empty unless the status is ``error``.
        facts: Identity and trace of the run, as labels and values; only on the outermost operation.
        trace_id: 32 hex digits; zeros without an SDK.
        within: The outermost operation's name, if that one ended before this one did.
        children: In order of ending.
        left_out: How many operations inside were not kept.
        count: How many folded operations it stands for; durations and usage are then sums.
        differing: How many of those have another error message or decision reason.
    """

    kind: str
    name: str
    status: str
    start_ns: int = 0
    duration_ns: int = 0
    usage: Usage = field(default_factory=Usage)
    by_model: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    decisions: tuple[DecisionRecord, ...] = ()
    shadow_decisions: Sequence[DecisionRecord] = ()
    undecided: bool = False
    error: str = ""
    in_hook: bool = False
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    trace_id: str = ""
    within: str = ""
    children: list["Node"] = field(default_factory=list["Node"])
    left_out: int = 0
    count: int = 1
    differing: int = 0

    @property
    def in_shadow(self) -> list[DecisionRecord]:
        """The decisions of hooks in shadow mode, by hook: each is made on a thread of its own, at any time."""
        return sorted(self.shadow_decisions, key=lambda one: one.hook)

    @property
    def size(self) -> int:
        """The number of operations in it, itself included."""
        return 1 + sum(child.size for child in self.children)


class Branch:
    """What has ended so far inside a running operation and, for an outermost one, how many operations are kept in
    all.
    """

    __slots__ = ("children", "done", "kept", "left_out", "shadowed")

    def __init__(self) -> None:
        self.children: list[Node] = []
        self.left_out = self.kept = 0
        self.done = self.shadowed = False


class Trees:
    """A listener that passes on the tree of each outermost operation when it has ended.

    What ends inside an operation is kept only as long as the operation itself, so a run that never ends leaves nothing
    behind. An operation that ends after its run is passed on as a separate tree.

    Args:
        done: Called with each tree, in the thread in which it was completed.
        settle: Waits until hooks in shadow mode have seen everything so far, for at most the given number of seconds;
            returns whether they have. Called for runs that they saw something of. Their decisions are then in the tree.
    """

    def __init__(self, done: Callable[[Node], None], settle: Callable[[float], bool] = lambda _seconds: True) -> None:
        self._done, self._settle = done, settle
        self.renew()
        _all.add(self)

    def renew(self) -> None:
        """Start afresh in a forked child: the lock may be held, and the running runs are the parent's."""
        self._lock = threading.RLock()  # a signal handler may start an operation
        self._branches: weakref.WeakKeyDictionary[Record, Branch] = weakref.WeakKeyDictionary()

    def __call__(self, op: Record) -> None:
        root = op.root
        with self._lock:
            run = self._branch(root)
            run.shadowed |= op.shadowing is not None
            waits = run.shadowed and (op is root or run.done) and not op.in_hook
        settled = self._settle(WAIT_S) if waits else True
        node = _node(op)
        node.undecided = not settled
        with self._lock:
            own = self._branch(op)
            node.children, node.left_out = own.children, own.left_out
            if op is not root and not run.done:
                self._keep(node, op, run)
                return
            if op is root:
                run.done = True
            else:
                node.within = root.name
        self._done(node)

    def _branch(self, op: Record) -> Branch:
        branch = self._branches.get(op)
        if branch is None:
            branch = self._branches[op] = Branch()
        return branch

    def _keep(self, node: Node, op: Record, run: Branch) -> None:
        assert op.parent is not None
        around = self._branch(op.parent.shadow or op.parent)
        if run.kept < MAX_NODES:
            run.kept += 1
            around.children.append(node)
        else:
            run.kept -= node.size - 1
            around.left_out += node.size + node.left_out


_all: "weakref.WeakSet[Trees]" = weakref.WeakSet()


def _renew() -> None:
    for trees in list(_all):
        trees.renew()


after_fork("trees", _renew)


def _node(op: Record) -> Node:
    return Node(
        kind=op.kind,
        name=op.name,
        status=op.status,
        start_ns=op.start_ns,
        duration_ns=op.end_ns - op.start_ns,
        usage=op.usage,
        by_model=op.usage_by_model,
        decisions=op.decided.records,
        shadow_decisions=() if op.shadowing is None else op.shadowing.decisions,
        error=_failure(op) if op.status == "error" else "",
        in_hook=op.in_hook,
        facts=_facts(op) if op.parent is None else {},
        trace_id=f"{op.span.get_span_context().trace_id:032x}",
    )


def _failure(op: Record) -> str:
    return op.ending.fault if op.error is None else _words(op.error)


def _words(error: BaseException) -> str:
    try:
        said = str(error)[:MAX_WORDS]
    except Exception:  # the application's own __str__
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _facts(op: Record) -> dict[str, str]:
    identity, span = op.identity, op.span.get_span_context()
    found = {"tenant": identity.tenant_id, "user": identity.user_id, "session": identity.session_id}
    if span.is_valid and span.trace_flags.sampled:
        found["trace"] = f"{span.trace_id:032x}"
    return {label: value for label, value in found.items() if value}
