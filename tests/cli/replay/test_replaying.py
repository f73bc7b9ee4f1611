"""Which operations hooks are asked about, in which order, with what around them."""

import time
from pathlib import Path
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, operation
from spanhook.hooks.budget import Budget
from spanhook.hooks.rate_limit import RateLimit
from tests.cli.replay.asking import decided, outcomes
from tests.cli.replay.lines import START_NS, line, span


def test_parents_first_whatever_the_order_of_lines(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[tuple[str, str, str, str]] = []

    @hooks.before("*")
    def begun(op: Operation) -> None:
        seen.append(("begun", op.name, "" if op.parent is None else op.parent.name, op.agent))

    @hooks.after("*")
    def ended(op: Operation) -> None:
        seen.append(("ended", op.name, str(op.usage.total_tokens), f"{op.duration:g}"))

    agent = span("agent.invoke", seconds=9, gen_ai__agent__name="support")
    web = span("", at=1, seconds=7, parent=agent["spanId"])
    model = span(
        "llm.call",
        at=2,
        seconds=2,
        parent=web["spanId"],
        gen_ai__request__model="acme-1",
        gen_ai__usage__input_tokens=10,
        gen_ai__usage__output_tokens=5,
    )
    tool = span(at=5, parent=web["spanId"], gen_ai__tool__name="refund")
    own = span("llm.call", at=5.5, parent=tool["spanId"], spanhook__in_hook=True)
    assert decided(hooks, tmp_path, line(own, tool, model), line(web, scope="http"), line(agent)) == []
    assert seen == [
        ("begun", "support", "", "support"),
        ("begun", "acme-1", "support", "support"),
        ("ended", "acme-1", "15", "2"),
        ("begun", "refund", "support", "support"),
        ("ended", "refund", "0", "1"),
        ("ended", "support", "15", "9"),
    ]


def test_what_is_inside_of_a_refused_operation_would_not_have_happened(tmp_path: Path) -> None:
    hooks = Hooks()
    asked: list[str] = []

    @hooks.before("agent.invoke")
    def closed(_op: Operation) -> None:
        raise Reject("closed today")

    @hooks.before("tool.execute")
    def count(op: Operation) -> None:
        asked.append(op.name)

    agent = span("agent.invoke", seconds=9, gen_ai__agent__name="support")
    tool = span(at=5, parent=agent["spanId"], gen_ai__tool__name="refund")
    inner = span(at=5.1, parent=tool["spanId"], gen_ai__tool__name="pay")
    late = span(at=20, parent=agent["spanId"], gen_ai__tool__name="tidy")
    found = outcomes(hooks, tmp_path, line(agent, tool, inner, late))
    why = "inside of agent.invoke support, which would have been refused by closed"
    assert [one.unreached for one in found] == ["", why, why, why]
    assert asked == []


def test_a_refused_run_ends(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"wire"})
    def stop(_op: Operation) -> None:
        raise Reject("no money leaves", scope="run")

    agent = span("agent.invoke", seconds=9, gen_ai__agent__name="support")
    tools = [span(at=at, parent=agent["spanId"], gen_ai__tool__name=name) for at, name in ((1, "wire"), (3, "mail"))]
    found = outcomes(hooks, tmp_path, line(agent, *tools))
    assert [one.unreached for one in found] == ["", "", "the run would have been ended: no money leaves"]


def test_gates_are_not_asked_in_a_run_that_had_ended(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[str] = []

    @hooks.before("tool.execute")
    def gate(op: Operation) -> None:
        seen.append(f"asked {op.name}")

    @hooks.on_error("*")
    def told(op: Operation) -> None:
        seen.append(f"told of {op.name}: {op.error}")

    agent = span("agent.invoke", seconds=9, status="rejected", message="stop", gen_ai__agent__name="support")
    wire = span(at=1, parent=agent["spanId"], status="rejected", decisions=(("gone", "pre", "reject"),), message="stop")
    mail = span(at=3, parent=agent["spanId"], status="rejected", message="stop", gen_ai__tool__name="mail")
    found = outcomes(hooks, tmp_path, line(agent, wire, mail))
    assert seen == ["asked ", "told of mail: stop", "told of support: stop"]
    assert [one.unended for one in found] == [False, True, False]


def test_an_answered_operation_has_nothing_inside(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"search"})
    def known(op: Operation) -> None:
        op.respond("found")

    tool = span(gen_ai__tool__name="search")
    inner = span("llm.call", at=0.5, parent=tool["spanId"], seconds=0.1)
    found = outcomes(hooks, tmp_path, line(tool, inner))
    assert found[1].unreached == "inside of tool.execute search, which would have been answered by known"


def test_whole_runs(tmp_path: Path) -> None:
    hooks = Hooks()
    seen: list[str] = []

    @hooks.before("*", outermost=True)
    def run(op: Operation) -> None:
        seen.append(op.name)

    elsewhere, lost = span(gen_ai__tool__name="remote"), span(gen_ai__tool__name="lost")
    elsewhere |= {"parentSpanId": "f" * 16, "flags": 0x300}
    lost |= {"parentSpanId": "e" * 16}
    root = span(gen_ai__tool__name="root", seconds=3)
    inner = span(gen_ai__tool__name="inner", at=1, parent=root["spanId"])
    outcomes(hooks, tmp_path, line(elsewhere, lost, root, inner))
    assert sorted(seen) == ["remote", "root"]  # of what is lost, nobody knows what is around it


def test_it_is_the_time_of_the_recording(tmp_path: Path) -> None:
    hooks = Hooks()
    times: list[float] = []
    limit = RateLimit("2/minute", per=["user"])
    hooks.add(limit)

    @hooks.before("tool.execute")
    def clock(_op: Operation) -> None:
        times.append(time.time() - START_NS / 1e9)

    def by(user: str, at: float) -> dict[str, Any]:
        return span(at=at, seconds=0.5, user__id=user)

    calls = [by("ann", 0), by("ann", 1), by("bob", 2), by("ann", 3), by("ann", 90)]
    assert [(one[0], one[2]) for one in decided(hooks, tmp_path, line(*calls))] == [("rate_limit", "reject")]
    assert times == [0.0, 1.0, 2.0, 90.0]
    assert abs(time.time() - time.time_ns() / 1e9) < 5


def test_budgets_count_what_was_recorded(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.add(Budget("tenant", tokens=1000, window="day", output_tokens=1, unpriced="allow"))
    asked = '[{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]'

    def call(at: float) -> dict[str, Any]:
        return span(
            "llm.call",
            at=at,
            gen_ai__request__model="acme-1",
            gen_ai__request__max_tokens=1,
            gen_ai__usage__input_tokens=900,
            gen_ai__usage__output_tokens=200,
            gen_ai__input__messages=asked,
            gen_ai__output__messages=asked,
        )

    found = decided(hooks, tmp_path, line(call(0), call(10), call(86_400 * 1.5)))
    assert [one[::2] for one in found] == [("budget", "reject")]


@pytest.mark.parametrize(("limit", "expected"), [(140, "reject"), (1000, "unknown"), (9000, None)])
def test_budgets_do_not_guess_what_uncounted_calls_used(tmp_path: Path, limit: int, expected: str | None) -> None:
    """The first call is counted as what is reserved for it, and may have used no more than its estimate."""
    budget = Budget("tenant", tokens=limit, window="day", output_tokens=100, unpriced="allow")
    budget.name = f"at most {limit}"
    hooks = Hooks(budget)
    asked = '[{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]'

    def call(at: float, **more: Any) -> dict[str, Any]:
        used = {
            "gen_ai__usage__input_tokens": 4,
            "gen_ai__usage__output_tokens": 40,
            "spanhook__usage__estimated": True,
        }
        said = {"gen_ai__input__messages": asked, "gen_ai__output__messages": asked}
        return span("llm.call", at=at, gen_ai__request__model="acme-1", **used, **said, **more)

    longer = call(0, gen_ai__request__max_tokens=940) if limit > 140 else call(0)
    found = decided(hooks, tmp_path, line(longer, call(10)))
    assert [one[::2] for one in found] == ([(budget.name, expected)] if expected else [])


def test_spans_of_other_instrumentations(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def never(_op: Operation) -> None:
        raise Reject("never")

    tool = span(gen_ai__tool__name="search", spanhook__coverage="best_effort")
    inner = span(at=0.5, parent=tool["spanId"], seconds=0.1, gen_ai__tool__name="inner")
    found = decided(hooks, tmp_path, line(tool, scope="openinference"), line(inner))
    assert [one[2] for one in found] == ["attempted", "reject"]  # the call may have gone on


def test_shadow_mode(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", mode="shadow")
    def trial(op: Operation) -> None:
        raise Reject(op.mode)

    @hooks.before("tool.execute")
    def enforced(op: Operation) -> None:
        op.replace(arguments={"a": op.mode})

    found = outcomes(hooks, tmp_path, line(span(gen_ai__tool__call__arguments="{}")))
    assert sorted((one.hook, one.decision, one.mode, one.reason) for one in found[0].now) == [
        ("enforced", "modify", "enforce", "arguments"),
        ("trial", "reject", "shadow", "shadow"),
    ]


def test_calls_of_hooks_count_as_they_did(tmp_path: Path) -> None:
    hooks = Hooks()
    used: list[tuple[int, int]] = []

    @hooks.before("tool.execute", timeout=60.0)
    async def judged(_op: Operation) -> None:
        with operation("llm.call", "judge") as inner:
            inner.record_usage(input_tokens=1000)

    @hooks.after("agent.invoke")
    def seen(op: Operation) -> None:
        used.append((op.usage.input_tokens, op.usage.llm_calls))

    agent = span("agent.invoke", seconds=9, gen_ai__agent__name="support")
    tool = span(at=1, parent=agent["spanId"], gen_ai__tool__name="refund")
    judge = span("llm.call", at=1.1, parent=tool["spanId"], spanhook__in_hook=True, gen_ai__usage__input_tokens=3)
    model = span("llm.call", at=4, parent=agent["spanId"], gen_ai__usage__input_tokens=10)
    assert decided(hooks, tmp_path, line(agent, tool, judge, model)) == []
    assert used == [(13, 2)]
