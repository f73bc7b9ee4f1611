"""Tells interceptors of a point, and does what they say together."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from spanhook.errors import HookError, Reject
from spanhook.hooks.agent_hooks import _points as points
from spanhook.hooks.agent_hooks._config import Config
from spanhook.hooks.agent_hooks._emitter import emitter_of, sdk
from spanhook.hooks.agent_hooks._interceptors import function, instantly, resolver
from spanhook.hooks.agent_hooks._people import Asking, People
from spanhook.hooks.agent_hooks._points import Point
from spanhook.hooks.agent_hooks._session import Session, Told
from spanhook.model import Operation

_HOST = "host_error:"
_current: ContextVar[Operation | None] = ContextVar("spanhook_agent_hooks", default=None)
"""The operation that interceptors are told of."""


class Telling:
    """Tells interceptors, and settles what follows from it.

    Args:
        config: The settings.
        registry: What a declaration may refer to.
        name: Gives the hook's name.

    Attributes:
        enforces: Whether verdicts are acted on.

    Raises:
        ConfigurationError: Something cannot be found or used.
    """

    def __init__(self, config: Config, registry: Any, name: Callable[[], str]) -> None:
        self._traced, self._name = config.trace, name
        self._emitter = emitter_of(config, registry, self._resolver(config))
        if config.records is not None:
            self._emitter.set_record_sink(function(config.records, "records"))
        self.enforces = self._emitter.mode is sdk().EnforcementMode.ENFORCE
        declared: Any = self._emitter.declaration
        posture = config.tool_failure
        self._points: frozenset[str] | None = None
        if declared is not None:
            posture = declared.configuration["posture"]["tool_seam_host_error"]
            self._points = frozenset(declared.surface["interception_points"])
        self._ends = posture == "terminate"

    async def ask(self, op: Operation, told: Told, make: Callable[[], Point]) -> None:
        """Tell interceptors of a point, and do what they say.

        Args:
            op: The operation.
            told: What is kept of it.
            make: Makes the point.

        Raises:
            Reject: They deny it.
        """
        prepared = self._prepared(op, told, make)
        if prepared is None:
            return
        point, context = prepared
        before = context["target"]
        token = _current.set(op)
        try:
            record = await self._emitter.emit_unchecked(context)
        finally:
            _current.reset(token)
        if self.enforces and record.proceeds and op.phase == "pre":
            _check_unchanged(op, point, make)
        self._settle(op, told, point, before, context, record)

    def ask_now(self, op: Operation, told: Told, text: str, finish_reason: str) -> None:
        """The same for a part of a stream, whose interceptors cannot be waited for.

        Raises:
            Reject: They deny it, or one of them would have to be waited for.
        """
        prepared = self._prepared(op, told, lambda: points.saying(op, text, finish_reason))
        if prepared is None:
            return
        point, context = prepared
        before = context["target"]
        token = instantly.set(True)
        try:
            self._emitter.emit_unchecked(context).send(None)
        except StopIteration as done:
            record = done.value
        else:
            raise HookError("the contract's emitter waits for something")
        finally:
            instantly.reset(token)
        self._settle(op, told, point, before, context, record)

    def deny(self, op: Operation, told: Told, point: Point) -> None:
        """Record that what is told at a point was withheld since nobody could be asked."""
        if self._tells(point.name):
            context = told.session.context(point, op, traced=self._traced)
            self._emitter.deny(context, "host_error:streaming_unsupported")

    # ----------------------------------------------------------------- contexts

    def _prepared(self, op: Operation, told: Told, make: Callable[[], Point]) -> tuple[Point, dict[str, Any]] | None:
        """A point and its context; ``None`` if it is not told, or has been."""
        try:
            point = make()
            if not self._tells(point.name):
                return None
            if told.point == point.name and told.target == told.session.target(point):
                return None  # asked again after a rewrite that changes nothing here
            return point, told.session.context(point, op, traced=self._traced)
        except (TypeError, ValueError, RecursionError) as error:
            self._fail(told.session, op, error)
            return None

    def _tells(self, name: str) -> bool:
        return self._points is None or name in self._points

    def _fail(self, session: Session, op: Operation, error: Exception) -> None:
        """A context cannot be made.

        Raises:
            Reject: Always, if verdicts are enforced.
        """
        name, number = points.name_of(op), session.skip()
        self._emitter.record_host_failure(name, type(error).__name__, session_id=session.identifier, sequence=number)
        if self.enforces:
            raise Reject(f"Policy {self._name()!r} cannot be told of this", status_code=422)

    # ----------------------------------------------------------------- verdicts

    def _settle(
        self, op: Operation, told: Told, point: Point, before: Any, context: Mapping[str, Any], record: Any
    ) -> None:
        if not record.proceeds:
            raise self._refusal(op, told, point, record)
        told.session.note(list(record.verdict.result_labels))
        told.point, told.target = point.name, context["target"]
        if not self.enforces or context["target"] == before:
            return
        out = _is_out(told, point)
        try:
            if out:
                raise ValueError("what has been released cannot be changed")
            point.change(context["target"])
        except ValueError as error:
            raise Reject(
                f"Policy {self._name()!r} asks for a change that cannot be made",
                status_code=422,
                scope="run" if out else "operation",
            ) from error

    def _refusal(self, op: Operation, told: Told, point: Point, record: Any) -> Reject:
        verdict = record.verdict
        code = verdict.reason or ""
        host = code.startswith(_HOST)
        ends = _is_out(told, point) or (host and op.kind == "tool.execute" and self._ends)
        said = code if host else " ".join((verdict.message or code).split())
        return Reject(
            said or f"Policy {self._name()!r} does not allow this",
            status_code=504 if code.endswith("_timeout") else 502 if host else 403,
            scope="run" if ends else "operation",
        )

    # ----------------------------------------------------------------- approvals

    def _resolver(self, config: Config) -> Any:
        given: Any = config.approval
        if given is None:
            return None
        resolution: type[Any] = sdk().ApprovalResolution
        if not isinstance(given, Asking):
            return resolver(given, resolution)
        people = People(given, config.store)

        async def resolve(request: Any) -> Any:
            op = _current.get()
            if op is None:
                raise HookError("nobody knows what is asked about")
            people.approval.name = self._name()
            return await people.ask(op, request)

        return resolver(resolve, resolution)


def _is_out(told: Told, point: Point) -> bool:
    """Whether some of what is told at a point has been released, and cannot be taken back."""
    return point.name == "post_model_call" and told.segments is not None


def _check_unchanged(op: Operation, point: Point, make: Callable[[], Point]) -> None:
    """Refuse the call if the application has changed it while interceptors were told.

    Raises:
        Reject: It has.
    """
    op.refresh()
    try:
        same = make().members == point.members
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise Reject("The request was changed while its policy was asked", status_code=409)
