"""The hook: asks, waits, and lets the call pass once with the arguments that were approved."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple, ParamSpec, TypeVar
from uuid import uuid4

from spanhook import semconv
from spanhook.errors import HookError, Reject, StoreError
from spanhook.gating import Hook, Pausable, handler, pausable, tell_waiting, validated
from spanhook.hooks.approval._binding import asked_for, binding_of, canonical, shown
from spanhook.hooks.approval._config import Config
from spanhook.hooks.approval._figures import Figures
from spanhook.hooks.approval._pausing import Pausing
from spanhook.hooks.approval._refusals import NotApproved, refuse
from spanhook.model import Operation
from spanhook.store import ApprovalError, ApprovalRequest, in_worker, open_approvals

P = ParamSpec("P")
T = TypeVar("T")

Ask = Callable[[ApprovalRequest], "bool | Awaitable[bool | None] | None"]
"""Decides about a request: ``True`` approves, ``False`` denies, ``None`` leaves it to a person."""


class _Used(NamedTuple):
    """The approval that an operation has used, as its ``after`` needs it."""

    binding: str
    id: str
    place: str


_NOTHING = _Used("", "", "")


@handler
class Approval(Hook):
    """Lets a tool run only if a person has approved this very call.

    An approval is for one call: of this user in this session, by this agent, through this policy, with exactly these
    arguments as they will execute. Graphs of LangGraph with a checkpointer are interrupted; elsewhere, the call waits a
    while and is then refused with status 409, and the same call finds the answer later.

    Args:
        timeout: Seconds for which a request can be answered. It is not the hook's own time limit: it has none.
        on_timeout: What becomes of a call that waits until its request has expired: ``"deny"`` or ``"allow"``.
        wait: Seconds to wait in place for the answer.
        poll: Seconds between two looks at the answer.
        valid_for: Seconds for which an answer holds; by default as ``timeout``.
        approvers: Who may answer, by user id with wildcards; all unless given.
        self_approval: Whether whoever asks may answer.
        title: What to tell whoever decides.
        show_arguments: Keep the arguments with the request, so that they are seen.
        pause: Pause graphs of LangGraph that have a checkpointer.
        store: Where requests are kept: ``memory://``, ``sqlite:///FILE`` or ``redis://HOST``.
        ask: Called with each new request, sync or async: ``True`` approves, ``False`` denies, ``None`` leaves it to a
            person. Any other answer refuses the call.

    Raises:
        ConfigurationError: A setting cannot be used, or a package is missing.
    """

    kinds = ("tool.execute",)
    _not_replayed = "what people would answer"
    _acts_once = True
    name = "approval"
    priority = 98
    timeout = None
    stream = "observe"  # what a call returns does not matter here

    Config = Config

    def __init__(
        self,
        timeout: float = 3600,
        *,
        on_timeout: Literal["deny", "allow"] = "deny",
        wait: float = 5,
        poll: float = 0.5,
        valid_for: float | None = None,
        approvers: Sequence[str] = (),
        self_approval: bool = False,
        title: str = "",
        show_arguments: bool = True,
        pause: bool = True,
        store: str = "memory://",
        ask: Ask | None = None,
    ) -> None:
        given = {
            "timeout": timeout,
            "on_timeout": on_timeout,
            "wait": wait,
            "poll": poll,
            "valid_for": valid_for,
            "approvers": list(approvers),
            "self_approval": self_approval,
            "title": title,
            "show_arguments": show_arguments,
            "pause": pause,
            "store": store,
        }
        self._config: Config = validated(Config, given, "approval")
        self._ask = ask
        self._approvals = open_approvals(store)
        self._key = f"spanhook.approval.{id(self):x}"
        self._pausing = Pausing(self, self._approvals)
        self._figures = Figures(self._approvals)

    async def before(self, op: Operation) -> None:
        """Let the call pass if it is approved.

        Raises:
            NotApproved: It was denied, was not answered in time, or is not answered yet.
            Reject: Its arguments cannot be bound to an approval.
            StoreError: The store cannot be used now.
        """
        here = pausable() if self._config.pause else None
        place = "" if here is None else f"{here.place}/{op.tool_call_id}"
        binding, arguments = self._bound(op, place)
        if op.state.get(self._key, _NOTHING).binding == binding:
            return  # asked again after a rewrite that changes nothing here
        if op.mode == "shadow":
            raise Reject(f"Approval {self.name!r} would be asked for", status_code=409)
        self._figures.begin(self.name)
        used = await self._decided(op, binding, arguments, here, place)
        self._check_unchanged(op, binding, place)
        op.state[self._key] = _Used(binding, used.id, place)

    async def after(self, op: Operation) -> None:
        """A call that pauses before it is done runs again, with the approval it has."""
        used: _Used = op.state.get(self._key, _NOTHING)
        if op.status == "interrupted" and used.place:
            with suppress(StoreError):  # it has to be approved again then
                await self.call(self._approvals.pause, used.id, used.place)

    def _fails_with(self, error: Exception, reason: str, status_code: int) -> Exception:
        if isinstance(error, StoreError):
            reason, status_code = f"Approval {self.name!r} cannot be asked for now", 503
        return super()._fails_with(error, reason, status_code)

    # ----------------------------------------------------------------- what is asked for

    def _bound(self, op: Operation, place: str) -> tuple[str, str]:
        """What an approval of this call is bound to, and its arguments as text.

        A framework that runs a call again says which call it is. Without that, equal calls cannot be told apart.
        """
        try:
            arguments = canonical(asked_for(op))
        except (ValueError, RecursionError) as error:
            raise Reject(
                f"The arguments of {op.name!r} cannot be approved: {error}; pass plain data", status_code=400
            ) from None
        who = op.identity
        parts = (self.name, op.kind, op.name, who.tenant_id, who.user_id, who.session_id, op.agent, place)
        return binding_of(parts, arguments), arguments

    def _check_unchanged(self, op: Operation, binding: str, place: str) -> None:
        """Refuse the call if the application has changed its arguments while the hook was waiting."""
        op.refresh()
        if self._bound(op, place)[0] != binding:
            raise Reject("The arguments were changed while their approval was waited for", status_code=409)

    def _request(self, op: Operation, binding: str, arguments: str, place: str) -> ApprovalRequest:
        config, who = self._config, op.identity
        return ApprovalRequest(
            id=uuid4().hex[:16],
            binding=binding,
            policy=self.name,
            tool=op.name,
            tenant_id=who.tenant_id,
            user_id=who.user_id,
            session_id=who.session_id,
            agent=op.agent,
            arguments=shown(arguments) if config.show_arguments else "",
            title=config.title,
            valid_s=config.timeout if config.valid_for is None else config.valid_for,
            approvers=tuple(config.approvers),
            self_approval=config.self_approval,
            place=place,
        )

    # ----------------------------------------------------------------- what is decided

    async def _decided(
        self, op: Operation, binding: str, arguments: str, here: Pausable | None, place: str
    ) -> ApprovalRequest:
        """Ask until there is an approval that this call can use. Returns it."""
        if here is not None:
            paused = await self.call(self._approvals.paused_by, binding, place)
            if paused is not None and await self.call(self._approvals.use, paused.id, place):
                op.span.set_attribute(semconv.APPROVAL_ID, paused.id)
                self._pausing.go_on(paused, here)
                return paused
        while True:
            request, is_new = await self.call(
                self._approvals.ask,
                self._request(op, binding, arguments, "" if here is None else here.place),
                self._config.timeout,
            )
            op.span.set_attribute(semconv.APPROVAL_ID, request.id)
            self._figures.see(request)
            if is_new:
                self._figures.count("requested")
                request = await self._ask_callback(request)
            if request.status == "pending":
                tell_waiting(op, _waits_for(request))
            if here is not None:
                async with self._pausing.turn(here):
                    request = await self._pausing.paused(request, here)
            elif request.status == "pending":
                request = await self._wait(request)
            self._figures.see(request)
            if request.status == "expired" and not request.answered_by and self._config.on_timeout == "allow":
                return request
            if request.status not in ("approved", "used"):
                refuse(request)
            self._check_unchanged(op, binding, place)
            if await self.call(self._approvals.use, request.id, place):
                self._figures.count("used")
                return request

    async def _ask_callback(self, request: ApprovalRequest) -> ApprovalRequest:
        if self._ask is None:
            return request
        answer = self._ask(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is None:
            return request
        if answer is not True and answer is not False:
            # Refused whatever the fail mode: this is an answer, though nobody knows which.
            raise Reject(f"ask= of {self.name!r} gave a {_named(answer)}", status_code=500) from HookError(
                f"ask= returned a {_named(answer)}; expected True, False, or None to leave it to a person"
            )
        return await self.answered(request, answer, "callback", "", checked=False)

    async def answered(
        self, request: ApprovalRequest, approve: bool, by: str, reason: str, *, checked: bool
    ) -> ApprovalRequest:
        def answer() -> ApprovalRequest:
            return self._approvals.answer(request.id, approve=approve, by=by, reason=reason, checked=checked)

        try:
            answered = await self.call(answer)
        except ApprovalError as error:
            found = await self.call(self._approvals.find, request.id)
            if found is None or found.status == "pending":
                raise NotApproved.of(request, str(error), 403) from None
            return found
        self._figures.see(answered)
        return answered

    async def _wait(self, request: ApprovalRequest) -> ApprovalRequest:
        """Wait for the answer, for a while."""
        ends = time.monotonic() + self._config.wait
        while request.status == "pending" and (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(min(self._config.poll, left))
            found = await self.call(self._approvals.find, request.id)
            if found is None:
                break
            request = found
        return request

    # ----------------------------------------------------------------- how

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        if self._approvals.remote:
            return await in_worker(function, *args, **kwargs)
        return function(*args, **kwargs)


def _named(answer: object) -> str:
    return type(answer).__qualname__


def _waits_for(request: ApprovalRequest) -> dict[str, str]:
    said = {"approval_id": request.id, "tool": request.tool, "agent": request.agent, "title": request.title}
    return {**said, "policy": request.policy, "arguments": request.arguments}
