"""Tools: every sort of them, their arguments, what hooks answer, and the library's own way of trying to call them."""

import asyncio
import threading
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.llama_index_ways import (
    FOUND,
    FunctionTool,
    agent,
    async_tool,
    calling,
    own,
    own_tool,
    result,
    tool,
    tools,
)
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

_engine: Any = import_module("llama_index.core.query_engine")
_types: Any = import_module("llama_index.core.tools.types")
_workflow: Any = import_module("llama_index.core.workflow")
Context = _workflow.Context


def watching() -> tuple[Hooks, list[Any]]:
    hooks, seen = Hooks(), list[Any]()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.arguments))

    return hooks, seen


def refusing(*, times: int = 100) -> tuple[Hooks, list[str]]:
    """Hooks that refuse a tool the first few times that they are asked."""
    hooks, asked = Hooks(), list[str]()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        asked.append(op.name or "")
        if len(asked) <= times:
            raise Reject("not today")

    return hooks, asked


@pytest.mark.parametrize("make", [tool, async_tool])
def test_arguments_have_their_names_however_they_are_passed(make: Any) -> None:
    hooks, seen = watching()
    made = make(Body())

    async def acalls() -> None:
        await made.acall("tea")
        await made.acall(query="tea")

    with recorder(hooks) as recorded:
        made("tea")
        made(query="tea")
        made.call("tea")
        calling.call_tool(made, {"query": "tea"})
        asyncio.run(acalls())
        asyncio.run(calling.acall_tool(made, {"query": "tea"}))
    assert seen == [("look_up", {"query": "tea"})] * 7
    attributes = recorded.spans[0].attributes or {}
    assert attributes["gen_ai.tool.name"] == "look_up"
    assert "Look something up." in str(attributes["gen_ai.tool.description"])


def test_what_the_application_has_set_is_among_the_arguments_and_the_context_is_not() -> None:
    async def pay(ctx: Context, to: str, amount: int) -> str:  # pyright: ignore[reportInvalidTypeForm]
        """Pay."""
        await ctx.store.set("paid", amount)
        return f"{amount} to {to}"

    made = FunctionTool.from_defaults(async_fn=pay, partial_params={"amount": 20})
    hooks, seen = watching()
    with recorder(hooks) as recorded:
        said = asyncio.run(result(agent(own(None, ("pay", {"to": "Ann"}), ""), made)))
    assert said == "20 to Ann"
    assert seen == [("pay", {"to": "Ann", "amount": 20})]
    assert len([one for one in recorded.spans if one.name == "execute_tool pay"]) == 1


def test_rewritten_arguments_arrive_and_the_context_stays() -> None:
    async def pay(ctx: Context, to: str, amount: int) -> str:  # pyright: ignore[reportInvalidTypeForm]
        """Pay."""
        await ctx.store.set("paid", amount)
        return f"{amount} to {to}"

    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(arguments={**op.request.arguments, "amount": 1}))
    made = FunctionTool.from_defaults(async_fn=pay)
    with recorder(hooks):
        assert asyncio.run(result(agent(own(None, ("pay", {"to": "Ann", "amount": 20}), ""), made))) == "1 to Ann"


@pytest.mark.parametrize("value", ["nothing", {"a": 1}, 5])
def test_an_answer_takes_the_form_of_an_output(value: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("tool.execute")
    def answer(op: Operation) -> None:
        op.respond(value)

    with recorder(hooks):
        output = tool(body).call(query="tea")
    assert (type(output), output.content, output.raw_output) == (tools.ToolOutput, str(value), value)
    assert (output.tool_name, output.is_error, body.runs) == ("look_up", False, 0)


# ------------------------------------------------------------------------------------------------- call_tool


def _call(made: Any) -> Any:
    return calling.call_tool(made, {"input": "tea"})


def _acall(made: Any) -> Any:
    return asyncio.run(calling.acall_tool(made, {"input": "tea"}))


CALLS = pytest.mark.parametrize("call", [_call, _acall])


@CALLS
def test_a_tool_that_was_refused_is_not_tried_in_another_way(call: Any) -> None:
    body = Body()
    hooks, asked = refusing(times=1)
    with recorder(hooks):
        output = call(own_tool(body))
    assert (output.is_error, output.content) == (True, "Encountered error: not today")
    assert (asked, body.runs) == (["look_up"], 0)


@CALLS
def test_a_tool_that_is_tried_in_two_ways_is_one_call(call: Any) -> None:
    class Named(tools.BaseTool):  # pyright: ignore[reportUntypedBaseClass]
        """It takes its argument by name only."""

        @property
        def metadata(self) -> Any:
            return tools.ToolMetadata(name="named", description="Named.")

        def __call__(self, *, input: Any) -> Any:
            return tools.ToolOutput(content=input, tool_name="named", raw_input={}, raw_output=input)

    hooks, seen = watching()
    with recorder(hooks) as recorded:
        if call is _call:
            assert call(Named()).content == "tea"
        else:
            call(Named())
    assert seen == [("named", {"input": "tea"})]
    assert len(recorded.spans) == 1


def test_another_tool_that_a_tool_calls_in_the_same_way_is_a_call_of_its_own() -> None:
    body = Body()
    inner = own_tool(body)

    class Outer(tools.BaseTool):  # pyright: ignore[reportUntypedBaseClass]
        @property
        def metadata(self) -> Any:
            return inner.metadata

        def __call__(self, input: Any) -> Any:
            return inner(input)

    with recorder(Hooks()) as seen:
        calling.call_tool(Outer(), {"input": "tea"})
    assert [one.name for one in seen.spans] == ["execute_tool look_up"] * 2


def test_a_tool_that_is_called_again_with_what_it_has_edited_is_called_twice() -> None:
    def look_up(names: list[str]) -> str:
        """Look something up."""
        if len(names) == 1:
            names.append("milk")
            return str(made(names=names))
        return str(names)

    made = FunctionTool.from_defaults(look_up)
    hooks, seen = Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: seen.append([*op.request.arguments["names"]]))
    with recorder(hooks):
        calling.call_tool(made, {"names": ["tea"]})
    assert seen == [["tea"], ["tea", "milk"]]


def test_arguments_that_change_after_their_gates_are_asked_about_again() -> None:
    class Late(tools.ToolMetadata):  # pyright: ignore[reportUntypedBaseClass]
        def get_parameters_dict(self) -> Any:
            given["query"] = "milk"
            return super().get_parameters_dict()

    body, given = Body(), {"query": "tea"}
    made = FunctionTool.from_defaults(tool(body).fn, tool_metadata=Late(name="look_up", description="Look."))
    hooks, seen = Hooks(), list[Any]()
    hooks.before("tool.execute")(lambda op: seen.append(op.request.arguments["query"]))
    with recorder(hooks):
        calling.call_tool(made, given)
    assert (seen, body.seen) == (["tea", "milk"], ["milk"])


def test_a_failed_tool_is_an_error_that_the_model_is_told_of() -> None:
    def fails(query: str) -> str:
        """Fail."""
        raise KeyError(query)

    made = FunctionTool.from_defaults(fails)
    with recorder(Hooks()) as seen:
        without = calling.call_tool(made, {"query": "tea"})
        asyncio.run(result(agent(own(None, ("fails", {"query": "tea"}), ""), made)))
    assert without.is_error
    kinds = [(one.attributes or {}).get("error.type") for one in seen.spans if one.name == "execute_tool fails"]
    assert kinds == ["KeyError", "KeyError"]


# ------------------------------------------------------------------------------------------------- sorts


def test_a_query_engine_as_a_tool() -> None:
    class Engine(_engine.CustomQueryEngine):  # pyright: ignore[reportUntypedBaseClass]
        llm: Any = None

        def custom_query(self, query_str: str) -> str:
            return str(self.llm.complete(query_str))

    body = Body()
    made = tools.QueryEngineTool.from_defaults(Engine(llm=own(body)), name="engine", description="Knows.")
    with recorder(Hooks()) as seen:
        asyncio.run(result(agent(own(None, ("engine", {"input": "tea"}), ""), made)))
    assert "execute_tool engine" in [one.name for one in seen.spans]
    assert body.runs == 1
    hooks, _ = refusing()
    with recorder(hooks), pytest.raises(Reject):
        made.call("tea")
    assert body.runs == 1


def test_a_subclass_that_goes_on_in_its_base_is_one_call() -> None:
    class Louder(FunctionTool):  # pyright: ignore[reportUntypedBaseClass]
        def call(self, *args: Any, **kwargs: Any) -> Any:
            output = super().call(*args, **kwargs)
            return tools.ToolOutput(
                content=output.content.upper(), tool_name="loud", raw_input={}, raw_output=output.raw_output
            )

        async def acall(self, *args: Any, **kwargs: Any) -> Any:
            return self.call(*args, **kwargs)

    def look_up(query: str) -> str:
        """Look something up."""
        return query

    made = Louder.from_defaults(look_up)
    with recorder(Hooks()) as seen:
        assert made("tea").content == "TEA"
        assert asyncio.run(made.acall(query="tea")).content == "TEA"
    assert len(seen.spans) == 2


def test_tools_that_are_called_at_once_are_each_gated() -> None:
    body, threads = Body(), set[int]()

    def look_up(query: str) -> str:
        """Look something up."""
        threads.add(threading.get_ident())
        body.run(query)
        return query

    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        if op.request.arguments["query"] == "b":
            raise Reject("not today")

    made = agent(own(None, [("look_up", {"query": one}) for one in "abc"], "done"), look_up)
    with recorder(hooks) as seen:
        assert asyncio.run(result(made)) == "done"
    assert sorted(body.seen) == ["a", "c"]
    assert threads != {threading.get_ident()}
    found = [one for one in seen.spans if one.name == "execute_tool look_up"]
    statuses = [str((one.attributes or {})["spanhook.status"]) for one in found]
    assert sorted(statuses) == ["rejected", "success", "success"]


def test_a_callback_of_a_tool_gets_what_the_function_gave() -> None:
    def look_up(query: str) -> str:
        """Look something up."""
        return FOUND

    told = list[Any]()
    made = FunctionTool.from_defaults(look_up, callback=lambda output: told.append(output) or "shorter")
    with recorder(Hooks()) as seen:
        assert made(query="tea").content == "shorter"
    assert (told, len(seen.spans)) == ([FOUND], 1)


@CALLS
def test_an_adapter_of_ones_own_that_does_not_call_its_tool_is_gated(call: Any) -> None:
    class Cached(_types.BaseToolAsyncAdapter):  # pyright: ignore[reportUntypedBaseClass]
        def call(self, input: Any) -> Any:
            return tools.ToolOutput(content=input, tool_name="look_up", raw_input={}, raw_output=input)

        async def acall(self, input: Any) -> Any:
            return self.call(input)

    body = Body()
    hooks, asked = refusing()
    made = Cached(own_tool(body))
    with recorder(hooks):
        assert call(made).is_error
        with pytest.raises(Reject, match="not today"):
            made.call("tea")
    assert (asked, body.runs) == (["look_up"] * 2, 0)


async def _asked(made: Any) -> Any:
    return await made.acall(query="tea")


@pytest.mark.parametrize("ask", [_asked, lambda made: calling.acall_tool(made, {"query": "tea"})])
def test_what_a_tool_asks_in_a_thread_is_inside_of_it(ask: Any) -> None:
    model = own(Body())

    def look_up(query: str) -> str:
        """Look something up."""
        return str(model.complete(query))

    with recorder(Hooks()) as seen:
        asyncio.run(ask(FunctionTool.from_defaults(look_up)))
    inner, outer = seen.spans
    assert (inner.name, outer.name) == ("chat own", "execute_tool look_up")
    assert (inner.parent and inner.parent.span_id) == (outer.context and outer.context.span_id)
