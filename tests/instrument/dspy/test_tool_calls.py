"""Tool calls that a DSPy application executes itself."""

from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.dspy import dspy

_Call: Any = dspy.ToolCalls.ToolCall
EXECUTES = hasattr(_Call, "execute")
pytestmark = pytest.mark.skipif(not EXECUTES, reason="this version of DSPy executes no tool calls")


@pytest.fixture
def ran() -> list[int]:
    return []


@pytest.fixture
def add(ran: list[int]) -> Any:
    def add(a: int, b: int = 0) -> int:
        ran.append(a + b)
        return a + b

    return add


def call(**arguments: int) -> Any:
    return _Call(id="call_1", name="add", args=arguments)


def test_a_function_is_gated_with_the_arguments_of_the_call(hooks: Hooks, add: Any, ran: list[int]) -> None:
    seen: list[Any] = []

    @hooks.before("tool.execute", names={"add"})
    def look(op: Operation) -> None:
        seen.append(op.request.arguments)
        if op.request.arguments["a"] > 1:
            raise Reject("Too much")

    spanhook.instrument(hooks)
    assert call(a=1, b=2).execute([dspy.Tool(add)]) == 3
    with pytest.raises(Reject, match="Too much"):
        call(a=2).execute({"add": add})
    with pytest.raises(Reject, match="Too much"):
        call(a=3).execute()
    assert seen == [{"a": 1, "b": 2}, {"a": 2}, {"a": 3}]
    assert ran == [3]


def test_a_rewrite_arrives_and_leaves_the_call_as_it_was(hooks: Hooks, add: Any, ran: list[int]) -> None:
    hooks.before("tool.execute")(lambda op: op.replace(arguments={**op.request.arguments, "a": 11}))
    hooks.before("tool.execute")(lambda op: op.replace(arguments={**op.request.arguments, "b": 5}))
    spanhook.instrument(hooks)
    told = call(a=1)
    assert told.execute(functions=[dspy.Tool(add)]) == 16
    assert told.args == {"a": 1}
    assert ran == [16]


def test_a_tool_among_the_functions_is_counted_once(hooks: Hooks, add: Any, ran: list[int]) -> None:
    began: list[str] = []
    hooks.before("tool.execute")(lambda op: began.append(op.name))
    spanhook.instrument(hooks)
    assert call(a=1).execute({"add": dspy.Tool(add)}) == 1
    assert (began, ran) == (["add"], [1])


def test_what_is_not_found_is_not_found_with_spanhook_either(hooks: Hooks) -> None:
    missing = _Call(name="absent", args={})

    def ways() -> list[str]:
        told: list[str] = []
        for functions in (None, {}, []):
            with pytest.raises(ValueError, match="not found") as raised:
                missing.execute(functions)
            told.append(str(raised.value))
        return told

    without = ways()
    hooks.before("tool.execute")(lambda _op: None)
    spanhook.instrument(hooks)
    assert ways() == without


def test_a_refused_tool_among_the_functions_is_the_cause_of_the_error(hooks: Hooks, add: Any, ran: list[int]) -> None:
    @hooks.before("tool.execute")
    def refuse(_op: Operation) -> None:
        raise Reject("Not today")

    spanhook.instrument(hooks)
    with pytest.raises(RuntimeError, match="Not today") as caught:
        call(a=1).execute({"add": dspy.Tool(add)})
    assert isinstance(caught.value.__cause__, Reject)
    assert not ran
