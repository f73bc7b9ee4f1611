"""First light: a tool call is traced and gated."""

import pytest
from langchain_core.tools import tool

from spanhook import Hooks, Operation, Reject
from spanhook.testing import recorder


@tool
def refund(amount: int) -> str:
    """Refund an amount."""
    return f"refunded {amount}"


def test_a_rejected_tool_call_never_reaches_the_body() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"refund"})
    def small_ones_only(op: Operation) -> None:
        if op.request.arguments["amount"] > 10:
            raise Reject("too much", status_code=402)

    with recorder(hooks) as seen:
        assert refund.invoke({"amount": 5}) == "refunded 5"
        with pytest.raises(Reject, match="too much") as caught:
            refund.invoke({"amount": 50})
    assert caught.value.status_code == 402
    assert [op.status for op in seen.operations] == ["success", "rejected"]
    assert [span.status.status_code.name for span in seen.spans] == ["UNSET", "ERROR"]
