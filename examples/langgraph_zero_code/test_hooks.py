"""Test hooks without a model or a network: spanhook.testing records what they decide.

pip install "spanhook[examples]"
pytest
"""

from typing import Any

import pytest
from app import refund

import spanhook
from hooks import hooks
from spanhook.testing import is_gated, recorder


def asked(amount: float) -> dict[str, Any]:
    """A tool call as a model makes it: a rejection then becomes the tool's answer, which the model reads."""
    return {"type": "tool_call", "id": "1", "name": "refund", "args": {"order": 1001, "amount": amount}}


@pytest.mark.parametrize("user", ["bob", ""])
def test_nobody_else_is_paid(user: str) -> None:
    with recorder(hooks) as seen, spanhook.context(user_id=user):
        told = refund.invoke(asked(20))
    assert (told.status, told.content) == ("error", "Tool call rejected: An active subscription is required")
    assert [(op.name, op.status) for op in seen.operations] == [("refund", "rejected")]


def test_large_refunds_are_cut() -> None:
    with recorder(hooks) as seen, spanhook.context(user_id="ann"):
        assert refund.invoke(asked(80)).content == "50 dollars paid back for order 1001"
    assert [one.hook for one in seen.operations[0].decisions] == ["at_most"]


def test_our_way_of_calling_tools_passes_the_gates() -> None:
    assert is_gated("tool.execute", lambda: refund.invoke(asked(1)))
