"""A run of hundreds of operations is read on one screen, and what is folded adds up to what was there."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from spanhook.export.console import Node, Style, render, style_of, width
from spanhook.export.console.folding import fold
from spanhook.model import DecisionRecord, Usage


def used() -> Usage:
    usage = Usage(1200, 30)
    usage.cost_nano = 209_000
    return usage


def step(kind: str, name: str, start: int, **more: object) -> Node:
    return replace(Node(kind, name, "success", start, 40_000_000, used() if kind == "llm.call" else Usage()), **more)


def refused(start: int, reason: str) -> Node:
    decision = DecisionRecord("paying", "tool.execute.pre", "reject", reason, status_code=402, time_ns=1)
    return step("tool.execute", "refund", start, status="rejected", decisions=(decision,))


def agent(name: str, start: int, *children: Node) -> Node:
    usage = Usage()
    for child in children:
        usage.add(child.usage)
    return Node("agent.invoke", name, "success", start, 10**9, usage, children=[*children])


def long_run() -> Node:
    """300 operations: 50 rounds of a model and three tools, with refusals, failures and researchers in between."""
    steps: list[Node] = []
    for turn in range(50):
        start = turn * 10
        steps.append(step("llm.call", "gpt-4o-mini", start))
        steps.extend(step("tool.execute", "search", start + number) for number in (1, 2, 3))
        if turn % 5 == 0:
            steps.append(refused(start + 4, f"order {turn} is not paid"))
        if turn % 3 == 0:
            steps.append(step("tool.execute", "fetch", start + 5, status="error", error="TimeoutError: too slow"))
        if turn % 4 == 0:
            inner = [step("llm.call", "gpt-4o-mini", 0), *(step("tool.execute", "fetch", n) for n in (1, 2, 3, 4))]
            steps.append(agent("researcher", start + 6, *inner))
    return agent("support", 0, *steps)


def everything(tree: Node) -> Iterator[Node]:
    yield tree
    for child in tree.children:
        yield from everything(child)


def test_a_run_of_300_operations_is_read_on_one_screen() -> None:
    run = long_run()
    assert run.size == 306
    assert render(run, Style(100, height=24)) == snapshot("""\
agent.invoke support             1.00 s  75,600 in  1,890 out  $0.013167  success
├─ llm.call gpt-4o-mini x50      2.00 s  60,000 in  1,500 out  $0.010450  success
├─ tool.execute search x150      6.00 s                                   success
├─ tool.execute refund x10       400 ms                                   rejected
│     reject 402 · paying · order 0 is not paid
│     9 with other messages
├─ tool.execute fetch x17        680 ms                                   error
│     TimeoutError: too slow
╰─ agent.invoke researcher x13  13.00 s  15,600 in    390 out  $0.002717  success
   ├─ llm.call gpt-4o-mini x13   520 ms  15,600 in    390 out  $0.002717  success
   ╰─ tool.execute fetch x52     2.08 s                                   success
xN: N similar operations, totals shown
""")


def test_what_has_room_is_shown_whole() -> None:
    run = long_run()
    whole = render(run, Style(100))
    assert render(run, Style(100, height=len(whole.splitlines()))) == whole
    assert len(whole.splitlines()) > 306


def test_order_is_kept_where_folding_neighbours_is_enough() -> None:
    calls = [step("tool.execute", "search", number) for number in range(20)]
    run = agent("support", 0, step("llm.call", "gpt", -1), *calls, step("llm.call", "gpt", 30))
    assert render(run, Style(100, height=10)) == snapshot("""\
agent.invoke support        1.00 s  2,400 in  60 out  $0.000418  success
├─ llm.call gpt              40 ms  1,200 in  30 out  $0.000209  success
├─ tool.execute search x20  800 ms                               success
╰─ llm.call gpt              40 ms  1,200 in  30 out  $0.000209  success
xN: N similar operations, totals shown
""")


def test_notes_count_as_lines() -> None:
    run = agent("support", 0, *(refused(number, "no") for number in range(5)))
    assert " x5 " not in render(run, Style(100, height=11))
    assert " x5 " in render(run, Style(100, height=10))


def test_what_ended_differently_stands_by_itself() -> None:
    tools = [step("tool.execute", "search", number) for number in range(4)]
    tools[2] = replace(tools[2], status="cancelled")
    tools[3] = replace(tools[3], in_hook=True)
    folded = fold(agent("support", 0, *tools), adjacent=False)
    assert [(node.count, node.status, node.in_hook) for node in folded.children] == snapshot(
        [(2, "success", False), (1, "cancelled", False), (1, "success", True)]
    )


def test_the_tree_itself_stays_as_it_is() -> None:
    run = long_run()
    before = render(run, Style(100))
    fold(run, adjacent=False)
    assert render(run, Style(100)) == before


def test_it_goes_as_deep_as_a_run_does() -> None:
    run = Node("tool.execute", "bottom", "success")
    for _ in range(1_500):
        run = Node("agent.invoke", "deeper", "success", children=[run])
    assert len(render(run, Style(80, height=20)).splitlines()) == 1_501


@pytest.mark.parametrize("columns", [40, 60, 110])
def test_folded_lines_stay_within_their_columns(columns: int) -> None:
    deep = [step("tool.execute", "look_everything_up_深い", number) for number in range(2_000)]
    for _ in range(20):
        deep = [agent("level 深い", 0, *deep), agent("level 深い", 0)]
    lines = render(agent("support", 0, *deep), Style(columns, height=30)).splitlines()
    assert all(width(line) <= columns for line in lines)
    assert any("x2,000" in line for line in lines)


def test_a_screen_is_as_high_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "31")
    assert style_of(object()).height == 31


NODES = st.recursive(
    st.builds(
        Node,
        kind=st.sampled_from(["llm.call", "tool.execute"]),
        name=st.sampled_from(["a", "b"]),
        status=st.sampled_from(["success", "error"]),
        start_ns=st.integers(0, 9),
        duration_ns=st.integers(0, 10**9),
        left_out=st.integers(0, 2),
        usage=st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
        error=st.sampled_from(["", "ValueError: this", "ValueError: that"]),
    ),
    lambda inner: st.builds(
        Node,
        st.just("agent.invoke"),
        st.sampled_from(["a", "b"]),
        st.just("success"),
        children=st.lists(inner, max_size=6),
    ),
    max_leaves=20,
)


@given(NODES, st.booleans())
def test_what_is_folded_adds_up(tree: Node, adjacent: bool) -> None:
    before, after = list(everything(tree)), list(everything(fold(tree, adjacent=adjacent)))
    assert sum(node.count for node in after) == len(before)
    for total in ("duration_ns", "left_out"):
        assert sum(getattr(node, total) for node in after) == sum(getattr(node, total) for node in before)
    assert sum(node.usage.total_tokens for node in after) == sum(node.usage.total_tokens for node in before)
