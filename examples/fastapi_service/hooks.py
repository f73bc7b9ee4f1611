"""Only customers may ask, each a limited number of questions at a time. Each worker process counts separately."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from spanhook import Hooks, Operation, Reject

hooks = Hooks()
CUSTOMERS = {"ann", "bob"}
AT_ONCE = 4
running: Counter[str] = Counter()


@hooks.before("llm.call", priority=60)
async def customers_only(op: Operation) -> None:
    if op.identity.user_id not in CUSTOMERS:  # in practice, query your database here: it is awaited, and times out
        raise Reject("Who are you?", status_code=401)


@hooks.around("llm.call")
async def few_at_once(op: Operation, call_next: Callable[[], Awaitable[Any]]) -> Any:
    user = op.identity.user_id
    if running[user] >= AT_ONCE:
        raise Reject(f"No more than {AT_ONCE} questions at a time", status_code=429)
    running[user] += 1
    try:
        return await call_next()
    finally:
        running[user] -= 1
