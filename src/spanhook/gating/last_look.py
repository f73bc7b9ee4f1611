"""The gates of one operation once more, on what the body of its call receives from the framework."""

from collections.abc import Callable

from spanhook.errors import HookError
from spanhook.gating._asking import Asking
from spanhook.gating._pieces import meant
from spanhook.gating.binding import BEFORE_NEXT, Bound
from spanhook.gating.listener import Tally
from spanhook.gating.plan import Plan
from spanhook.model import Operation, Record, Rewritten

Validate = Callable[[Rewritten], Rewritten]
"""Has the framework validate a rewritten call; returns the call that its body receives then, or raises."""


class LastLook(Asking):
    """Runs gates between a framework's validation of a call's arguments and the call's body.

    Hooks around the call have begun, so only gates before it look again. Those that act once do it here, if they have
    waited for it.

    Args:
        op: The operation; its call is what the body receives.
        plan: The hooks of its kind.
        tally: Called with every decision.
        validate: What is done with calls that hooks rewrite.
        is_async: Whether the body is awaited.
    """

    __slots__ = ("_validate",)

    def __init__(self, op: Record, plan: Plan, tally: Tally, validate: Validate, *, is_async: bool) -> None:
        super().__init__(op, plan, tally, is_async=is_async)
        self._validate = validate

    async def look(self, *, differs: bool, waited: bool) -> None:
        """Run the gates that have to look; the outcome is in the operation.

        Args:
            differs: The body does not receive what gates were shown.
            waited: Those that act once have not acted.
        """
        op = self.op
        for bound in self.plan.pre:
            looks = waited or differs if bound.acts_once else differs and bound.asked_again
            if not looks or (bound.selective and not self.wants(bound)):
                self._skipped = (*self._skipped, bound)
            else:
                before = op.args
                await self.ask(bound, again=bound.form == BEFORE_NEXT)
                if bound.form == BEFORE_NEXT and op.args is not before and op.error is None:
                    await self.ask_again(bound)
            if op.error is not None:
                return

    async def judge(self, bound: Bound, spent: int, view: Operation, *, again: bool = False) -> None:
        asked = view._rewritten
        if asked is not None:
            try:
                view._rewritten = self._validate(asked)
            except BaseException as error:
                view._take()
                self.verdicts.failed(bound, _lost(meant(error)), spent)
                return
        await super().judge(bound, spent, view, again=again)


def _lost(error: BaseException) -> BaseException:
    """A rewrite that the framework refuses is the hook's failure. Its message may quote the call."""
    if isinstance(error, HookError) or not isinstance(error, Exception):
        return error
    failure = HookError(f"what op.replace() made of the arguments does not pass validation: {type(error).__name__}")
    failure.__cause__ = error
    return failure
