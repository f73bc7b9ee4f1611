"""The hooks of ``working.py``: every other refund is refused."""

import itertools

from spanhook import Hooks, Operation, Reject

hooks = Hooks()
_asked = itertools.count(1)


@hooks.before("tool.execute", names={"refund"})
def every_other(op: Operation) -> None:
    if next(_asked) % 2 == 0:
        raise Reject("one refund in two", status_code=403)
