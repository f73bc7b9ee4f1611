"""The hook: tells interceptors of a session's points, and does what they say together."""

from collections.abc import Iterable
from typing import Any, Literal

from spanhook.errors import FailedResult, Reject
from spanhook.gating import Hook, handler, validated
from spanhook.hooks.agent_hooks import _points as points
from spanhook.hooks.agent_hooks._config import Config
from spanhook.hooks.agent_hooks._emitter import sdk, surface_of
from spanhook.hooks.agent_hooks._session import Session, Told, opened
from spanhook.hooks.agent_hooks._streaming import Segments
from spanhook.hooks.agent_hooks._telling import Telling
from spanhook.model import Operation

_REASONS = {"cancelled": "cancelled", "abandoned": "cancelled", "error": "error", "rejected": "error"}


@handler
class AgentHooks(Hook):
    """Makes the application a host of the agent-hooks contract 0.1.

    Interceptors are told of the points of each session, from its startup to its shutdown, and what they say together is
    done.

    Args:
        interceptors: Whom calls are told, in this order: objects with a method ``intercept``, functions, names such as
            ``module:name``, addresses, or mappings with ``use``, ``name``, ``at`` and more.
        composition: How several verdicts become one: ``profile`` and its knobs, as the contract names them.
        mode: ``"enforce"``, or ``"evaluate_only"``: verdicts are recorded, and nothing is blocked or changed.
        unbound: What becomes of points that no interceptor runs at: ``"deny"``, as the contract has it, or ``"allow"``.
        timeout: Seconds for each interceptor and resolver that is asynchronous; ``None`` for no limit.
        approval: Who may lift denials that say so: a resolver, its name, or settings of ``approval``.
        store: Where requests for approval are kept.
        redact: Makes of a context what approvers are shown.
        identity: Identifies contexts: ``"jcs-sha256"``, ``None``, or a function with a name.
        tools: The tools the agent has, told at its start.
        streams: ``"buffer"``: streams of models are held back whole. ``"incremental"``: they are released as verdicts
            about what has arrived permit.
        segment: With incremental streams, how many characters at least are told at once.
        tool_failure: Whether a failure at a tool's points is an error of the tool (``"continue"``), or ends the run
            (``"terminate"``).
        records: Called with each record of the contract.
        trace: Tell interceptors the ids of the trace and the span, and put them into records.
        declaration: A host declaration, or the file with it, instead of what it declares.
        registry: What the declaration may refer to, as the contract's ``HostRegistry``.

    Raises:
        ConfigurationError: A setting cannot be used, or a package is missing.
    """

    kinds = ("agent.invoke", "llm.call", "tool.execute")
    name = "agent_hooks"
    priority = 45  # behind what redacts and scans, so that interceptors are told no more than the model or the tool
    timeout = None
    fail_mode = "closed"
    _not_replayed = "what interceptors would say"
    _budgeted = False

    Config = Config

    def __init__(
        self,
        interceptors: Iterable[Any] = (),
        *,
        composition: Any = None,
        mode: Literal["enforce", "evaluate_only"] = "enforce",
        unbound: Literal["deny", "allow"] = "deny",
        timeout: float | None = 5,
        approval: Any = None,
        store: str = "memory://",
        redact: Any = None,
        identity: Any = "jcs-sha256",
        tools: Iterable[str] = (),
        streams: Literal["buffer", "incremental"] = "buffer",
        segment: int = 200,
        tool_failure: Literal["continue", "terminate"] = "continue",
        records: Any = None,
        trace: bool = False,
        declaration: Any = None,
        registry: Any = None,
    ) -> None:
        given: dict[str, Any] = {
            "interceptors": interceptors if isinstance(interceptors, str) else list(interceptors),
            "composition": {} if composition is None else composition,
            "mode": mode,
            "unbound": unbound,
            "timeout": timeout,
            "approval": approval,
            "store": store,
            "redact": redact,
            "identity": identity,
            "tools": tools if isinstance(tools, str) else list(tools),
            "streams": streams,
            "segment": segment,
            "tool_failure": tool_failure,
            "records": records,
            "trace": trace,
            "declaration": declaration,
        }
        self._config: Config = validated(Config, given, "agent_hooks")
        self._telling = Telling(self._config, registry, lambda: self.name)
        self._key = f"spanhook.agent_hooks.{id(self):x}"
        if not self._telling.enforces:
            self.fail_mode, self.stream = "open", "observe"
        else:
            self.stream = "window" if self._config.streams == "incremental" else "buffer"

    @staticmethod
    def surface(**settings: Any) -> Any:
        """What a host with these settings can honour, as the contract's ``HostSurface``, for a registry of its own.

        Raises:
            ConfigurationError: A setting cannot be used, or a package is missing.
        """
        return surface_of(validated(Config, settings, "agent_hooks"))

    # ----------------------------------------------------------------- hooks

    async def before(self, op: Operation) -> None:
        """Tell of a session's start, an agent's input, and calls of models and tools.

        Raises:
            Reject: The verdict denies it.
        """
        told = self._told(op)
        session = told.session
        if told.opens and not told.point:
            told.point = "agent_startup"
            await self._telling.ask(op, told, lambda: points.startup(list(self._config.tools)))
        self._check_open(session)
        match op.kind:
            case "llm.call":
                await self._telling.ask(op, told, lambda: points.asking(op))
            case "tool.execute":
                told.call_id = told.call_id or session.call_id(op)
                await self._telling.ask(op, told, lambda: points.calling(op, told.call_id))
            case _:
                if told.opens:
                    await self._telling.ask(op, told, lambda: points.asked(op))

    async def after(self, op: Operation) -> None:
        """Tell of what models and tools gave, of an agent's output, and of a session's end.

        Raises:
            Reject: The verdict withholds it.
        """
        told: Told | None = op.state.get(self._key)
        if told is None:
            return
        reason = "error"
        try:
            await self._tell_result(op, told)
            reason = _REASONS.get(op.status, "completed")
        finally:
            await self._close(op, told, reason)

    async def on_error(self, op: Operation) -> None:
        """Tell of a tool that has failed, and of a session's end."""
        told: Told | None = op.state.get(self._key)
        if told is None:
            return
        self._tell_rest(op, told)
        if op.kind == "tool.execute" and op.status == "error" and not isinstance(op.error, FailedResult):
            try:
                await self._telling.ask(op, told, lambda: points.failed(op, told.call_id))
            except Reject as refused:
                told.session.blocked = refused.reason  # what the model gets to see of the error cannot be withheld
        await self._close(op, told, _REASONS.get(op.status, "completed"))

    def text_filter(self, op: Operation) -> Any:
        """The filter of a text of a stream."""
        told: Told | None = op.state.get(self._key)
        if told is None or op.kind != "llm.call":
            return Segments.passing()
        if told.segments is None:
            told.segments = Segments(
                self._config.segment, lambda text, reason: self._telling.ask_now(op, told, text, reason)
            )
        return told.segments.text()

    # ----------------------------------------------------------------- results

    async def _tell_result(self, op: Operation, told: Told) -> None:
        self._tell_rest(op, told)
        if op.status in ("abandoned", "cancelled"):
            return
        if op.kind == "llm.call":
            if told.segments is None or not told.segments.covers(op):
                await self._telling.ask(op, told, lambda: points.said(op))
        elif op.kind == "tool.execute":
            if op.status == "success":
                await self._telling.ask(op, told, lambda: points.returned(op, told.call_id))
        elif told.opens:
            await self._telling.ask(op, told, lambda: points.answered(op))

    def _tell_rest(self, op: Operation, told: Told) -> None:
        """Record text of a stream that arrived, and that nobody has been asked about."""
        broken = op.status in ("error", "cancelled", "abandoned")
        rest = told.segments.residue if broken and told.segments is not None else None
        if rest is not None:
            told.segments = None
            self._telling.deny(op, told, points.saying(op, rest, "stream_incomplete"))

    async def _close(self, op: Operation, told: Told, reason: str) -> None:
        session = told.session
        if not told.opens or session.closed:
            return
        session.closed = True
        try:
            await self._telling.ask(op, told, lambda: points.shutdown(reason))
        except Reject:
            return  # there is nothing left that could be denied

    # ----------------------------------------------------------------- sessions

    def _told(self, op: Operation) -> Told:
        known: Told | None = op.state.get(self._key)
        if known is None:
            known = op.state[self._key] = self._first(op)
        return known

    def _first(self, op: Operation) -> Told:
        around = op.parent
        while around is not None:
            told: Told | None = around.state.get(self._key)
            if told is not None and not told.session.closed:
                return Told(told.session, opens=False)
            around = around.parent
        return Told(opened(sdk().AgentContextBuilder, op), opens=True)

    @staticmethod
    def _check_open(session: Session) -> None:
        if session.blocked:
            raise Reject(session.blocked, status_code=403, scope="run")
