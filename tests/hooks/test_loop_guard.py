"""Loop guards: which calls are refused, and what they have no influence on."""

import asyncio
import gc
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, operation
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.gating import find, make
from spanhook.hooks.loop_guard import LoopGuard
from spanhook.hooks.loop_guard._digests import digest
from spanhook.hooks.loop_guard._run import MOST_CALLS, Run
from spanhook.testing import recorder
from tests.conformance.teams import asker, member


def guarding(repeats: int | None = 3, **settings: Any) -> LoopGuard:
    """A guard without a timeout: the clock of the tests goes on with every thread."""
    given: dict[str, Any] = {"strikes": None, **settings}
    made = LoopGuard(repeats, **given)
    made.timeout = None
    return made


def calls(names: str, results: Iterable[Any] = ()) -> str:
    """Call tools named by letters, inside an agent. Returns the names of those that were let through."""
    given = iter(results)

    @spanhook.agent("desk")
    def desk() -> str:
        passed = ""
        for name in names:
            with suppress(Reject), operation("tool.execute", name, request={"arguments": {"query": "x"}}) as op:
                passed += name
                op.result_of(next(given, None))
        return passed

    return desk()


# -------------------------------------------------------------------------------------------- what is refused


def test_the_same_call_is_refused_after_so_many() -> None:
    with recorder(guarding(2)) as seen:
        assert calls("ABABCAB") == "ABABC"
        assert calls("AB") == "AB"
    refused = [op for op in seen.operations if op.status == "rejected"]
    assert [str(op.error) for op in refused[:1]] == [
        "'A' was called 2 times with the same arguments; use what it returned, or do something else"
    ]
    assert isinstance(refused[0].error, Reject)
    assert (refused[0].error.status_code, refused[0].error.scope) == (429, "operation")


def test_other_arguments_are_another_call() -> None:
    @spanhook.tool
    def search(query: str, page: int = 1) -> str:
        return query

    @spanhook.agent("desk")
    def desk() -> None:
        for page in range(10):
            search("x", page=page)
        search("y", page=0)
        search(page=0, query="x")
        with pytest.raises(Reject):
            search("x", 0)

    with recorder(guarding(2)):
        desk()


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("names", "passed", "said"),
    [
        ("AAAAA", "AAA", "The same call was made 3 times in a row; use the results, or do something else"),
        ("ABABABA", "ABABAB", "The same 2 calls were made 3 times in a row"),
        ("XABCABCABCA", "XABCABCABC", "The same 3 calls were made 3 times in a row"),
        ("ABABABAC", "ABABABC", "The same 2 calls"),
        ("ABCDEABCDEABCDEA", "ABCDEABCDEABCDEA", ""),
        ("AABAABAAA", "AABAABAAA", ""),
    ],
)
def test_patterns_in_a_row_are_refused(names: str, passed: str, said: str) -> None:
    with recorder(guarding(None)) as seen:
        assert calls(names) == passed
    refused = [op for op in seen.operations if op.status == "rejected"]
    assert [said in str(op.error) for op in refused] == [True] * (len(names) - len(passed))


def test_with_results_only_calls_that_changed_nothing_are_the_same() -> None:
    with recorder(guarding(2, same_result=True)):
        assert calls("AAAAAA", ["queued", "running", "running"]) == "AAA"
        assert calls("AAAAAA", range(6)) == "AAAAAA"
        assert calls("AAA", [1, {"a": 1, "b": 2}, {"b": 2, "a": 1}]) == "AAA"
        assert calls("AAAA", [1, {"a": 1, "b": 2}, {"b": 2, "a": 1}]) == "AAA"
    with recorder(guarding(None, cycles=2, same_result=True)):
        assert calls("ABABA", [1, 2, 1, 2]) == "ABAB"
        assert calls("ABABA", [1, 2, 1, 3]) == "ABABA"


def test_failures_are_the_same_result() -> None:
    @spanhook.tool
    def search() -> None:
        raise ConnectionError(f"at {id(object())}")

    @spanhook.agent("desk")
    def desk() -> None:
        for _ in range(2):
            with pytest.raises(ConnectionError):
                search()
        with pytest.raises(Reject):
            search()

    with recorder(guarding(2, same_result=True)):
        desk()


def test_a_run_has_so_many_calls() -> None:
    with recorder(guarding(None, max_tool_calls=4, cycles=None)) as seen:
        assert calls("ABCDEFG") == "ABCD"
    assert "This run has made 4 tool calls, as many as it may" in str(seen.operations[-2].error)

    @spanhook.agent("desk")
    def desk() -> None:
        for _ in range(2):
            with operation("llm.call", "m"):
                pass
        with pytest.raises(Reject, match="This run has made 2 model calls"), operation("llm.call", "m"):
            raise AssertionError

    with recorder(guarding(None, max_llm_calls=2, cycles=None)):
        desk()
        desk()


def test_agents_are_only_so_deep_inside_each_other() -> None:
    @spanhook.agent("nested")
    def nested(depth: int) -> int:
        if depth == 1:
            return 0
        with operation("tool.execute", "delegate"):
            return 1 + nested(depth - 1)

    with recorder(guarding(None, max_depth=3, cycles=None)):
        assert nested(3) == 2
        with pytest.raises(Reject, match="Agents are 4 deep inside each other, and may be 3"):
            nested(4)


def test_the_last_strike_ends_the_run() -> None:
    with recorder(guarding(1, strikes=2)) as seen, pytest.raises(Reject, match="'A' was called 1 times"):
        calls("AABAB")
    assert [op.status for op in seen.operations] == ["success", "rejected", "success", *["rejected"] * 2]


# ------------------------------------------------------------------------------------------- what has no part


def test_what_is_asked_again_is_counted_once() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", priority=90)
    def rewrite(op: Operation) -> None:
        op.replace(arguments={"query": op.request.arguments["query"].strip()})

    @spanhook.tool
    def search(query: str) -> str:
        return query

    @spanhook.agent("desk")
    def desk() -> list[str]:
        found = [search("x"), search("y ")]
        found += [search("x"), search("y")]
        for query in ("x", " x", "y  "):  # as it is made, not as it was asked for
            with pytest.raises(Reject):
                search(query)
        return found

    with recorder([guarding(2, max_tool_calls=7), hooks]):
        assert desk() == ["x", "y", "x", "y"]


def test_calls_that_another_hook_refuses_are_repeated_too() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", priority=90)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder([guarding(2, same_result=True), hooks]) as seen:
        assert calls("AAA") == ""
    assert [str(op.error).startswith("'A' was called 2 times") for op in seen.operations[:3]] == [False, False, True]


def test_runs_do_not_know_of_each_other() -> None:
    with recorder(guarding(1)):
        for _ in range(3):
            with operation("tool.execute", "A"):  # without an agent around it, each call is a run
                pass
            assert calls("A") == "A"


def test_in_shadow_mode_it_only_says_what_it_would_do() -> None:
    guard = guarding(1)
    guard.mode = "shadow"
    hooks = Hooks(guard)
    with recorder(hooks) as seen:
        assert calls("AAB") == "AAB"
        assert hooks.flush(60.0)
    assert [[one.decision for one in op.shadow_decisions] for op in seen.operations[:3]] == [[], ["reject"], []]


# ---------------------------------------------------------------------------------------------- concurrency


def test_calls_at_the_same_time_are_counted() -> None:
    passed: list[int] = []

    async def one() -> None:
        with suppress(Reject):
            async with operation("tool.execute", "A"):
                await asyncio.sleep(0)
                passed.append(1)

    @spanhook.agent("desk")
    async def desk() -> None:
        await asyncio.gather(*(one() for _ in range(10)))

    @spanhook.agent("desk")
    async def desk_of_trio() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(one_of_trio)

    async def one_of_trio() -> None:
        with suppress(Reject):
            async with operation("tool.execute", "A"):
                await trio.lowlevel.checkpoint()
                passed.append(1)

    for same_result in (False, True):
        with recorder(guarding(4, cycles=None, same_result=same_result)):
            passed.clear()
            asyncio.run(desk())
            assert len(passed) == 4
            passed.clear()
            trio.run(desk_of_trio)
            assert len(passed) == 4


def test_threads_never_exceed_it() -> None:
    def some(_: int) -> int:
        passed = 0
        for _ in range(25):
            with suppress(Reject), operation("tool.execute", "A"):
                passed += 1
        return passed

    @spanhook.agent("desk")
    def desk() -> int:
        with ThreadPoolExecutor(8) as pool:
            return sum(one.result() for one in [pool.submit(copy_context().run, some, 0) for _ in range(8)])

    with recorder(guarding(100, cycles=None)):
        assert desk() == 100
    with recorder(guarding(None, cycles=None, max_tool_calls=70)):
        assert desk() == 70


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # threads of other tests
def test_a_forked_child_goes_on() -> None:
    guard = guarding(1)

    @spanhook.agent("desk")
    def desk() -> int:
        with operation("tool.execute", "A"):
            pass
        with guard._lock:  # as another thread may
            child = os.fork()
            if not child:
                code = 1
                with suppress(Reject), operation("tool.execute", "A"):
                    code = 2
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    with recorder(guard):
        assert desk() == 1


def test_what_a_run_has_done_is_bounded_and_forgotten_with_it() -> None:
    guard = guarding(1, max_tool_calls=10**6)
    config: Any = guard._config
    run = Run(config)
    for number in range(3 * MOST_CALLS):
        assert run.begin(number.to_bytes(4, "big")) is None
    assert len(run._calls) == MOST_CALLS
    del run
    with recorder(guard) as seen:
        calls("A")
        seen.operations.clear()
        gc.collect()
        assert not [one for one in gc.get_objects() if issubclass(type(one), Run)]


# ------------------------------------------------------------------------------------------------ libraries


@tool
def search() -> str:
    """Search."""
    return "nothing"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_model_in_a_loop_is_told_and_goes_on(is_async: bool) -> None:
    lines = [["search"]] * 4 + ["I give up"]
    with recorder(guarding(2)) as seen:
        agent, asked = member("desk", lines, [search]), {"messages": [("user", "go")]}
        said = asyncio.run(agent.ainvoke(asked)) if is_async else agent.invoke(asked)
    results = [one for one in said["messages"] if one.type == "tool"]
    assert [one.status for one in results] == ["success", "success", "error", "error"]
    assert "'search' was called 2 times with the same arguments" in results[-1].content
    assert said["messages"][-1].content == "I give up"
    assert [op.status for op in seen.operations if op.kind == "tool.execute"] == [*["success"] * 2, *["rejected"] * 2]


def test_a_model_that_does_not_listen_is_stopped() -> None:
    agent = member("desk", [["search"]] * 50, [search])
    with recorder(guarding(2, strikes=3)) as seen, pytest.raises(Reject, match="'search' was called 2 times"):
        agent.invoke({"messages": [("user", "go")]}, {"recursion_limit": 100})
    assert len([op for op in seen.operations if op.kind == "tool.execute"]) == 5


def test_parallel_tool_calls_and_subgraphs_are_of_the_outermost_run() -> None:
    inner: Callable[[], Any] = lambda: member("inner", [["search", "search"], "done"], [search])  # noqa: E731

    def node(state: Any) -> Any:
        for _ in range(2):
            inner().invoke({"messages": [("user", "go")]})
        return state

    with recorder(guarding(3, cycles=None)) as seen:
        asker(node).invoke({"messages": [("user", "go")]})
    assert sorted(op.status for op in seen.operations if op.kind == "tool.execute") == ["rejected", *["success"] * 3]


def test_a_tool_that_waits_for_a_person_is_called_again() -> None:
    @tool
    def ask() -> str:
        """Ask a person."""
        return interrupt("may I?")

    agent = member("desk", [["ask"], "done"], [ask], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}

    @spanhook.agent("around")
    def around() -> Any:
        agent.invoke({"messages": [("user", "go")]}, config)
        return agent.invoke(Command(resume="yes"), config)

    with recorder(guarding(1, same_result=True, max_depth=2)):
        assert around()["messages"][-2].content == "yes"


def test_model_calls_over_http() -> None:
    @spanhook.agent("desk")
    def desk(url: str) -> None:
        model = ChatOpenAI(model="gpt-4o-mini", api_key="x", base_url=url)  # pyright: ignore[reportArgumentType]
        model.invoke("hi")
        list(model.stream("hi"))
        with sync_client(url) as client:
            list(client.chat.completions.create(**CHAT, stream=True))
            with pytest.raises(Reject):
                client.chat.completions.create(**CHAT, stream=True)
        with pytest.raises(Reject):
            model.invoke("hi")

    with OpenAIServer() as server, recorder(guarding(max_llm_calls=3)):
        desk(server.url)
        assert len(server.requests) == 3


# ------------------------------------------------------------------------------------------------- digests


class Point(BaseModel):
    x: int


@dataclass
class Pair:
    x: int


class Opaque: ...


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_equal_data_has_equal_digests(value: Any) -> None:
    def turned(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: turned(inner) for key, inner in reversed(one.items())}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return [turned(inner) for inner in one] if isinstance(one, list) else one  # pyright: ignore[reportUnknownVariableType]

    assert digest(value) == digest(turned(value))
    assert digest(value) != digest([value])


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Point(x=1), Point(x=1)),
        (Pair(1), Pair(1)),
        ({"b", "a", "c"}, {"c", "b", "a"}),
        (b"x", bytearray(b"x")),
        (Opaque(), Opaque()),
        ({1: "a", "b": 2}, {"b": 2, 1: "a"}),
        ((1, 2), [1, 2]),
        ("\ud800", "\ud800"),
    ],
)
def test_what_says_the_same_has_the_same_digest(one: Any, other: Any) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(Point(x=1), Point(x=2)), (Pair(1), Pair(2)), ({1: "a", "b": 2}, {1: "a", "b": 3}), ("1", 1), (b"x", b"y")],
)
def test_what_says_something_else_has_another(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_cycles_and_depth_are_no_failures() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert digest(cycle) == digest(cycle)
    assert digest(deep) == digest(deep)


# ------------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"repeats": None, "cycles": None}, "it would refuse nothing; set repeats, cycles,"),
        ({"repeats": 0}, "repeats=0"),
        ({"cycles": 1}, "cycles=1"),
        ({"period": 50}, "period=50"),
        ({"max_calls": 5}, "unknown setting max_calls=5"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], said: str) -> None:
    assert find("loop_guard") is LoopGuard
    with pytest.raises(ConfigurationError) as caught:
        make(LoopGuard, settings)
    assert said in str(caught.value)


def test_it_sees_only_what_it_needs() -> None:
    assert LoopGuard().kinds == ("tool.execute",)
    assert LoopGuard(None, cycles=None, max_depth=2).kinds == ("agent.invoke",)
