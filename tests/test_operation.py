"""What an operation tells its hooks, and how long it may be changed."""

import datetime as dt
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Self

import pytest
from langchain_core.tools import StructuredTool

from spanhook import Hooks, Operation, Reject, hosting
from spanhook.clock import clock
from spanhook.conformance.langchain import Calls, agent, consume
from spanhook.conformance.langchain_core import ScriptedChat
from spanhook.conformance.subject import Body
from spanhook.copying import alike, copied, copied_error, held
from spanhook.errors import internal
from spanhook.testing import recorder
from tests.stub import MODES, stubbed, use


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


def test_duration_and_end_are_those_of_the_call(mode: str) -> None:
    hooks = Hooks()
    seen: list[Any] = []

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        seen.append((op.duration > 0, op.ended_at))

    hooks.after("llm.call")(lambda op: seen.append((op.duration, op.ended_at)))

    @hooks.after("llm.call", priority=900)
    def later(op: Operation) -> None:
        clock.now()
        seen.append((op.duration, op.ended_at))

    with stubbed(hooks) as (library, recorded):
        use(library, mode, "x")
        [op] = recorded.operations
        seen.append((op.duration, op.ended_at))
    assert seen[0] == (True, None)
    durations = {duration for duration, _ in seen[1:]}
    assert len(durations) == 1
    assert 0 < durations.pop() < 1
    assert all(isinstance(ended, dt.datetime) and ended.tzinfo is dt.UTC for _, ended in seen[1:])


def test_what_an_agents_hooks_are_told() -> None:
    hooks = Hooks()
    told: dict[str, Any] = {}

    @hooks.before("llm.call")
    def offered(op: Operation) -> None:
        told.setdefault("tools", op.request.tools)
        told.setdefault("definitions", op.request.tool_definitions)

    @hooks.after("llm.call")
    def answered(op: Operation) -> None:
        told.setdefault("reasons", []).append(op.response.finish_reasons)

    @hooks.after("tool.execute")
    def worked(op: Operation) -> None:
        told.setdefault("calls", []).append((op.tool_call_id, op.agent))

    @hooks.after("agent.invoke")
    def ended(op: Operation) -> None:
        told["used"] = op.usage.tools, op.usage.tool_calls

    with recorder(hooks):
        consume(agent(Calls()), "invoke")
    assert told["tools"]
    assert [one["name"] for one in told["definitions"]] == told["tools"]
    assert all(identifier and name for identifier, name in told["calls"])
    tools, calls = told["used"]
    assert sum(tools.values()) == calls == len(told["calls"]) > 0


def test_finish_reasons_and_usage_metadata_where_there_are_any() -> None:
    hooks = Hooks()
    told: list[Any] = []
    hooks.after("*")(lambda op: told.append((op.response.finish_reasons, "usage_metadata" in op.extras)))

    def look_up(query: str) -> dict[str, str]:
        """Look something up."""
        return {"found": query}

    with recorder(hooks):
        ScriptedChat(body=Body()).invoke("hi")
        StructuredTool.from_function(look_up).invoke({"query": "x"})
    assert told == [(("stop",), True), ((), False)]


def test_a_tools_own_value_is_told() -> None:
    hooks = Hooks()
    values: list[Any] = []
    hooks.after("tool.execute")(lambda op: values.append(op.response.value))

    def look_up(query: str) -> dict[str, str]:
        """Look something up."""
        return {"found": query}

    with recorder(hooks):
        StructuredTool.from_function(look_up).invoke({"query": "x"})
    assert values == [{"found": "x"}]


class Slow(Mapping[str, Any]):
    """A mapping that can only be read once somebody lets it."""

    def __init__(self) -> None:
        self.read, self.done = threading.Event(), threading.Event()

    def __getitem__(self, key: str) -> Any:
        self.read.wait(60.0)
        return "too late"

    def __iter__(self) -> Iterator[str]:
        return iter(("query",))

    def __len__(self) -> int:
        return 1


def test_a_hook_that_timed_out_in_the_middle_of_a_rewrite_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "START_S", 60.0)  # it does begin
    hooks = Hooks()
    slow, later = Slow(), list[Any]()

    @hooks.before("tool.execute", blocking=True, timeout=0.05, fail_mode="open")
    def rewrite(op: Operation) -> None:
        try:
            op.replace(arguments=slow)
        finally:
            slow.done.set()

    @hooks.before("tool.execute", priority=80)
    def gate(op: Operation) -> None:
        slow.read.set()
        assert slow.done.wait(60.0)
        later.append(op.request.arguments)

    def look_up(query: str) -> str:
        """Look something up."""
        return query

    with recorder(hooks) as seen:
        assert StructuredTool.from_function(look_up).invoke({"query": "x"}) == "x"
    assert later == [{"query": "x"}]
    assert [one.decision for one in seen.operations[0].decisions] == ["timeout"]
    internal.counts.pop("hook.hung", None)


def test_responding_after_the_yield_replaces_the_result(mode: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", buffer=True)
    def around(op: Operation) -> Iterator[None]:
        yield
        op.respond("replaced")

    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "replaced"
    assert [one.decision for one in seen.operations[0].decisions] == ["replace"]


# ------------------------------------------------------------------------------------------------ copies


class Odd(Exception):
    """An exception that cannot be made from its arguments."""

    def __init__(self, code: int, *, hint: dict[str, Any]) -> None:
        super().__init__(f"odd {code}")
        self.code, self.hint = code, hint


class Stubborn(Exception):
    """An exception that cannot be copied at all."""

    def __new__(cls, *args: Any, secret: Any = None) -> Self:
        if secret is None:
            raise TypeError("no")
        return super().__new__(cls, *args)

    def __init__(self, *args: Any, secret: Any = None) -> None:
        super().__init__("stubborn")


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        OSError(2, "no such file", "name"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
        Odd(7, hint={"deep": [1]}),
        Reject("no", status_code=402, scope="run"),
        ExceptionGroup("several", [KeyError("x"), ValueError("y")]),
        StopIteration({"deep": [1]}),
        AttributeError("no", name="n", obj=3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_copied_whole(error: Exception) -> None:
    cause = ValueError("cause")
    try:
        raise error from cause
    except type(error):
        twin = copied_error(error)
    assert twin is not error
    assert type(twin) is type(error)
    assert (str(twin), twin.args, repr(twin)) == (str(error), error.args, repr(error))
    assert {name: getattr(twin, name) for name in vars(error)} == vars(error)
    assert (twin.__traceback__, twin.__cause__) == (error.__traceback__, cause)
    for name in ("filename", "errno", "start", "object", "value", "name", "exceptions", "status_code", "scope"):
        assert getattr(twin, name, None) == getattr(error, name, None)


def test_an_error_that_cannot_be_copied_is_itself() -> None:
    error = Stubborn(secret=1)
    assert copied_error(error) is error
    stop = KeyboardInterrupt()
    assert copied_error(stop) is stop


def test_odd_containers_are_copied() -> None:
    from collections import OrderedDict, defaultdict, deque
    from types import MappingProxyType
    from typing import NamedTuple

    class Pair(NamedTuple):
        left: Any
        right: Any

    class Special(dict[str, Any]):
        extra = ""

    special = Special(a=[1])
    special.extra = "kept"
    values: list[Any] = [
        OrderedDict(a=[1]),
        defaultdict(list, a=[1]),
        deque([[1]], maxlen=3),
        (1, [2]),
        Pair([1], 2),
        {1, 2},
        bytearray(b"x"),
        MappingProxyType({"a": [1]}),
        special,
        [[0.5] * 100],
    ]
    for value in values:
        twin = copied(value)
        assert type(twin) is type(value)
        assert twin == value
        assert twin is not value
    assert copied(special).extra == "kept"
    assert copied(special)["a"] is not special["a"]
    untouched = (1, "x", frozenset((1,)))
    assert copied(untouched) is untouched
    client = object()
    assert copied({"client": [client]})["client"][0] is client


def test_what_contains_itself_is_copied_so() -> None:
    loop: dict[str, Any] = {"name": "x", "inner": []}
    loop["inner"].append(loop)
    twin = copied(loop)
    assert twin["inner"][0] is twin
    assert twin is not loop


def test_what_is_held_is_what_was_there() -> None:
    message = object()
    given: dict[str, Any] = {"messages": [message], "deep": {"list": [[1]]}}
    kept = held((given, "x"))
    given["messages"].append("later")
    given["deep"]["list"].append("later")
    assert kept[0]["messages"] == [message]
    assert kept[0]["deep"]["list"] == [[1]]


def test_alike_says_no_where_it_cannot_tell() -> None:
    class Array:
        def __eq__(self, other: object) -> Any:
            raise ValueError("ambiguous")

        __hash__ = None  # pyright: ignore[reportAssignmentType]

    assert not alike(Array(), Array())
    assert alike([1], [1])
