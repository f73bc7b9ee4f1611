"""Operations end in the replay as they ended: status, phase, usage, identity."""

from pathlib import Path
from typing import Any

import pytest

from spanhook import Hooks, Operation
from tests.cli.replay.asking import decided
from tests.cli.replay.lines import line, span

ENDINGS = {
    "success": (span(), ("after", "success")),
    "interrupted": (span(status="interrupted"), ("after", "interrupted")),
    "abandoned": (span(status="abandoned"), ("after", "abandoned")),
    "error": (span(status="error", error__type="acme.Down", message="acme.Down"), ("on_error", "error")),
    "cancelled": (span(status="cancelled", error__type="CancelledError"), ("on_error", "cancelled")),
    "rejected inside": (span(status="rejected", error__type="spanhook.Reject", message="no"), ("on_error", "rejected")),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_endings(ending: str, tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.after("tool.execute")
    def after(op: Operation) -> None:
        seen.append(("after", op.status))

    @hooks.on_error("tool.execute")
    async def on_error(op: Operation) -> None:
        seen.append(("on_error", op.status))

    recorded, expected = ENDINGS[ending]
    assert decided(hooks, tmp_path, line(recorded)) == []
    assert seen == [expected]


def test_a_result_that_says_that_the_tool_failed(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.after("tool.execute")
    def after(op: Operation) -> None:
        seen.append((op.status, op.response.text))

    @hooks.on_error("tool.execute")
    def on_error(op: Operation) -> None:
        seen.append(str(op.error))

    failed = span(status="error", error__type="tool_error", gen_ai__tool__call__result="no such file")
    assert decided(hooks, tmp_path, line(failed)) == []
    assert seen == [("error", "no such file"), "tool_error"]


def test_identity_usage_and_parameters(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        identity = op.identity
        seen.append((identity.tenant_id, identity.user_id, identity.session_id, identity.run_id))
        seen.append((dict(identity.attributes), op.provider, op.model, dict(op.parameters)["max_tokens"]))
        used = op.usage
        seen.append((used.input_tokens, used.cache_read_tokens, used.output_tokens, used.cost_usd, used.llm_calls))
        seen.append((list(op.usage_by_model), op.response.finish_reasons))

    call = span(
        "llm.call",
        gen_ai__request__model="acme-1",
        gen_ai__request__max_tokens=7,
        gen_ai__provider__name="acme",
        gen_ai__response__model="acme-1-2026",
        gen_ai__response__finish_reasons=["stop"],
        gen_ai__output__messages="[]",
        gen_ai__usage__input_tokens=10,
        gen_ai__usage__cache_read__input_tokens=4,
        gen_ai__usage__output_tokens=2,
        spanhook__cost__usd=0.25,
        spanhook__tenant__id="acme",
        user__id="ann",
        session__id="s1",
        spanhook__run__id="r1",
        region="north",
    )
    assert decided(hooks, tmp_path, line(call)) == []
    assert seen == [
        ("acme", "ann", "s1", "r1"),
        ({"region": "north"}, "acme", "acme-1", 7),
        (10, 4, 2, 0.25, 1),
        (["acme-1-2026"], ("stop",)),
    ]


def test_odd_values_do_no_harm(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.after("*")
    def after(op: Operation) -> None:
        seen.append((op.kind, op.name, op.usage.total_tokens, op.usage.cost_usd))

    odd = span(
        "llm.call",
        gen_ai__usage__input_tokens="many",
        gen_ai__usage__output_tokens=-4,
        spanhook__cost__usd="free",
        spanhook__modified=3,
        spanhook__usage__uncounted=5,
        gen_ai__input__messages="[",
        gen_ai__request__model=7,
    )
    own = span("nightly.replayed", spanhook__operation__name="nightly")
    assert decided(hooks, tmp_path, line(odd, own)) == []
    assert seen == [("llm.call", "7", 0, None), ("nightly.replayed", "nightly", 0, None)]
