"""Limit the agent: refunds only for paying customers, at most 50 dollars, and print a line about each run."""

from spanhook import Hooks, Operation, Reject

hooks = Hooks()
PAYING = {"ann", "carol"}
LIMIT = 50


@hooks.before("tool.execute", names={"refund"}, priority=60)
def paying_customers_only(op: Operation) -> None:
    if op.identity.user_id not in PAYING:
        raise Reject("An active subscription is required", status_code=402)


@hooks.before("tool.execute", names={"refund"})
def at_most(op: Operation) -> None:
    asked = op.request.arguments
    if asked["amount"] > LIMIT:
        op.replace(arguments={**asked, "amount": LIMIT})


@hooks.after("agent.invoke")
def bill(op: Operation) -> None:
    print(f"{op.identity.user_id} used {op.usage.total_tokens} tokens in {op.usage.llm_calls} model calls")
