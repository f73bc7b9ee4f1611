"""A resolver that asks people, as the hook ``approval`` does."""

from typing import Any

from spanhook.errors import Reject
from spanhook.hooks.agent_hooks._emitter import sdk
from spanhook.hooks.approval import Approval, Asking
from spanhook.model import Operation


class People:
    """Asks people whether a call may be made. It has to be told which call that is.

    Args:
        asking: How they are asked.
        store: Where requests are kept.

    Raises:
        ConfigurationError: The store cannot be used.
    """

    def __init__(self, asking: Asking, store: str) -> None:
        # A graph is not paused: what pauses it is raised through the contract's emitter, which takes it for a failure.
        settings: dict[str, Any] = {**asking.model_dump(), "pause": False}
        self.approval = Approval(**settings, store=store)

    async def ask(self, op: Operation, request: Any) -> Any:
        """The resolution of a request of the contract."""
        contract = sdk()
        outcome, verdict = contract.ApprovalOutcome.APPROVE, contract.Verdict.allow()
        if op.phase != "pre":  # what has been done cannot be asked for
            return contract.ApprovalResolution(contract.ApprovalOutcome.UNRESOLVED, request.context_identity)
        try:
            await self.approval.before(op)
        except Reject as refused:
            outcome, verdict = contract.ApprovalOutcome.REJECT, contract.Verdict.deny(message=refused.reason)
        return contract.ApprovalResolution(outcome, request.context_identity, verdict)
