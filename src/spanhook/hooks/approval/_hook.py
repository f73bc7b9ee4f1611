"""The hook: asks, waits, and lets the call pass once with the arguments that were approved."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, ParamSpec, TypeVar, cast
from uuid import uuid4
from weakref import WeakValueDictionary

from spanhook.errors import Reject, StoreError
from spanhook.gating import Hook, Pausable, handler, pausable, validated
from spanhook.hooks.approval._binding import UnboundValueError, binding_of, canonical
from spanhook.hooks.approval._config import Config
from spanhook.hooks.approval._figures import Figures
from spanhook.model import Operation
from spanhook.store import ApprovalError, ApprovalRequest, in_worker, open_approvals

P = ParamSpec("P")
T = TypeVar("T")

Ask = Callable[[ApprovalRequest], "bool | Awaitable[bool | None] | None"]
"""Decides about a request: true approves, false denies, ``None`` leaves it to a person."""

_DECISIONS = {"approve": True, "deny": False}
_LONGEST_SHOWN = 20_000


class NotApproved(Reject):
    """A call was not approved, or not yet.

    Attributes:
        approval_id: The request.
    """

    approval_id: str = ""

    @classmethod
    def of(cls, request: ApprovalRequest, reason: str, status_code: int) -> "NotApproved":
        """The refusal of a request."""
        made = cls(reason, status_code=status_code)
        made.approval_id = request.id
        return made


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
        ask: Called with each new request, sync or async: true approves, false denies, ``None`` leaves it to a person.

    Raises:
        ConfigurationError: A setting cannot be used, or a package is missing.
    """

    kinds = ("tool.execute",)
    name = "approval"
    priority = 98
    timeout = None

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
        self._turns: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
        self._figures = Figures(self._approvals)

    async def before(self, op: Operation) -> None:
        """Let the call pass if it is approved.

        Raises:
            NotApproved: It was denied, was not answered in time, or is not answered yet.
            Reject: Its arguments cannot be bound to an approval.
            StoreError: The store cannot be used now.
        """
        binding, arguments = self._bound(op)
        if op.state.get(self._key) == binding:
            return  # asked again after a rewrite that changes nothing here
        if op.mode == "shadow":
            raise Reject(f"Approval {self.name!r} would be asked for", status_code=409)
        self._figures.begin(self.name)
        if not await self._decided(op, binding, arguments):
            op.refresh()
            if self._bound(op)[0] != binding:
                raise Reject("The arguments were changed while their approval was waited for", status_code=409)
        op.state[self._key] = binding

    def _fails_with(self, error: Exception, reason: str, status_code: int) -> Exception:
        if isinstance(error, StoreError):
            reason, status_code = f"Approval {self.name!r} cannot be asked for now", 503
        return super()._fails_with(error, reason, status_code)

    # ----------------------------------------------------------------- what is asked for

    def _bound(self, op: Operation) -> tuple[str, str]:
        """What an approval of this call is bound to, and its arguments as text."""
        request = op.request
        try:
            arguments = canonical(request.arguments or request.inputs)
        except (UnboundValueError, RecursionError) as error:
            raise Reject(
                f"The arguments of {op.name!r} cannot be approved: {error}; pass plain data", status_code=400
            ) from None
        who = op.identity
        parts = (self.name, op.kind, op.name, who.tenant_id, who.user_id, who.session_id, op.agent)
        return binding_of(parts, arguments), arguments

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
            arguments=arguments[:_LONGEST_SHOWN] if config.show_arguments else "",
            title=config.title,
            valid_s=config.timeout if config.valid_for is None else config.valid_for,
            approvers=tuple(config.approvers),
            self_approval=config.self_approval,
            place=place,
        )

    # ----------------------------------------------------------------- what is decided

    async def _decided(self, op: Operation, binding: str, arguments: str) -> bool:
        """Ask until there is an approval that this call can use. Returns whether it was there already."""
        here = pausable() if self._config.pause else None
        place = "" if here is None else f"{here.place}/{op.tool_call_id}"
        if here is not None:
            used = await self._call(self._approvals.used_by, binding, place)
            if used is not None:  # the node runs again, because something in it has paused
                self._go_on(used, here)
                return True
        waited = False
        while True:
            request, is_new = await self._call(
                self._approvals.ask,
                self._request(op, binding, arguments, "" if here is None else here.place),
                self._config.timeout,
            )
            self._figures.see(request)
            if is_new:
                self._figures.count("requested")
                request = await self._ask_callback(request)
            if here is not None:
                async with self._turn(here):
                    request = await self._paused(request, here)
            elif request.status == "pending":
                waited = True
                request = await self._wait(request)
            self._figures.see(request)
            if request.status == "expired" and self._config.on_timeout == "allow":
                return not waited
            if request.status not in ("approved", "used"):
                self._refuse(request)
            if await self._call(self._approvals.use, request.id, place):
                self._figures.count("used")
                return not waited

    async def _ask_callback(self, request: ApprovalRequest) -> ApprovalRequest:
        if self._ask is None:
            return request
        answer = self._ask(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is None:
            return request
        return await self._answered(request, bool(answer), "callback", "", checked=False)

    async def _paused(self, request: ApprovalRequest, here: Pausable) -> ApprovalRequest:
        """Pause until the request is answered, and so are those of other calls of the same node.

        A node that pauses for one call runs again with all of them, so none may run before. And a framework may give
        the answer of one call to another, so an answer names its request. What else it is resumed with says no more
        than that the request may have been answered elsewhere.
        """
        has_paused = False
        while True:
            request = await self._call(self._approvals.find, request.id) or request
            asked = request if request.status == "pending" else await self._call(self._other_pending, request)
            if asked is None:
                if not has_paused:
                    self._go_on(request, here)
                return request
            value: Any = here.ask(self._question(asked))
            has_paused = True
            if isinstance(value, dict):
                await self._take(request, cast("dict[str, Any]", value))

    def _turn(self, here: Pausable) -> asyncio.Lock:
        """Calls of one node take turns: which of them gets which answer is not known before."""
        key = id(asyncio.get_running_loop()), here.place
        lock = self._turns.get(key)
        if lock is None:
            lock = self._turns[key] = asyncio.Lock()
        return lock

    def _go_on(self, request: ApprovalRequest, here: Pausable) -> None:
        """Take the answer that waits for this call, if any, so that no question of the tool's own gets it."""
        with suppress(here.signal):
            here.ask(self._question(request))

    def _other_pending(self, request: ApprovalRequest) -> ApprovalRequest | None:
        """The request of another call of the same node that is not answered yet."""
        for one in self._approvals.requests("pending"):
            if one.place == request.place and one.id != request.id:
                return one
        return None

    async def _take(self, request: ApprovalRequest, given: dict[str, Any]) -> None:
        """Answer a request with what something was resumed with."""
        approve = _DECISIONS.get(str(given.get("decision", "")))
        named = str(given.get("approval_id", ""))
        found = request if named == request.id else await self._call(self._approvals.find, named)
        if approve is None or found is None or found.status != "pending" or _whose(found) != _whose(request):
            return
        by, reason = str(given.get("by", "")), str(given.get("reason", ""))
        await self._answered(found, approve, by or "whoever resumed it", reason, checked=bool(by))

    async def _answered(
        self, request: ApprovalRequest, approve: bool, by: str, reason: str, *, checked: bool
    ) -> ApprovalRequest:
        def answer() -> ApprovalRequest:
            return self._approvals.answer(request.id, approve=approve, by=by, reason=reason, checked=checked)

        try:
            answered = await self._call(answer)
        except ApprovalError as error:
            found = await self._call(self._approvals.find, request.id)
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
            found = await self._call(self._approvals.find, request.id)
            if found is None:
                break
            request = found
        return request

    def _question(self, request: ApprovalRequest) -> dict[str, Any]:
        """What whoever resumes is shown."""
        return {
            "type": "approval",
            "approval_id": request.id,
            "policy": self.name,
            "tool": request.tool,
            "arguments": request.arguments,
            "title": request.title,
            "expires_at": request.expires_at,
        }

    def _refuse(self, request: ApprovalRequest) -> None:
        why = f": {request.reason}" if request.reason else ""
        if request.status == "pending":
            raise NotApproved.of(
                request,
                f"{request.tool!r} needs approval {request.id}, which nobody has given yet; call it again once it is "
                "approved",
                409,
            )
        if request.status == "denied":
            raise NotApproved.of(request, f"{request.tool!r} was not approved{why}", 403)
        raise NotApproved.of(request, f"nobody has answered approval {request.id} of {request.tool!r} in time", 403)

    # ----------------------------------------------------------------- how

    async def _call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        if self._approvals.remote:
            return await in_worker(function, *args, **kwargs)
        return function(*args, **kwargs)


def _whose(request: ApprovalRequest) -> tuple[str, ...]:
    return request.policy, request.tenant_id, request.user_id, request.session_id
