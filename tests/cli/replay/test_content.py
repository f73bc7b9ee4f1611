"""What hooks can read of a recorded operation."""

import json
from pathlib import Path
from typing import Any

from spanhook import Hooks, Operation, Reject
from spanhook.hooks.tool_policy import ToolPolicy
from tests.cli.replay.asking import decided
from tests.cli.replay.lines import line, span

WITH = line(span(gen_ai__tool__name="refund", gen_ai__tool__call__result="paid"))


def test_results_and_errors(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.after("tool.execute")
    def text(op: Operation) -> None:
        seen.append(op.response.text)

    @hooks.after("tool.execute")
    def own(op: Operation) -> None:
        seen.append(op.result)

    @hooks.after("tool.execute")
    def value(op: Operation) -> None:
        seen.append(bool(op.response.value))

    @hooks.on_error("tool.execute")
    def failed(op: Operation) -> None:
        seen.append(type(op.error))

    broke = span(status="error", error__type="acme.Down", message="Down", gen_ai__tool__name="refund")
    said = ("exception", {"exception.type": "TimeoutError", "exception.message": "30 s"})
    late = span(status="error", error__type="TimeoutError", message="TimeoutError: 30 s", events=(said,))
    assert [one[::3] for one in decided(hooks, tmp_path, WITH, line(broke, late))] == [
        ("own", "op.result"),
        ("value", "op.response.value"),
        ("failed", "op.error"),
    ]
    assert seen == ["paid", TimeoutError]


def test_a_call_without_arguments(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen.append(op.request.arguments)

    assert decided(hooks, tmp_path, line(span(gen_ai__tool__call__result="12:00"))) == []
    assert seen == [{}]


def test_what_it_was_before_it_was_rewritten(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", priority=60)
    def clamped(op: Operation) -> None:
        if op.request.arguments["amount"] > 50:
            op.replace(arguments={"amount": 50})

    @hooks.before("tool.execute", priority=70)
    def small(op: Operation) -> None:
        if op.request.arguments["amount"] > 50:
            raise Reject("too much")

    @hooks.after("tool.execute")
    def audited(op: Operation) -> None:
        if op.request.arguments["amount"] != 50:
            raise Reject("not clamped")

    rewritten = span(
        gen_ai__tool__call__arguments=json.dumps({"amount": 50}),
        spanhook__modified=["arguments"],
        decisions=(("clamped", "pre", "modify"),),
    )
    assert decided(hooks, tmp_path, line(rewritten)) == [
        ("clamped", "tool.execute.pre", "unknown", "op.request.arguments before it was rewritten")
    ]


def test_further_facts(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.after("llm.call")
    def used(op: Operation) -> None:
        seen.append(op.extras["usage_metadata"]["acme-1"]["input_tokens"])

    @hooks.after("llm.call")
    def of_the_library(op: Operation) -> None:
        seen.append(op.extras.get("metadata"))

    @hooks.after("llm.call")
    def whole(op: Operation) -> None:
        seen.append(dict(op.extras.items()))

    call = span("llm.call", gen_ai__request__model="acme-1", gen_ai__usage__input_tokens=3)
    assert [one[::3] for one in decided(hooks, tmp_path, line(call))] == [
        ("of_the_library", "op.extras['metadata']"),
        ("whole", "op.extras as a whole"),
    ]
    assert seen == [3]


def test_what_is_around_it_is_lost(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", agents={"support"})
    def of_support(_op: Operation) -> None:
        raise Reject("no")

    @hooks.before("tool.execute")
    def inside(op: Operation) -> None:
        if op.parent is None:
            raise Reject("only agents")

    @hooks.before("tool.execute")
    def by_name(op: Operation) -> None:
        if op.name == "refund":
            raise Reject("no")

    lost = span(parent="e" * 16, gen_ai__tool__name="refund")
    assert [(one[0], one[2]) for one in decided(hooks, tmp_path, line(lost))] == [
        ("of_support", "unknown"),
        ("inside", "unknown"),
        ("by_name", "reject"),
    ]
    lost = span(parent="e" * 16, gen_ai__tool__name="refund", gen_ai__agent__name="support")
    assert [one[0] for one in decided(hooks, tmp_path, line(lost))] == ["of_support"]


def test_content_that_was_cut_off(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def asked(op: Operation) -> None:
        assert op.request.messages

    @hooks.after("tool.execute")
    def answered(op: Operation) -> None:
        assert op.response.text

    cut = (
        span("llm.call", gen_ai__input__messages='[{"role": "user", "parts": [{"type…'),
        span(at=1, gen_ai__tool__call__result="it was the best of ti…"),
    )
    assert [one[::2] for one in decided(hooks, tmp_path, line(*cut))] == [("asked", "unknown"), ("answered", "unknown")]


def test_a_tool_is_known_by_each_of_its_names(tmp_path: Path) -> None:
    hooks = Hooks(ToolPolicy([{"deny": ["Delete Account"]}]))

    call = span(gen_ai__tool__name="delete_account", spanhook__names=["delete_account", "Delete Account"])
    assert [one[2] for one in decided(hooks, tmp_path, line(call))] == ["reject"]


def test_a_call_to_several_namespaces(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("memory.store", names={"orders"})
    def closed(_op: Operation) -> None:
        raise Reject("no")

    call = span("memory.store", spanhook__memory__namespace="customers,orders")
    assert [one[2] for one in decided(hooks, tmp_path, line(call))] == ["reject"]


def test_what_it_was_before_it_was_replaced(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[str] = []

    @hooks.after("llm.call", priority=60)
    def earlier(op: Operation) -> None:
        seen.append(f"earlier {op.response.text}")

    @hooks.after("llm.call", priority=70)
    def masked(op: Operation) -> None:
        op.respond("***" if "ann" in op.response.text else "?")

    @hooks.after("llm.call", priority=80)
    def later(op: Operation) -> None:
        seen.append(f"later {op.response.text}")

    call = span(
        "llm.call",
        decisions=(("masked", "post", "replace"),),
        gen_ai__output__messages='[{"role": "assistant", "parts": [{"type": "text", "content": "***"}]}]',
    )
    assert [one[::2] for one in decided(hooks, tmp_path, line(call))] == [("earlier", "unknown"), ("masked", "unknown")]
    assert seen == ["later ***"]
