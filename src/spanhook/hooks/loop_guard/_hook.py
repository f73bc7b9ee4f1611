"""The hook: compares each call with those that the run has made before."""

import threading
from typing import Any

from spanhook.errors import Reject
from spanhook.gating import Hook, handler, renewed_after_fork, validated
from spanhook.hooks.loop_guard._config import Config
from spanhook.hooks.loop_guard._digests import Digest, digest
from spanhook.hooks.loop_guard._run import Loop, Run
from spanhook.model import Operation


@handler
class LoopGuard(Hook):
    """Refuses calls of an agent that repeats itself, or that makes too many.

    A refused tool call is an error result for the model, which can then do something else; the refusal with the number
    ``strikes`` ends the run. A run is an outermost operation with everything inside it.

    Args:
        repeats: How often a tool may be called with the same arguments in a run; ``None``: any number of times.
        cycles: How often the same calls may be made in a row, such as A, B, A, B, A, B; ``None``: any number of times.
        period: The most calls that are recognized as such a pattern.
        same_result: Whether calls are the same only if their results were, too; for tools that poll.
        max_tool_calls, max_llm_calls: The most calls of a run.
        max_depth: How deep agents and graphs may be inside each other.
        strikes: The refusal with this number ends the run; ``None``: none does.
        reason: The reason that the model or the caller gets.
        status_code: The HTTP status of a refusal.

    Raises:
        ConfigurationError: A setting cannot be used.
    """

    kinds = ("tool.execute", "llm.call", "agent.invoke")
    _acts_once = True
    name = "loop_guard"
    priority = 58
    stream = "observe"

    Config = Config

    def __init__(
        self,
        repeats: int | None = 3,
        *,
        cycles: int | None = 3,
        period: int = 4,
        same_result: bool = False,
        max_tool_calls: int | None = None,
        max_llm_calls: int | None = None,
        max_depth: int | None = None,
        strikes: int | None = 3,
        reason: str = "",
        status_code: int = 429,
    ) -> None:
        given = {
            "repeats": repeats,
            "cycles": cycles,
            "period": period,
            "same_result": same_result,
            "max_tool_calls": max_tool_calls,
            "max_llm_calls": max_llm_calls,
            "max_depth": max_depth,
            "strikes": strikes,
            "reason": reason,
            "status_code": status_code,
        }
        self._config: Config = validated(Config, given, "loop_guard")
        self.kinds = self._config.kinds
        self._lock = threading.Lock()
        self._key = f"spanhook.loop_guard.{id(self):x}"
        renewed_after_fork(self)

    def renew(self) -> None:
        """In a forked child: what runs have done stays known."""
        self._lock = threading.Lock()

    # ----------------------------------------------------------------- hooks

    def before(self, op: Operation) -> None:
        """Compare the call with those before it.

        Raises:
            Reject: It repeats others, or is one too many.
        """
        if op.kind == "tool.execute":
            self._tool(op)
        elif op.kind == "llm.call":
            self._model(op)
        elif op.kind == "agent.invoke":
            self._agent(op)

    def after(self, op: Operation) -> None:
        """Note what the call gave."""
        self._end(op)

    def on_error(self, op: Operation) -> None:
        """Note how the call failed."""
        self._end(op)

    # ----------------------------------------------------------------- before calls

    def _tool(self, op: Operation) -> None:
        config = self._config
        call = b"" if config.repeats is None and config.cycles is None else digest(op.name, op.request.arguments)
        before: Digest | None = op.state.get(self._key)
        if before == call:
            return  # asked again after a rewrite that changes nothing here
        run = self._run(op)
        with self._lock:
            if before is None:
                if config.max_tool_calls is not None and run.tool_calls >= config.max_tool_calls:
                    raise self._refusal(run, f"This run has made {run.tool_calls:,} tool calls, as many as it may")
                run.tool_calls += 1
            else:
                run.undo(before)
            loop = run.begin(call) if call else None
            if loop is not None:
                op.state.pop(self._key, None)
                raise self._refusal(run, _described(op.name, loop))
            op.state[self._key] = call

    def _model(self, op: Operation) -> None:
        most = self._config.max_llm_calls
        if most is None or self._key in op.state:
            return
        run = self._run(op)
        with self._lock:
            if run.llm_calls >= most:
                raise self._refusal(run, f"This run has made {run.llm_calls:,} model calls, as many as it may")
            run.llm_calls += 1
            op.state[self._key] = b""

    def _agent(self, op: Operation) -> None:
        most = self._config.max_depth
        if most is None or self._key in op.state:
            return
        depth, around = 1, op.parent
        while around is not None:
            depth += around.kind == "agent.invoke"
            around = around.parent
        if depth > most:
            run = self._run(op)
            with self._lock:
                raise self._refusal(run, f"Agents are {depth} deep inside each other, and may be {most}")
        op.state[self._key] = b""

    # ----------------------------------------------------------------- after calls

    def _end(self, op: Operation) -> None:
        call: Digest | None = op.state.pop(self._key, None)
        if not call:
            return
        result = None
        if self._config.same_result:
            said: Any = op.response.value if op.status == "success" else type(op.error).__qualname__
            result = digest(op.status, said)
        run = self._run(op)
        with self._lock:
            if op.status == "interrupted":  # it is made once more when the run goes on
                run.undo(call)
            else:
                run.end(call, result)

    # ----------------------------------------------------------------- runs

    def _run(self, op: Operation) -> Run:
        kept = op.run_state
        run = kept.get(self._key)
        return kept.setdefault(self._key, Run(self._config)) if run is None else run

    def _refusal(self, run: Run, reason: str) -> Reject:
        """The refusal; the lock is held."""
        config = self._config
        run.strikes += 1
        ends = config.strikes is not None and run.strikes >= config.strikes
        return Reject(config.reason or reason, status_code=config.status_code, scope="run" if ends else "operation")


def _described(name: str, loop: Loop) -> str:
    if loop.calls:
        what = "call was" if loop.calls == 1 else f"{loop.calls} calls were"
        return f"The same {what} made {loop.times} times in a row; use the results, or do something else"
    return f"{name!r} was called {loop.times} times with the same arguments; use what it returned, or do something else"
