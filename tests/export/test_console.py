"""The console prints every finished run whole, once, and never gets in the application's way."""

import gc
import io
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from inline_snapshot import snapshot

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.engine import call, listeners
from spanhook.engine.beginning import begin
from spanhook.engine.lifecycle import end
from spanhook.export.console import Node, Style, Trees, install, render, style_of, width
from spanhook.export.console.printer import Console
from spanhook.export.console.rendering import duration
from spanhook.export.console.tree import MAX_NODES
from spanhook.model import Adapter, DecisionRecord, Reading, Record, Usage, clock, current, encodable_to, harmless
from spanhook.semconv import GEN_AI_AGENT_NAME, GEN_AI_PROVIDER_NAME, GEN_AI_REQUEST_MODEL, GEN_AI_TOOL_NAME
from spanhook.testing import fixed_clock, recorder
from tests.forking import children

AGENT = Adapter(kind="agent.invoke", start=lambda _i, args, _k: {GEN_AI_AGENT_NAME: args[0]})
TOOL = Adapter(kind="tool.execute", start=lambda _i, args, _k: {GEN_AI_TOOL_NAME: args[0]})
MODEL = Adapter(
    kind="llm.call",
    start=lambda _i, args, _k: {GEN_AI_PROVIDER_NAME: "openai", GEN_AI_REQUEST_MODEL: args[0]},
    reading=Reading(response=lambda result: ({}, result)),
)


def agent(name: str, body: Callable[[], Any] = lambda: None) -> Any:
    return call(AGENT, lambda _name: body(), None, (name,), {})


def tool(name: str, body: Callable[[], Any] = lambda: None) -> Any:
    return call(TOOL, lambda _name: body(), None, (name,), {})


def model(name: str, used: Usage) -> Any:
    return call(MODEL, lambda _name: used, None, (name,), {})


class Screen(io.StringIO):
    """A stream that remembers what each write was."""

    encoding: str = "utf-8"  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__()
        self.writes: list[str] = []
        self.terminal = terminal

    def write(self, text: str, /) -> int:
        self.writes.append(text)
        return super().write(text)

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def screen() -> Iterator[Screen]:
    stream = Screen()
    uninstall = install(stream)
    yield stream
    uninstall()


# ----------------------------------------------------------------------------------------------- the picture


def gates() -> Hooks:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"refund"})
    def paying_customers_only(op: Operation) -> None:
        raise Reject("An active subscription is required", status_code=402)

    @hooks.around("tool.execute", names={"search"})
    def cached(op: Operation) -> Any:
        return "a cached result"
        yield

    @hooks.before("tool.execute", names={"publish"}, priority=200)
    def judge(op: Operation) -> None:
        model("gpt-4o-mini", Usage(40, 1))

    return hooks


def busy_run() -> None:
    model("gpt-4o-mini", Usage(1200, 30, cache_read_tokens=1024))
    tool("search")
    with pytest.raises(Reject):
        tool("refund")
    with pytest.raises(ValueError, match="no such order"):
        tool("find_order", failing)
    tool("publish")
    model("house-model", Usage(90, 60, reasoning_tokens=48))


def failing() -> None:
    raise ValueError("no such order")


@contextmanager
def timeless(hooks: Hooks | None = None) -> Generator[None, None, None]:
    """A recorder in which nothing takes any time, so that pictures do not tell how often the engine looks."""
    with recorder(hooks):
        clock.now = lambda: 0
        yield


def test_a_run_is_printed_as_a_tree(screen: Screen) -> None:
    with timeless(gates()), spanhook.context(tenant_id="acme", user_id="ann", session_id="thread-1"):
        agent("support", busy_run)
    assert screen.writes == snapshot(
        [
            """\
agent.invoke support        0.00 ms  1,330 in  91 out  ≥$0.000128  success
├─ llm.call gpt-4o-mini     0.00 ms  1,200 in  30 out   $0.000121  success
├─ tool.execute search      0.00 ms                                success
│     replace · cached · answered instead of the call
├─ tool.execute refund      0.00 ms                                rejected
│     reject 402 · paying_customers_only · An active subscription is required
├─ tool.execute find_order  0.00 ms                                error
│     ValueError: no such order
├─ tool.execute publish     0.00 ms     40 in   1 out   $0.000007  success
│  ╰─ llm.call gpt-4o-mini  0.00 ms     40 in   1 out   $0.000007  success
│        made by a hook
╰─ llm.call house-model     0.00 ms     90 in  60 out    unpriced  success
total: 3 model calls, 2 tool calls
  gpt-4o-mini  1,240 in (1,024 cached)                 31 out  $0.000128
  house-model                    90 in  60 out (48 reasoning)   unpriced
tenant acme · user ann · session thread-1 · trace 00000000000000000000000000000001

"""
        ]
    )


def test_a_failure_is_told_where_it_happened_and_not_above_it(screen: Screen) -> None:
    with timeless(), pytest.raises(ValueError, match="no such order"):
        agent("support", lambda: tool("find_order", failing))
    assert screen.getvalue() == snapshot("""\
agent.invoke support        0.00 ms  error
╰─ tool.execute find_order  0.00 ms  error
      ValueError: no such order
total: 0 model calls, 1 tool call
trace 00000000000000000000000000000001

""")


def test_a_result_that_is_an_error_is_told_by_its_type(screen: Screen) -> None:
    told = Adapter(
        kind="tool.execute",
        start=TOOL.start,
        reading=Reading(fault=lambda _result: "tool_error"),
    )
    with timeless():
        call(told, lambda _name: {"error": "no such order"}, None, ("find_order",), {})
    assert screen.getvalue().splitlines()[:2] == ["tool.execute find_order  0.00 ms  error", "   tool_error"]


def test_ascii_where_the_stream_has_no_boxes() -> None:
    stream = Screen()
    stream.encoding = "ascii"
    uninstall = install(stream)
    with timeless():
        agent("café", lambda: model("gpt-4o-mini", Usage(9, 9)))
    uninstall()
    assert stream.getvalue().isascii()
    assert stream.getvalue() == snapshot("""\
agent.invoke caf\\xe9        0.00 ms  9 in  9 out  $0.000007  success
`- llm.call gpt-4o-mini  0.00 ms  9 in  9 out  $0.000007  success
total: 1 model call, 0 tool calls
  gpt-4o-mini  9 in  9 out  $0.000007
trace 00000000000000000000000000000001

""")


def tree(*children: Node, name: str = "support", **facts: str) -> Node:
    used = Usage(12345, 678, cache_read_tokens=1024)
    used.llm_calls, used.cost_nano, used.unpriced_tokens = 3, 401_000, 30
    return Node(
        "agent.invoke", name, "success", 0, 75_000_000_000, used, {"gpt": used}, facts=facts, children=[*children]
    )


def test_a_narrow_terminal_keeps_what_matters_within_its_columns() -> None:
    slow = Node("tool.execute", "look_up_everything_there_is_to_know_about_a_customer", "success", 2, 4_000)
    refused = DecisionRecord("paying_customers_only", "tool.execute.pre", "reject", "Subscribe first. " * 9, time_ns=1)
    text = render(tree(slow, Node("tool.execute", "退款", "rejected", 1, decisions=(refused,))), Style(44))
    assert all(width(line) <= 44 for line in text.splitlines())
    assert text == snapshot("""\
agent.invoke support    1 min 15 s  success
├─ tool.execute 退款       0.00 ms  rejected
│     reject · paying_customers_only ·
│       Subscribe first. Subscribe first.
│       Subscribe first. Subscribe first. S…
╰─ tool.execute look_…     0.00 ms  success
total: 3 model calls, 0 tool calls
  gpt  12,345 in  678 out  ≥$0.000401
""")


@pytest.mark.parametrize("columns", [40, 60, 80, 110, 200])
def test_every_picture_stays_within_its_columns(columns: int) -> None:
    deep = Node("llm.call", "gpt", "success")
    for depth in range(60):
        deep = Node("agent.invoke", f"level {depth} 深い", "success", 0, 10**9, Usage(10**6, 10**6), children=[deep])
    steps = [
        Node("tool.execute", f"step_{number}", "error", number, error="Broken: " + "w" * 300) for number in range(60)
    ]
    text = render(tree(deep, *steps, tenant="acme", trace="f" * 32), Style(columns))
    assert all(width(line) <= columns for line in text.splitlines())
    assert len(text.splitlines()) > 60 * 3


def test_what_a_model_wrote_cannot_command_the_terminal() -> None:
    reason = "sure\x1b[2J\r\n\u202egnp\x07 👩\u200d🚀 \ud800"
    said = DecisionRecord("gate\x9b", "tool.execute.pre", "reject", reason, time_ns=1)
    text = render(tree(Node("tool.execute", "a\nb", "rejected", 1, decisions=(said,))), Style(100))
    assert "".join(text.split("\n")).isprintable() or "\u200d" in text
    assert not set("\x1b\r\x07\x9b\u202e\ud800") & set(text)
    assert harmless(reason) == snapshot("sure\\x1b[2J \\u202egnp\\x07 👩\u200d🚀 \\ud800")


def test_an_operation_that_ended_late_says_whose_it_was() -> None:
    late = Node("tool.execute", "slow", "abandoned", within="support", left_out=3)
    assert render(late, Style(80)) == snapshot("""\
tool.execute slow  0.00 ms  abandoned
   3 more inside
ended after its run support
""")


def test_children_stand_in_the_order_they_started() -> None:
    nodes = [Node("tool.execute", name, "success", start) for name, start in (("b", 2), ("c", 3), ("a", 1))]
    lines = render(tree(*nodes), Style(80)).splitlines()
    assert [line.split()[2] for line in lines[1:4]] == ["a", "b", "c"]


def test_durations_are_written_in_the_unit_that_suits_them() -> None:
    shown = [
        duration(n) for n in (0, 40_000, 999_499, 999_500, 999_499_999, 999_500_000, 59_994_999_999, 3_725 * 10**9)
    ]
    assert shown == snapshot(["0.00 ms", "0.04 ms", "1.00 ms", "1 ms", "999 ms", "1.00 s", "59.99 s", "62 min 05 s"])


# ----------------------------------------------------------------------------------------------- the stream


@pytest.mark.parametrize(
    ("variables", "terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colours_only_where_they_are_wanted(
    variables: dict[str, str], terminal: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert style_of(Screen(terminal=terminal)).colour is coloured


def test_colours_change_nothing_but_colours() -> None:
    shown = tree(Node("tool.execute", "refund", "rejected", 1))
    plain, painted = render(shown, Style(80)), render(shown, Style(80, colour=True))
    for code in ("0", "1", "2", "31", "32"):
        painted = painted.replace(f"\x1b[{code}m", "")
    assert painted == plain


def test_a_strange_stream_is_drawn_on_as_well_as_can_be() -> None:
    class Strange(Screen):
        encoding = "no-such-encoding"

    assert style_of(Strange()).unicode is False
    assert encodable_to("é", Strange()) == "\\xe9"
    assert style_of(object()).unicode is True


class Broken(Screen):
    def write(self, text: str, /) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("stream", [Broken(), io.StringIO()])
def test_a_stream_that_is_gone_is_no_matter_of_the_applications(stream: io.StringIO) -> None:
    if not isinstance(stream, Broken):
        stream.close()
    uninstall = install(stream)
    with recorder():
        assert agent("support", lambda: 5) == 5
    uninstall()


def test_a_program_without_a_console_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    Console().show(tree())


def test_standard_error_is_looked_up_when_it_is_written_to(capsys: pytest.CaptureFixture[str]) -> None:
    uninstall = install()
    with recorder():
        agent("support")
    uninstall()
    agent("afterwards")
    captured = capsys.readouterr()
    assert captured.err.startswith("agent.invoke support")
    assert captured.out == ""
    assert "afterwards" not in captured.err


def test_an_exception_that_cannot_be_printed_is_named(screen: Screen) -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def fail() -> None:
        raise Unspeakable

    with fixed_clock(), pytest.raises(Unspeakable):
        agent("support", fail)
    assert "Unspeakable\n" in screen.getvalue()


@pytest.mark.one_value
@pytest.mark.parametrize("disabled", ["true", "false"])
def test_it_works_without_an_sdk(disabled: str) -> None:
    program = (
        "from tests.export.test_console import *\n"
        "spanhook.instrument(only=())\n"
        "install()\n"
        "agent('support', lambda: tool('search'))\n"
    )
    environment = {**os.environ, "OTEL_SDK_DISABLED": disabled, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    done = children.run("-W", "error", "-c", program, env=environment, check=True)
    assert done.stdout == ""
    assert [line.split()[:3] for line in done.stderr.splitlines()][:2] == [
        ["agent.invoke", "support", done.stderr.split()[2]],
        ["╰─", "tool.execute", "search"],
    ]


# ----------------------------------------------------------------------------------------------- many runs


def test_parallel_runs_never_mix(screen: Screen) -> None:
    def run(number: int) -> None:
        for _ in range(20):
            agent(f"agent_{number}", lambda: [tool(f"tool_{number}") for _ in range(3)])

    with recorder():
        threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(screen.writes) == 160
    for text in screen.writes:
        number = text.split()[1].removeprefix("agent_")
        assert text.count(f"tool_{number} ") == 3
        assert text.count("tool.execute") == 3


def test_an_operation_that_ends_after_its_run_is_printed_by_itself() -> None:
    seen: list[Node] = []
    trees = Trees(seen.append)
    listeners.append(trees)
    with recorder():
        run = begin(AGENT, None, ("support",), {})
        assert isinstance(run, Record)
        current.set(run)
        late = begin(TOOL, None, ("slow",), {})
        assert isinstance(late, Record)
        current.set(None)
        end(run)
        end(late)
    listeners.remove(trees)
    assert [(one.name, one.within, one.children) for one in seen] == [("support", "", []), ("slow", "support", [])]


def test_runs_that_never_end_leave_nothing_behind() -> None:
    trees = Trees(lambda _tree: None)
    listeners.append(trees)

    def begin_only() -> None:
        run = begin(AGENT, None, ("support",), {})
        assert isinstance(run, Record)
        current.set(run)
        tool("search", lambda: tool("deeper"))
        current.set(None)

    with fixed_clock():
        for _ in range(50):
            begin_only()
    listeners.remove(trees)
    gc.collect()
    assert len(trees._branches) == 0


def test_of_a_run_that_goes_on_for_ever_no_more_than_so_much_is_kept() -> None:
    seen: list[Node] = []
    trees = Trees(seen.append)
    listeners.append(trees)
    with fixed_clock():
        agent("endless", lambda: [tool("outer", lambda: tool("inner")) for _ in range(MAX_NODES)])
    listeners.remove(trees)
    assert seen[0].size - 1 <= MAX_NODES
    assert seen[0].size + seen[0].left_out + sum(child.left_out for child in seen[0].children) == 2 * MAX_NODES + 1
    assert " more inside" in render(seen[0], Style(80))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_fresh_even_if_a_lock_was_held() -> None:
    seen: list[Node] = []
    trees = Trees(seen.append)
    stream = Screen()
    console = Console(stream)
    locked, release = threading.Event(), threading.Event()

    def hold() -> None:
        with trees._lock, console._writing:
            locked.set()
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait()
    listeners.append(trees)
    child = os.fork()
    if child == 0:
        agent("support", lambda: tool("search"))
        console.show(seen[0])
        os._exit(0 if len(seen) == 1 and "tool.execute search" in stream.getvalue() else 1)
    release.set()
    holder.join()
    listeners.remove(trees)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
