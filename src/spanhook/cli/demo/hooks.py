"""The demo's hooks, written like your own would be: ``spanhook run --hooks hooks.py:hooks app.py``."""

from collections import defaultdict
from collections.abc import Generator
from typing import Any

from spanhook import Hooks, Operation, Reject

hooks = Hooks()

PAYING = {"ann", "carol"}
BUDGET_USD = 25.00

ledger = defaultdict[str, float](float, {"globex": 25.04})
cache: dict[str, Any] = {}


@hooks.before("agent.invoke")
def within_budget(op: Operation) -> None:
    tenant = op.identity.tenant_id
    if ledger[tenant] >= BUDGET_USD:
        raise Reject(f"{tenant} has spent ${ledger[tenant]:.2f} of its ${BUDGET_USD:.2f}", status_code=429)


@hooks.before("tool.execute", names={"refund"}, timeout=2.0)
async def paying_customers_only(op: Operation) -> None:
    if op.identity.user_id not in PAYING:
        raise Reject("An active subscription is required", status_code=402)


@hooks.around("tool.execute", names={"search_orders"})
def cached(op: Operation) -> Generator[Any, Any, Any]:
    key = op.request.arguments["query"]
    if key in cache:
        return cache[key]  # answers instead of the call; returning nothing later keeps the result
    cache[key] = yield
    return None


@hooks.after("agent.invoke")
def bill(op: Operation) -> None:
    ledger[op.identity.tenant_id] += op.usage.cost_usd or 0.0
