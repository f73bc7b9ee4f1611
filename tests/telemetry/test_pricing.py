"""What usage costs."""

import pytest

from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder


def test_priced_usage_is_exact_money() -> None:
    with recorder() as seen:
        model = ScriptedChat(body=Body())
        for _ in range(1000):
            model.invoke("hi")
        found = seen.metrics()
    # 15 input at 0.15, 5 cached at 0.075, 8 output at 0.60 dollars per million
    assert found["spanhook.usage.cost"] == [
        (
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "scripted",
                "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
                "spanhook.cost.source": "price list",
            },
            pytest.approx(1000 * (15 * 0.15 + 5 * 0.075 + 8 * 0.60) / 1e6, abs=1e-12),
        )
    ]
    assert "spanhook.usage.unpriced" not in found
