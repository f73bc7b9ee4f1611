"""What gates read is what the body of a tool receives, whatever the tool's schema makes of the input."""

import asyncio
import copy
import threading
from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from enum import Enum
from importlib.metadata import version
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, Tool
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic.v1 import BaseModel as BaseModelV1
from pydantic.v1 import Field as FieldV1

from spanhook import Hooks, Operation, Reject
from spanhook.hooks.approval import Approval
from spanhook.hooks.loop_guard import LoopGuard
from spanhook.hooks.rate_limit import RateLimit
from spanhook.hooks.tool_policy import ToolPolicy
from spanhook.testing import recorder


class Choices(BaseModel):
    amount: int = Field(1, validation_alias=AliasChoices("total", "amount"))


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    amount: int = Field(1, alias="total")


class Before(BaseModel):
    amount: int

    @model_validator(mode="before")
    @classmethod
    def _sum(cls, data: Any) -> Any:
        return {"amount": data["amount"] * 1000}


class InPlace(BaseModel):
    amount: int

    @model_validator(mode="before")
    @classmethod
    def _sum(cls, data: Any) -> Any:
        data["amount"] *= 1000
        return data


class Nested(BaseModel):
    items: list[dict[str, int]]

    @property
    def amount(self) -> int:
        return self.items[0]["amount"]

    @model_validator(mode="before")
    @classmethod
    def _sum(cls, data: Any) -> Any:
        for item in data["items"]:
            item["amount"] *= 1000
        return data


class After(BaseModel):
    amount: int

    @field_validator("amount", mode="after")
    @classmethod
    def _more(cls, value: int) -> int:
        return value * 1000


class Wrapped(BaseModel):
    amount: Annotated[int, WrapValidator(lambda value, handler: handler(value) * 1000)]


class Factory(BaseModel):
    note: str = ""
    amount: int = Field(default_factory=lambda: 1000)


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")
    note: str = ""

    @model_validator(mode="before")
    @classmethod
    def _more(cls, data: Any) -> Any:
        return {**data, "amount": 1000}


class Old(BaseModelV1):
    amount: int = FieldV1(1, alias="total")

    class Config:
        allow_population_by_field_name = True


class Inner(BaseModel):
    amount: int = Field(1, validation_alias=AliasChoices("total", "amount"))


class Outer(BaseModel):
    item: Inner


class Call(BaseModel):
    amount: int = Field(1, validation_alias="total")


OLD = version("langchain-core").startswith("1.0.")
"""Bodies receive nothing there that is not in the input under its own name: no aliases, defaults or extra fields."""
Ran = list[Any]


def made(schema: Any, ran: Ran, **settings: Any) -> StructuredTool:
    def body(**kwargs: Any) -> str:
        ran.append(kwargs)
        return "paid"

    async def abody(**kwargs: Any) -> str:
        ran.append(kwargs)
        return "paid"

    return StructuredTool(
        name="refund", description="Pay money back.", args_schema=schema, func=body, coroutine=abody, **settings
    )


WAYS: dict[str, Callable[[BaseTool, dict[str, Any]], Any]] = {
    "invoke": lambda tool, given: tool.invoke(given),
    "run": lambda tool, given: tool.run(given),
    "ainvoke": lambda tool, given: asyncio.run(tool.ainvoke(given)),
    "batch": lambda tool, given: tool.batch([given]),
    "stream": lambda tool, given: list(tool.stream(given)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("schema", "given"),
    [
        (Choices, {"amount": 1, "total": 1000}),
        (ByName, {"amount": 1, "total": 1000}),
        (Call, {"amount": 1, "total": 1000}),
        (Before, {"amount": 1}),
        (InPlace, {"amount": 1}),
        (After, {"amount": 1}),
        (Wrapped, {"amount": 1}),
        (Factory, {}),
        (Extra, {"note": "x"}),
        (Old, {"amount": 1, "total": 1000}),
    ],
)
def test_a_condition_reads_what_the_body_receives(schema: Any, given: dict[str, Any], way: str) -> None:
    ran, unhooked = list[Any](), list[Any]()
    made(schema, unhooked).invoke(copy.deepcopy(given))
    smuggles = unhooked[0].get("amount", 0) > 50
    assert smuggles or OLD
    policy = ToolPolicy([{"deny": ["refund"], "when": "has(arguments.amount) && arguments.amount > 50"}])
    with recorder(Hooks(policy)) as seen, pytest.raises(Reject) if smuggles else nullcontext():
        WAYS[way](made(schema, ran), dict(given))
    assert ran == ([] if smuggles else unhooked)
    (op,) = seen.operations
    assert op.status == ("rejected" if smuggles else "success")
    assert op.called is not smuggles
    assert [one.decision for one in op.decisions] == (["reject"] if smuggles else [])
    assert len(seen.spans) == 1


def read(hooks: Hooks) -> list[Any]:
    looks: list[Any] = []

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        looks.append(op.request.arguments)

    return looks


def test_nested_data_that_a_validator_edits_in_place_is_seen() -> None:
    ran: Ran = []
    looks = read(hooks := Hooks())
    with recorder(hooks):
        made(Nested, ran).invoke({"items": [{"amount": 1}]})
    assert looks == [{"items": [{"amount": 1}]}, {"items": [{"amount": 1000}]}]
    assert ran == [{"items": [{"amount": 1000}]}]


def test_nested_models_are_read_as_data() -> None:
    ran: Ran = []
    looks = read(hooks := Hooks())
    tool = made(Outer, ran)
    with recorder(hooks):
        tool.invoke({"item": {"amount": 7}})
        tool.invoke({"item": {"amount": 1, "total": 1000}})
    assert looks == [{"item": {"amount": 7}}, {"item": {"amount": 1, "total": 1000}}, {"item": {"amount": 1000}}]
    assert [one["item"].amount for one in ran] == [7, 1000]


class Color(Enum):
    RED = "red"


class Typed(BaseModel):
    whole: int = 1
    part: float = 0.5
    flag: bool = True
    exact: Decimal = Decimal(1)
    color: Color = Color.RED
    key: SecretStr = SecretStr("planted")


FULL: dict[str, Any] = {"whole": 1, "part": 0.5, "flag": True, "exact": Decimal(1), "color": "red", "key": "s3cret"}


@pytest.mark.parametrize(
    ("change", "looks_again"),
    [
        ({}, False),
        ({"whole": "1"}, True),
        ({"whole": 1.0}, True),
        ({"whole": True}, True),
        ({"part": 1}, True),
        ({"part": float("nan")}, False),
        ({"flag": "yes"}, True),
        ({"flag": 1}, True),
        ({"exact": 1}, True),
        ({"exact": "1"}, True),
        ({"color": Color.RED}, False),
    ],
)
def test_numbers_of_another_type_are_looked_at_again(change: dict[str, Any], looks_again: bool) -> None:
    ran: Ran = []
    looks = read(hooks := Hooks())
    with recorder(hooks):
        made(Typed, ran).invoke({**FULL, **change})
    assert len(looks) == 1 + looks_again
    if looks_again:
        (name,) = change
        assert type(looks[1][name]) is type(ran[0][name])
    assert looks[-1]["color"] in ("red", Color.RED)
    assert looks[-1]["key"] == "s3cret"


def test_a_secret_that_was_not_in_the_input_stays_one() -> None:
    looks = read(hooks := Hooks())
    with recorder(hooks):
        made(Typed, []).invoke({name: value for name, value in FULL.items() if name != "key"})
    assert "planted" not in repr(looks)
    assert OLD or isinstance(looks[1]["key"], SecretStr)


class Liar:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Raising:
    def __eq__(self, other: object) -> bool:
        raise ValueError("no")

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Objects(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    value: Any

    @field_validator("value", mode="after")
    @classmethod
    def _another(cls, value: Any) -> Any:
        return "other" if value == "swap" else type(value)()


@pytest.mark.parametrize("kind", [Liar, Raising])
def test_how_classes_compare_themselves_does_not_matter(kind: type) -> None:
    class Swapping(BaseModel):
        value: Any

        @field_validator("value", mode="after")
        @classmethod
        def _another(cls, value: Any) -> Any:
            return kind()

    looks, ran = read(hooks := Hooks()), list[Any]()
    with recorder(hooks):
        made(Swapping, ran).invoke({"value": kind()})
    assert len(looks) == 2
    assert looks[1]["value"] is ran[0]["value"]


@pytest.mark.parametrize("schema", [Choices] if OLD else [Choices, Call])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_rewrite_there_is_validated_and_arrives(is_async: bool, schema: type[BaseModel]) -> None:
    ran: Ran = []
    hooks, looks = Hooks(), list[Any]()

    @hooks.before("tool.execute", priority=10)
    def first(op: Operation) -> None:
        looks.append(op.request.arguments)

    @hooks.before("tool.execute", priority=20)
    def cap(op: Operation) -> None:
        if op.request.arguments["amount"] > 50:
            op.replace(arguments={"amount": 50})

    with recorder(hooks) as seen:
        tool, given = made(schema, ran), {"amount": 1, "total": 1000}
        asyncio.run(tool.ainvoke(given)) if is_async else tool.invoke(given)
    assert ran == [{"amount": 50}]
    assert looks == [{"amount": 1, "total": 1000}, {"amount": 1000}, {"amount": 50}]
    (op,) = seen.operations
    assert op.request.arguments == {"amount": 50}
    assert [one.decision for one in op.decisions] == ["modify"]


def test_a_rewrite_of_which_validation_makes_something_else_is_the_hooks_failure() -> None:
    ran: Ran = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    def cap(op: Operation) -> None:
        if op.request.arguments["amount"] > 50:
            op.replace(arguments={"amount": 50})

    with recorder(hooks) as seen, pytest.raises(Reject) as refused:
        made(Before, ran).invoke({"amount": 1})
    assert ran == []
    assert refused.value.status_code == 500
    assert [one.decision for one in seen.operations[0].decisions] == ["error"]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_answer_there_takes_the_place_of_the_body(is_async: bool) -> None:
    ran: Ran = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    def answer(op: Operation) -> None:
        if op.request.arguments["amount"] > 50:
            op.respond("nothing to pay")

    call = {"type": "tool_call", "id": "1", "name": "refund", "args": {"amount": 1, "total": 1000}}
    with recorder(hooks) as seen:
        tool = made(Choices, ran)
        result = asyncio.run(tool.ainvoke(call)) if is_async else tool.invoke(call)
        pair = made(Choices, ran, response_format="content_and_artifact").invoke(dict(call))
    assert isinstance(result, ToolMessage)
    assert (result.content, result.tool_call_id, result.status) == ("nothing to pay", "1", "success")
    assert isinstance(pair, ToolMessage)
    assert pair.content == "nothing to pay"
    assert ran == []
    assert [(op.called, op.status) for op in seen.operations] == [(False, "success")] * 2


class Counting(BaseCallbackHandler):
    def __init__(self) -> None:
        self.events: list[str] = []

    def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
        self.events.append(f"start {kwargs.get('inputs')}")

    def on_tool_error(self, error: BaseException, **kwargs: Any) -> None:
        self.events.append("error")

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        self.events.append("end")


def test_the_first_look_stays_at_the_border() -> None:
    hooks, callbacks = Hooks(), Counting()

    @hooks.before("tool.execute")
    def rename(op: Operation) -> None:
        arguments = op.request.arguments
        if "cents" in arguments:
            op.replace(arguments={"amount": arguments["cents"] // 100})

    class Either(BaseModel):
        model_config = ConfigDict(extra="allow")
        amount: int = 1

    with recorder(hooks):
        made(Either, []).invoke({"cents": 700}, config={"callbacks": [callbacks]})
    assert callbacks.events == ["start {'amount': 7}", "end"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("given", [{"amount": 7}, {"amount": 1, "total": 1000}])
def test_hooks_that_ask_or_count_act_once_on_what_the_body_receives(given: dict[str, Any], is_async: bool) -> None:
    asked: list[str] = []

    def ask(request: Any) -> bool:
        asked.append(request.arguments)
        return True

    hooks = Hooks(Approval(ask=ask), limit := RateLimit("2/minute"), LoopGuard(max_tool_calls=1))
    limit.kinds = ("tool.execute",)
    ran: Ran = []
    with recorder(hooks):
        tool = made(Choices, ran)
        asyncio.run(tool.ainvoke(dict(given))) if is_async else tool.invoke(dict(given))
        assert asked == [f'{{"amount":{given.get("total", given["amount"])}}}']
        tool.invoke(dict(given))
        with pytest.raises(Reject, match="at most"):
            tool.invoke(dict(given))
    assert len(ran) == 2


@pytest.mark.parametrize("is_async", [False, True])
def test_they_act_at_the_border_if_the_call_is_answered_there(is_async: bool) -> None:
    asked: list[str] = []
    hooks = Hooks(Approval(ask=lambda request: asked.append(request.arguments) or True))

    @hooks.before("tool.execute", priority=90)
    def answer(op: Operation) -> None:
        op.respond("kept")

    with recorder(hooks):
        tool, given = made(Choices, []), {"amount": 1, "total": 1000}
        assert (asyncio.run(tool.ainvoke(given)) if is_async else tool.invoke(given)) == "kept"
    assert asked == ['{"amount":1,"total":1000}']


class Overridden(BaseTool):
    name: str = "refund"
    description: str = "Pay money back."
    args_schema: Any = Choices
    ran: Any = None

    def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        return self._run(**tool_input)

    def _run(self, **kwargs: Any) -> str:
        self.ran.append(kwargs)
        return "paid"


def test_a_tool_with_a_run_of_its_own_is_asked_about_at_the_border() -> None:
    ran, asked = list[Any](), list[str]()
    with recorder(Hooks(Approval(ask=lambda request: asked.append(request.arguments) or False))), pytest.raises(Reject):
        Overridden(ran=ran).invoke({"amount": 1})
    assert (ran, asked) == ([], ['{"amount":1}'])


class EditingRun(BaseTool):
    """Edits its arguments in place, after gates have seen them."""

    name: str = "refund"
    description: str = "Pay money back."
    args_schema: Any = Choices
    ran: Any = None

    def _run(self, **kwargs: Any) -> str:
        self.ran.append(kwargs)
        return "paid"

    def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        tool_input["amount"] *= 1000
        return super().run(tool_input, *args, **kwargs)


def test_what_a_run_of_its_own_edits_in_place_is_asked_about() -> None:
    ran = list[Any]()
    hooks = Hooks(ToolPolicy([{"deny": ["refund"], "when": "arguments.amount > 50"}]))
    with recorder(hooks) as seen, pytest.raises(Reject):
        EditingRun(ran=ran).run({"amount": 1})
    assert ran == []
    assert len(seen.operations) == 2  # LangChain's own `run` was asked to do something else


class OwnParsing(BaseTool):
    name: str = "refund"
    description: str = "Pay money back."
    args_schema: Any = Choices
    ran: Any = None

    def _parse_input(self, tool_input: Any, tool_call_id: Any) -> Any:
        return {"amount": tool_input["total"]}

    def _run(self, amount: int) -> str:
        self.ran.append(amount)
        return "paid"


@pytest.mark.parametrize("is_async", [False, True])
def test_an_overridden_parse_input_is_looked_behind(is_async: bool) -> None:
    ran: Ran = []
    hooks = Hooks(ToolPolicy([{"deny": ["refund"], "when": "arguments.amount > 50"}]))
    with recorder(hooks), pytest.raises(Reject):
        tool, given = OwnParsing(ran=ran), {"amount": 1, "total": 1000}
        asyncio.run(tool.ainvoke(given)) if is_async else tool.invoke(given)
    assert ran == []


def test_text_for_a_tool_with_one_argument() -> None:
    looks = read(hooks := Hooks())
    ran: Ran = []
    tool = Tool(name="search", description="Search.", func=lambda query: ran.append(query) or "found")
    with recorder(hooks):
        tool.invoke("cats")
        tool.invoke({"query": "cats"})
        tool.invoke({"type": "tool_call", "id": "1", "name": "search", "args": {"__arg1": "cats"}})
    assert [list(one.values()) for one in looks] == [["cats"], ["cats"], ["cats"]]
    assert ran == ["cats", "cats", "cats"]


def test_a_schema_in_json_validates_nothing() -> None:
    looks, ran = read(hooks := Hooks()), list[Any]()
    schema = {"title": "refund", "type": "object", "properties": {"amount": {"type": "integer", "default": 9}}}
    with recorder(hooks):
        made(schema, ran).invoke({"amount": "1"})
    assert looks == [{"amount": "1"}]
    assert ran == [{"amount": "1"}]


def test_what_the_framework_injects_is_left_out() -> None:
    looks, ran = read(hooks := Hooks()), list[Any]()

    def body(amount: int, call_id: Annotated[str, InjectedToolCallId], who: Annotated[str, InjectedToolArg]) -> str:
        ran.append((amount, call_id, who))
        return "paid"

    tool = StructuredTool.from_function(body, name="refund", description="Pay money back.")
    with recorder(hooks):
        tool.invoke({"type": "tool_call", "id": "7", "name": "refund", "args": {"amount": 1, "who": "me"}})
        tool.invoke({"type": "tool_call", "id": "8", "name": "refund", "args": {"amount": "2", "who": "me"}})
    assert looks == [{"amount": 1}, {"amount": "2"}, {"amount": 2}]
    assert ran == [(1, "7", "me"), (2, "8", "me")]


def test_a_rewrite_keeps_what_is_injected() -> None:
    ran: Ran = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    def cap(op: Operation) -> None:
        if op.request.arguments["amount"] == 2:
            op.replace(arguments={"amount": 3})

    def body(amount: int, call_id: Annotated[str, InjectedToolCallId], who: Annotated[str, InjectedToolArg]) -> str:
        ran.append((amount, call_id, who))
        return "paid"

    tool = StructuredTool.from_function(body, name="refund", description="Pay money back.")
    with recorder(hooks):
        tool.invoke({"type": "tool_call", "id": "8", "name": "refund", "args": {"amount": "2", "who": "me"}})
    assert ran == [(3, "8", "me")]


class Refusing(BaseModel):
    amount: int

    @field_validator("amount")
    @classmethod
    def _never(cls, value: int) -> int:
        raise Reject("not this one", status_code=402)


def test_a_validator_that_rejects() -> None:
    asked: list[Any] = []
    ran: Ran = []
    hooks = Hooks(Approval(ask=lambda request: asked.append(request) or True))
    with recorder(hooks) as seen, pytest.raises(Reject, match="not this one"):
        made(Refusing, ran).invoke({"amount": 1})
    assert (ran, asked) == ([], [])
    assert [op.status for op in seen.operations] == ["rejected"]


def test_arguments_that_do_not_pass_validation_reach_nobody() -> None:
    asked: list[Any] = []
    hooks = Hooks(Approval(ask=lambda request: asked.append(request) or True))
    with recorder(hooks) as seen, pytest.raises(ValueError, match="amount"):
        made(Choices, []).invoke({"amount": "many"})
    assert asked == []
    assert [op.status for op in seen.operations] == ["error"]


def test_an_interrupt_there_pauses() -> None:
    ran: Ran = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    def ask(op: Operation) -> None:
        if op.request.arguments["amount"] > 50:
            raise GraphInterrupt(())

    with recorder(hooks) as seen, pytest.raises(GraphInterrupt):
        made(Choices, ran).invoke({"amount": 1, "total": 1000})
    assert ran == []
    assert [(op.status, [one.decision for one in op.decisions]) for op in seen.operations] == [
        ("interrupted", ["pause"])
    ]


def test_the_model_of_a_graph_learns_of_a_refusal_there() -> None:
    ran: Ran = []
    hooks = Hooks(ToolPolicy([{"deny": ["refund"], "when": "arguments.amount > 50", "reason": "too much"}]))
    call = {"type": "tool_call", "id": "1", "name": "refund", "args": {"amount": 1, "total": 1000}}

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(content="", tool_calls=[call])]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode([made(Choices, ran)]))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "tools")
    graph.add_edge("tools", END)
    with recorder(hooks):
        state = graph.compile().invoke({"messages": []})
    assert ran == []
    assert state["messages"][-1].status == "error"
    assert "too much" in state["messages"][-1].content


def test_async_hooks_look_again_on_the_loop_of_the_call() -> None:
    ran: Ran = []
    loops: list[Any] = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    async def look(op: Operation) -> None:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        if op.request.arguments["amount"] > 50:
            raise Reject("too much")

    async def both() -> Any:
        loops.append(asyncio.get_running_loop())
        tool = made(Choices, ran)
        return await asyncio.gather(
            tool.ainvoke({"amount": 1, "total": 1000}), tool.ainvoke({"amount": 1}), return_exceptions=True
        )

    with recorder(hooks):
        refused, passed = asyncio.run(both())
        assert len(set(map(id, loops))) == 1
        with pytest.raises(Reject):
            made(Choices, ran).invoke({"amount": 1, "total": 1000})
    assert isinstance(refused, Reject)
    assert passed == "paid"
    assert ran == [{"amount": 1}]


def test_cancelled_while_looking() -> None:
    ran: Ran = []
    hooks = Hooks()
    looking = asyncio.Event()

    @hooks.before("tool.execute", timeout=None)
    async def look(op: Operation) -> None:
        if op.request.arguments["amount"] > 50:
            looking.set()
            await asyncio.Event().wait()

    async def cancel() -> None:
        task = asyncio.ensure_future(made(Choices, ran).ainvoke({"amount": 1, "total": 1000}))
        await looking.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(hooks) as seen:
        asyncio.run(cancel())
    assert ran == []
    assert [op.status for op in seen.operations] == ["cancelled"]


def test_unsampled_and_in_threads() -> None:
    ran: Ran = []
    hooks = Hooks(ToolPolicy([{"deny": ["refund"], "when": "arguments.amount > 50"}]))
    refused: list[Reject] = []

    def run() -> None:
        try:
            made(Choices, ran).invoke({"amount": 1, "total": 1000})
        except Reject as reject:
            refused.append(reject)

    with recorder(hooks, sampler=ALWAYS_OFF):
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(refused) == 4
    assert ran == []


def test_around_hooks_wait_meanwhile() -> None:
    events: list[str] = []
    hooks = Hooks(ToolPolicy([{"deny": ["refund"], "when": "arguments.amount > 50"}]))

    @hooks.around("tool.execute")
    def around(op: Operation) -> Any:
        events.append("in")
        try:
            yield
        finally:
            events.append("out")

    @hooks.after("tool.execute")
    def after(op: Operation) -> None:
        events.append(f"after {op.request.arguments}")

    with recorder(hooks), pytest.raises(Reject):
        made(Choices, []).invoke({"amount": 1, "total": 1000})
    assert events == ["in", "out"]
    with recorder(hooks):
        made(Choices, []).invoke({"amount": 1, "total": 20})
    assert events == ["in", "out", "in", "out", "after {'amount': 20}"]


def test_an_unchanged_call_is_looked_at_once() -> None:
    looks = read(hooks := Hooks())
    with recorder(hooks):
        made(Choices, []).invoke({"amount": 7})
    assert looks == [{"amount": 7}]


def test_listeners_and_hooks_in_shadow_see_what_the_body_receives() -> None:
    heard: list[Any] = []
    ended: list[str] = []
    policy = ToolPolicy([{"deny": ["refund"], "when": "arguments.amount > 50"}])
    policy.mode = "shadow"
    hooks = Hooks(policy)
    hooks.on("tool.execute.pre", lambda event: heard.append(event.request.arguments))
    hooks.on("tool.execute.error", lambda event: ended.append(event.status))
    with recorder(hooks) as seen:
        tool = made(Choices, [])
        tool.invoke({"amount": 1, "total": 1000})
        tool.invoke({"amount": 7})
        with pytest.raises(ValueError, match="amount"):
            tool.invoke({"amount": "many"})
        assert hooks.flush(60)
    assert heard == [{"amount": 1000}, {"amount": 7}, {"amount": "many"}]
    assert ended == ["error"]
    assert [[one.decision for one in op.shadow_decisions] for op in seen.operations] == [["reject"], [], ["reject"]]


class Place(BaseModel):
    where: str = "here"
    config: str = Field("dev", validation_alias=AliasChoices("env", "config"))


class Deploy(BaseTool):
    """A tool with an argument that has the name under which LangChain passes a ``RunnableConfig`` to its own tools."""

    name: str = "deploy"
    description: str = "Deploy."
    args_schema: Any = Place
    ran: list[str]

    def _run(self, where: str, config: str, settings: RunnableConfig) -> str:
        assert isinstance(settings, dict)
        self.ran.append(f"{where}: {config}")
        return "done"


@pytest.mark.parametrize("is_async", [False, True])
def test_an_argument_may_be_called_config(is_async: bool) -> None:
    hooks, seen = Hooks(), list[Any]()

    @hooks.before("tool.execute", priority=10)
    def dev_only(op: Operation) -> None:
        seen.append(dict(op.request.arguments or {}))
        if seen[-1].get("config") == "prod":
            raise Reject("not there")

    tool, way = Deploy(ran=[]), WAYS["ainvoke" if is_async else "invoke"]
    with recorder(hooks):
        way(tool, {"where": "here", "config": "dev"})
        if not OLD:
            with pytest.raises(Reject):
                way(tool, {"where": "here", "env": "prod"})
            way(tool, {"where": "here"})
    assert tool.ran == (["here: dev"] if OLD else ["here: dev", "here: dev"])
    plain, aliased = {"where": "here", "config": "dev"}, {"where": "here", "env": "prod"}
    assert seen[:1] == [plain]
    assert OLD or seen[1:] == [aliased, {"where": "here", "config": "prod"}, {"where": "here"}, plain]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_whose_body_is_replaced_in_the_object_is_asked_about_at_the_border(is_async: bool) -> None:
    ran, questions = list[int](), list[Any]()
    tool = Deploy(ran=[])
    tool._run = lambda **_: ran.append(1)  # type: ignore[method-assign]

    def ask(request: Any) -> bool:
        questions.append(request)
        return False

    with recorder(Hooks(Approval(ask=ask))), pytest.raises(Reject):
        WAYS["ainvoke" if is_async else "invoke"](tool, {"where": f"async: {is_async}"})
    assert (len(questions), ran) == (1, [])
