"""Functions of the application's own code as operations: gated, rewritten, answered and counted like any call."""

import asyncio
import contextvars
import copy
import functools
import inspect
import pickle
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from langchain_core.tools import tool as langchain_tool

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, OperationError, Reject, current_operation
from spanhook.model import current
from spanhook.testing import recorder

Call = Callable[[Any], Any]


class Made:
    """What ran, and the functions that did."""

    def __init__(self) -> None:
        ran = self.ran = list[Any]()

        @spanhook.tool
        def look_up(query: str, limit: int = 3) -> str:
            """Look something up.

            At length.
            """
            ran.append((query, limit))
            return f"found {query}"

        @spanhook.tool("look_up")
        async def alook_up(query: str, limit: int = 3) -> str:
            ran.append((query, limit))
            await asyncio.sleep(0)
            return f"found {query}"

        @spanhook.tool("look_up")
        def letters(query: str, limit: int = 3) -> Iterator[str]:
            ran.append((query, limit))
            yield from f"found {query}"

        @spanhook.tool("look_up")
        async def aletters(query: str, limit: int = 3) -> AsyncIterator[str]:
            ran.append((query, limit))
            for letter in f"found {query}":
                await asyncio.sleep(0)
                yield letter

        self.look_up, self.alook_up, self.letters, self.aletters = look_up, alook_up, letters, aletters

    def use(self, way: str, query: str) -> Any:
        if way == "sync":
            return self.look_up(query)
        if way == "stream":
            return "".join(self.letters(query))

        async def wait() -> Any:
            if way == "async":
                return await self.alook_up(query)
            return "".join([letter async for letter in self.aletters(query)])

        return asyncio.run(wait())


WAYS = ("sync", "async", "stream", "astream")


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.mark.parametrize("way", WAYS)
def test_a_refused_one_does_not_run(made: Made, way: str) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402)

    with recorder(hooks) as seen, pytest.raises(Reject, match="no") as caught:
        made.use(way, "x")
    assert (caught.value.status_code, made.ran) == (402, [])
    [op] = seen.operations
    [span] = seen.spans
    assert (op.kind, op.name, op.status) == ("tool.execute", "look_up", "rejected")
    assert span.name == "execute_tool look_up"
    assert current.get() is None


@pytest.mark.parametrize("way", WAYS)
def test_rewritten_arguments_reach_it(made: Made, way: str) -> None:
    hooks = Hooks()
    read: list[Any] = []

    @hooks.before("tool.execute")
    def rewrite(op: Operation) -> None:
        read.append(op.request.arguments)
        op.replace(arguments={"query": "y", "limit": 1})

    with recorder(hooks):
        assert made.use(way, "x") == "found y"
    assert read == [{"query": "x", "limit": 3}]
    assert made.ran == [("y", 1)]


@pytest.mark.parametrize("way", WAYS)
def test_a_hook_answers_instead(made: Made, way: str) -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.respond("kept"))
    with recorder(hooks) as seen:
        assert made.use(way, "x") == "kept"
    assert (made.ran, seen.operations[0].status) == ([], "success")


@pytest.mark.parametrize("way", WAYS)
def test_a_hook_replaces_the_result(made: Made, way: str) -> None:
    hooks = Hooks()

    @hooks.after("tool.execute", stream="buffer")
    async def shout(op: Operation) -> None:
        op.respond(op.result.upper())

    with recorder(hooks):
        assert made.use(way, "x") == "FOUND X"


@pytest.mark.parametrize("way", WAYS)
def test_around_hooks_of_both_forms(made: Made, way: str) -> None:
    hooks = Hooks()
    told: list[Any] = []

    @hooks.around("tool.execute")
    def plain(op: Operation) -> Iterator[None]:
        told.append("before")
        told.append((yield))

    @hooks.around("tool.execute")
    async def awaiting(op: Operation, call_next: Any) -> None:
        await call_next()
        told.append(op.result)

    with recorder(hooks):
        assert made.use(way, "x") == "found x"
    assert told == ["before", "found x", "found x"]


@pytest.mark.parametrize("way", WAYS)
def test_without_hooks_and_uninstrumented(made: Made, way: str) -> None:
    assert made.use(way, "x") == "found x"
    with recorder() as seen:
        assert made.use(way, "y") == "found y"
    assert made.use(way, "z") == "found z"
    assert [op.status for op in seen.operations] == ["success"]
    assert len(made.ran) == 3


@pytest.mark.parametrize("way", WAYS)
def test_an_exception_leaves_as_it_was_raised(way: str) -> None:
    made = Made()
    error = ConnectionError("down")

    class Failing(str):
        __slots__ = ()

        def __format__(self, spec: str) -> str:
            raise error

    with recorder() as seen, pytest.raises(ConnectionError) as caught:
        made.use(way, Failing())
    assert caught.value is error
    assert seen.operations[0].status == "error"
    assert not [one for one in caught.traceback if "/spanhook/engine/" in str(one.path)]


def test_it_looks_like_the_function(made: Made) -> None:
    assert str(inspect.signature(made.look_up)) == "(query: str, limit: int = 3) -> str"
    assert inspect.getdoc(made.look_up) == "Look something up.\n\nAt length."
    assert inspect.iscoroutinefunction(made.alook_up)
    assert inspect.isgeneratorfunction(made.letters)
    assert inspect.isasyncgenfunction(made.aletters)
    assert copy.deepcopy(made.look_up) is copy.copy(made.look_up) is made.look_up


@spanhook.tool
def at_top(query: str) -> str:
    return query


class Desk:
    """Methods of every sort."""

    @spanhook.tool
    def own(self, amount: int) -> Any:
        return type(self).__name__, amount

    @spanhook.tool
    async def waits(self, amount: int) -> Any:
        return type(self).__name__, amount

    @spanhook.tool
    @classmethod
    def of_class(cls, amount: int) -> Any:
        return cls.__name__, amount

    @classmethod
    @spanhook.tool
    def of_class_too(cls, amount: int) -> Any:
        return cls.__name__, amount

    @spanhook.tool
    @staticmethod
    def of_nobody(amount: int) -> Any:
        return amount

    @staticmethod
    @spanhook.tool
    def of_nobody_too(amount: int) -> Any:
        return amount


class SubDesk(Desk):
    pass


def test_it_is_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(at_top)) is at_top
    assert pickle.loads(pickle.dumps(SubDesk().own))(1) == ("SubDesk", 1)
    assert pickle.loads(pickle.dumps(SubDesk.own))(SubDesk(), 1) == ("SubDesk", 1)
    assert pickle.loads(pickle.dumps(SubDesk.of_class))(1) == ("SubDesk", 1)


def halving() -> Hooks:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def halve(op: Operation) -> None:
        assert list(op.request.arguments) == ["amount"]
        op.replace(arguments={"amount": op.request.arguments["amount"] // 2})

    return hooks


def test_methods_are_tools_without_what_they_are_bound_to() -> None:
    desk = SubDesk()
    with recorder(halving()) as seen:
        assert desk.own(2) == ("SubDesk", 1)
        assert desk.own(amount=4) == ("SubDesk", 2)
        assert SubDesk.own(desk, 6) == ("SubDesk", 3)
        assert asyncio.run(desk.waits(8)) == ("SubDesk", 4)
        assert SubDesk.of_class(10) == ("SubDesk", 5)
        assert desk.of_class_too(12) == ("SubDesk", 6)
        assert SubDesk.of_nobody(14) == desk.of_nobody(14) == 7
        assert SubDesk.of_nobody_too(16) == desk.of_nobody_too(16) == 8
    assert len(seen.operations) == 10


def test_arguments_of_every_sort() -> None:
    hooks = Hooks()
    read: list[Any] = []
    wanted: list[Any] = [None]

    @hooks.before("tool.execute")
    def rewrite(op: Operation) -> None:
        read.append(op.request.arguments)
        if wanted[0] is not None:
            op.replace(arguments=wanted[0])

    @spanhook.tool
    def everything(first: int, /, second: int = 2, *others: int, third: int = 3, **named: int) -> Any:
        return first, second, others, third, named

    with recorder(hooks):
        assert everything(1) == (1, 2, (), 3, {})
        assert read.pop() == {"first": 1, "second": 2, "third": 3}
        assert everything(1, 5, 6, 7, third=8, fourth=4) == (1, 5, (6, 7), 8, {"fourth": 4})
        assert read.pop() == {"first": 1, "second": 5, "others": [6, 7], "third": 8, "fourth": 4}
        wanted[0] = {"first": 10, "second": 20, "others": [30], "fifth": 5}
        assert everything(1) == (10, 20, (30,), 3, {"fifth": 5})
        wanted[0] = {"first": 10}
        assert everything(1, third=9) == (10, 2, (), 3, {})


@pytest.mark.parametrize("call", [lambda pay: pay(1000, amount=1), lambda pay: pay(1, 1000, more=1)])
def test_arguments_that_hide_each_other_fail_the_hooks_that_read_them(call: Call) -> None:
    """A gate must not be shown the amount that is not paid."""
    hooks = Hooks()
    ran: list[Any] = []

    @hooks.before("tool.execute")
    def limit(op: Operation) -> None:
        assert op.request.arguments["amount"] < 10

    @spanhook.tool
    def pay(amount: int, /, *more: int, **named: int) -> None:
        ran.append((amount, more, named))

    with recorder(hooks), pytest.raises(Reject, match="hook 'limit' failed: ValueError"):
        call(pay)
    assert ran == []
    with recorder():
        call(pay)
    assert len(ran) == 1


class Shop:
    @property
    @spanhook.tool
    def stock(self) -> int:
        return 3

    @functools.cached_property
    @spanhook.tool
    def price(self) -> int:
        return 4

    @spanhook.tool
    def __call__(self, amount: int) -> int:
        return amount


def test_properties_and_objects_that_are_called() -> None:
    hooks = Hooks()
    read: list[Any] = []
    hooks.before("tool.execute", name="read")(lambda op: read.append((op.name, op.request.arguments)))
    shop = Shop()
    with recorder(hooks):
        assert (shop.stock, shop.price, shop(5)) == (3, 4, 5)
    assert read == [("stock", {}), ("price", {}), ("Shop", {"amount": 5})]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [({"query": "y", "limt": 1}, "no argument"), ({"limit": 1}, "missing")],
)
def test_wrong_arguments_fail_the_hook(made: Made, arguments: Any, what: str) -> None:
    hooks = Hooks()
    hooks.before("tool.execute", name="rewrite")(lambda op: op.replace(arguments=arguments))
    with recorder(hooks) as seen, pytest.raises(Reject, match="hook 'rewrite' failed: ValueError") as caught:
        made.look_up("x")
    assert what in str(caught.value.__cause__)
    assert made.ran == []
    assert seen.operations[0].status == "rejected"


def test_a_call_that_does_not_fit_raises_what_it_would_have(made: Made) -> None:
    wrong: Any = made.look_up
    with recorder() as seen, pytest.raises(TypeError, match="unexpected keyword argument 'limt'"):
        wrong("x", limt=1)
    assert seen.operations[0].status == "error"


def test_objects_partials_and_functions_of_c() -> None:
    class Ask:
        async def __call__(self, query: str) -> str:
            return f"asked {query}"

    async def ask(query: str) -> str:
        return query

    found: Any = spanhook.tool(Ask())
    with recorder() as seen:
        assert asyncio.run(found("x")) == "asked x"
        assert asyncio.run(spanhook.tool(functools.partial(ask, "y"))()) == "y"
        assert spanhook.tool(len)("abc") == 3
        assert spanhook.tool("shout")(str.upper)("a") == "A"
    assert [op.name for op in seen.operations] == ["Ask", "ask", "len", "shout"]


@pytest.mark.parametrize("given", [Desk, 3, None])
def test_what_is_no_function_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="decorate a function or method"):
        spanhook.operation("tool.execute")(given)


def test_an_awaitable_or_a_stream_that_a_plain_function_gives_is_followed() -> None:
    async def later() -> str:
        return "later"

    @spanhook.tool
    def gives() -> Any:
        return later()

    @spanhook.tool
    def streams() -> Any:
        return (letter for letter in "ab")

    @spanhook.operation("llm.call", "m")
    def model() -> Any:
        return iter("cd")

    with recorder() as seen:
        assert asyncio.run(gives()) == "later"
        letters = streams()
        assert (seen.operations[-1].name, next(letters)) == ("gives", "a")
        letters.close()
        assert "".join(model()) == "cd"
    assert [op.status for op in seen.operations] == ["success", "abandoned", "success"]


# ----------------------------------------------------------------------------------------------- agents, models


def test_an_agent_is_asked_for_its_argument() -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke", names={"researcher"})
    def rewrite(op: Operation) -> None:
        assert op.request.inputs == "why?"
        op.replace(inputs="why not?")

    @spanhook.agent("researcher")
    async def research(question: str) -> str:
        op = current_operation()
        assert op is not None
        return f"{op.agent}: {question}"

    with recorder(hooks) as seen:
        assert asyncio.run(research("why?")) == "researcher: why not?"
    assert seen.spans[0].name == "invoke_agent researcher"


def test_an_agent_with_several_arguments_is_asked_for_them_by_name() -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke")
    def rewrite(op: Operation) -> None:
        op.replace(inputs={**op.request.inputs, "depth": 2})

    @spanhook.agent
    def research(question: str, depth: int = 1) -> Any:
        return question, depth

    with recorder(hooks):
        assert research("why?") == ("why?", 2)


def test_a_models_messages_are_rewritten_in_the_form_they_came_in() -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        assert op.request.system == "Be brief."
        messages = op.request.messages
        assert messages[1]["parts"] == [{"type": "text", "content": "my key is 123"}]
        messages[1]["parts"][0]["content"] = "my key is ***"
        op.replace(messages=messages, system="Be kind.")

    @spanhook.operation("llm.call", "gpt-4o-mini", provider="openai")
    def complete(messages: list[Any], system: str = "") -> Any:
        spanhook.record_usage(input_tokens=100, output_tokens=10)
        return messages, system

    first = {"role": "assistant", "content": "hello", "extra": 1}
    with recorder(hooks) as seen:
        messages, system = complete([first, {"role": "user", "content": "my key is 123"}], "Be brief.")
    assert messages == [first, {"role": "user", "content": "my key is ***"}]
    assert messages[0] is first
    assert system == "Be kind."
    [op] = seen.operations
    assert (op.usage.total_tokens, op.usage.cost_usd, op.usage.llm_calls) == (110, pytest.approx(21e-6), 1)
    assert dict(seen.spans[0].attributes or {})["gen_ai.usage.input_tokens"] == 100


def test_messages_that_can_be_read_only_once_are_left_for_the_function() -> None:
    hooks = Hooks()

    @hooks.before("llm.call", names={"gated"})
    def look(op: Operation) -> None:
        assert op.request.messages

    def answer(messages: Any) -> list[str]:
        return list(messages)

    with recorder(hooks):
        assert spanhook.operation("llm.call", "free")(answer)(iter(["hi"])) == ["hi"]
        with pytest.raises(Reject, match="hook 'look' failed: TypeError") as caught:
            spanhook.operation("llm.call", "gated")(answer)(iter(["hi"]))
    assert "make it a list" in str(caught.value.__cause__)


def test_usage_is_added_up_around_it() -> None:
    @spanhook.operation("llm.call", "gpt-4o-mini", provider="openai")
    def complete() -> None:
        spanhook.record_usage(input_tokens=10, output_tokens=1)
        spanhook.record_usage(input_tokens=10, output_tokens=1, cost_usd=0.5)

    @spanhook.agent
    def research() -> None:
        complete()
        complete()
        at_top("x")

    with recorder() as seen:
        research()
        tokens = sum(value for _, value in seen.metrics()["spanhook.usage.tokens"])
    used = seen.operations[-1].usage
    assert (used.total_tokens, used.llm_calls, used.tool_calls, tokens) == (44, 2, 1, 44)
    assert used.cost_usd == pytest.approx(1 + 2 * (10 * 15e-8 + 6e-7))


def test_usage_belongs_to_a_models_call() -> None:
    @spanhook.agent
    def research() -> None:
        spanhook.record_usage(input_tokens=1)

    with recorder(), pytest.raises(OperationError, match="report tokens on"):
        research()
    with pytest.raises(OperationError, match="outside any operation"):
        spanhook.record_usage(input_tokens=1)


def test_names_and_models_are_both_filtered_by() -> None:
    hooks = Hooks()
    found: list[str] = []
    hooks.before("llm.call", names={"summarizer"})(lambda op: found.append("name"))
    hooks.before("llm.call", models={"gpt-4o"})(lambda op: found.append("model"))
    hooks.before("llm.call", names={"other"})(lambda op: found.append("other"))

    @spanhook.operation("llm.call", "summarizer", model="gpt-4o")
    def summarize(text: str) -> str:
        return text

    with recorder(hooks) as seen:
        summarize("x")
    assert (found, seen.spans[0].name) == (["name", "model"], "chat gpt-4o")


# ----------------------------------------------------------------------------------------------- runs, nesting


def test_a_run_that_is_refused_ends_with_the_plain_rejection() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("the budget is spent", scope="run")

    reached: list[str] = []

    @spanhook.agent
    def research() -> str:
        try:
            at_top("x")
        except Exception:
            reached.append("swallowed")
        return "done"

    with recorder(hooks) as seen, pytest.raises(Reject, match="the budget is spent") as caught:
        research()
    assert type(caught.value) is Reject
    assert reached == []
    assert [(op.kind, op.status) for op in seen.operations] == [
        ("tool.execute", "rejected"),
        ("agent.invoke", "rejected"),
    ]


def test_a_frameworks_tool_over_one_is_one_operation() -> None:
    both: Any = langchain_tool(at_top, description="Give back.")
    hooks = Hooks()
    asked: list[str] = []
    hooks.before("tool.execute")(lambda op: asked.append(op.name))
    with recorder(hooks) as seen:
        assert both.invoke({"query": "x"}) == "x"
    assert asked == ["at_top"]
    assert len(seen.operations) == len(seen.spans) == 1


def test_tools_inside_of_tools_are_operations_of_their_own() -> None:
    @spanhook.tool
    def outer(query: str) -> str:
        return at_top(query)

    with recorder() as seen:
        assert outer("x") == "x"
    assert [op.name for op in seen.operations] == ["at_top", "outer"]
    assert [(one["name"], [child["name"] for child in one["children"]]) for one in seen.tree()] == [
        ("execute_tool outer", ["execute_tool at_top"])
    ]


def test_tasks_and_threads(made: Made) -> None:
    @spanhook.agent
    async def research() -> list[str]:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(at_top, "t"))
        thread.start()
        thread.join()
        return list(await asyncio.gather(made.alook_up("a"), made.alook_up("b")))

    with recorder() as seen:
        assert asyncio.run(research()) == ["found a", "found b"]
    assert [op.parent.name if op.parent else "" for op in seen.operations] == ["research", "research", "research", ""]


def test_a_cancelled_one() -> None:
    hooks = Hooks()
    told: list[str] = []

    @hooks.on_error("tool.execute")
    async def note(op: Operation) -> None:
        await asyncio.sleep(0)
        told.append(op.status)

    @spanhook.tool
    async def hang() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(hang())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(hooks) as seen:
        asyncio.run(main())
    assert (told, [op.status for op in seen.operations]) == (["cancelled"], ["cancelled"])


def test_streams_that_nobody_finishes(made: Made) -> None:
    with recorder() as seen:
        letters: Any = made.letters("x")
        assert next(letters) == "f"
        del letters
        assert [span.name for span in seen.spans] == ["execute_tool look_up"]
    assert seen.operations[0].status == "abandoned"


def test_a_generator_is_sent_to() -> None:
    @spanhook.tool
    def echo() -> Any:
        said = yield "ready"
        while said != "stop":
            said = yield said
        return "bye"

    with recorder() as seen:
        talk = echo()
        assert (next(talk), talk.send("a")) == ("ready", "a")
        with pytest.raises(StopIteration) as stop:
            talk.send("stop")
    assert (stop.value.value, seen.operations[0].status) == ("bye", "success")


def test_what_is_wrapped_is_the_function_without_gates() -> None:
    """As docs/guarantees.md says: signatures and schemas are read from it."""
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    @spanhook.tool
    def add(a: int, b: int = 1) -> int:
        return a + b

    bare: Any = inspect.unwrap(add)
    with recorder(hooks):
        with pytest.raises(Reject):
            add(1)
        assert bare(1) == 2
    assert inspect.signature(add) == inspect.signature(bare)
