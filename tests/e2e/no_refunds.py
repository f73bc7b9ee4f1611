"""Hooks for ``agent.py``: one of its tools is refused."""

from spanhook import Hooks, Operation, Reject

hooks = Hooks()


@hooks.before("tool.execute", names={"refund"})
def no_refunds(op: Operation) -> None:
    raise Reject("no refunds")
