"""The application sees no difference: the same results, types and errors with spanhook as without."""

import asyncio
import dataclasses
import functools
import importlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import StructuredTool, ToolException
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

import spanhook
from spanhook import Hooks, Operation
from spanhook.cli.conformance.checks.comparing import outcome
from spanhook.cli.conformance.libraries.langchain import WAYS, Calls, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.libraries.langgraph import State
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.diagnostics import internal
from spanhook.instrument import INSTRUMENTORS, instrumentor_of
from spanhook.model import Point
from spanhook.testing import recorder
from tests.conformance.everything import CASES, HERE, OF_LANGCHAIN, named
from tests.conformance.points import module_of
from tests.extractors import extractors, with_extractor
from tests.thinning import a_fifth


def watching() -> Hooks:
    """Hooks of every form that look at everything and change nothing."""
    hooks = Hooks()

    @hooks.before("*")
    def before(op: Operation) -> None:
        assert op.request is not None
        assert op.identity.run_id

    @hooks.around("*", timeout=60.0)
    async def around(op: Operation, call_next: Any) -> Any:
        return await call_next()

    @hooks.after("*")
    def after(op: Operation) -> None:
        assert op.response is not None
        assert op.usage is not None
        assert op.extras is not None

    return hooks


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=named)
def test_results(case: tuple[Subject, str]) -> None:
    """Without hooks. The grid has it too, but with the oldest versions CI runs the grid for few libraries."""
    subject, way = case
    expected = outcome(lambda: subject.ways[way](subject.make(Body())))
    with recorder():
        assert outcome(lambda: subject.ways[way](subject.make(Body()))) == expected


@pytest.mark.parametrize("way", WAYS)
def test_agents(way: str) -> None:
    expected = outcome(lambda: consume(agent(Calls()), way))
    with recorder(watching()):
        found = outcome(lambda: consume(agent(Calls()), way))
    if way in ("stream messages", "events", "v3", "av3"):  # which tell ids and times of their own everywhere
        assert type(found) is type(expected)
        assert len(found) == len(expected)
    else:
        assert found == expected


class Broken(ScriptedChat):
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        try:
            raise OSError("socket")
        except OSError as error:
            raise ConnectionError("provider is down", 7) from error

    _stream = BaseChatModel._stream


class Serious(BaseException):
    pass


def _failing_tool(error: BaseException, **options: Any) -> StructuredTool:
    def fail(query: str) -> str:
        """Fail."""
        raise error

    return StructuredTool.from_function(fail, **options)


FAILING: dict[str, Callable[[], Any]] = {
    "chat": lambda: Broken(body=Body()).invoke("hi"),
    "achat": lambda: Broken(body=Body()).ainvoke("hi"),
    "chat stream": lambda: list(Broken(body=Body()).stream("hi")),
    "chat batch": lambda: Broken(body=Body()).batch(["a", "b"]),
    "chat batch kept": lambda: [type(one) for one in Broken(body=Body()).batch(["a"], return_exceptions=True)],
    "tool": lambda: _failing_tool(KeyError("x")).invoke({"query": "x"}),
    "atool": lambda: _failing_tool(KeyError("x")).ainvoke({"query": "x"}),
    "tool exception": lambda: _failing_tool(ToolException("x")).invoke({"query": "x"}),
    "tool exception handled": lambda: _failing_tool(ToolException("x"), handle_tool_error=True).invoke({"query": "x"}),
    "tool stop": lambda: _failing_tool(StopAsyncIteration("x")).invoke({"query": "x"}),
    "tool serious": lambda: _failing_tool(Serious("x")).invoke({"query": "x"}),
    "tool arguments": lambda: _failing_tool(KeyError("x")).invoke({"wrong": "x"}),
    "tool nothing": lambda: HERE[3].make(Body()).run(),
    "chat wrong": lambda: ScriptedChat(body=Body()).invoke(42),  # pyright: ignore[reportArgumentType]
    "graph wrong": lambda: HERE[-1].make(Body()).invoke(42),
    "graph recursion": lambda: HERE[-1].make(Body()).invoke({"value": "x"}, {"recursion_limit": 0}),
}


#: Calls whose arguments are wrong; a hook that reads them fails, and fails closed.
MALFORMED = {"tool nothing", "chat wrong", "graph wrong"}


@pytest.mark.every_value
@pytest.mark.parametrize("name", FAILING)
def test_errors(name: str) -> None:
    expected = outcome(FAILING[name])
    for hooks in (None,) if name in MALFORMED else (None, watching()):
        with recorder(hooks):
            internal.fatal = False  # calls with wrong arguments cannot be described
            assert outcome(FAILING[name]) == expected
            internal.renew()


def _interrupting() -> Any:
    def ask(state: State) -> State:
        return {"value": interrupt("sure?")}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=InMemorySaver(), name="asking")


@pytest.mark.parametrize("is_async", [False, True])
def test_interrupts_and_resume(is_async: bool) -> None:
    config: Any = {"configurable": {"thread_id": "t1", "user_id": "ann"}, "metadata": {"plan": "pro"}}

    def run() -> tuple[Any, Any]:
        graph = _interrupting()
        if is_async:

            async def both() -> tuple[Any, Any]:
                return await graph.ainvoke({"value": "x"}, config), await graph.ainvoke(Command(resume="yes"), config)

            return asyncio.run(both())
        return graph.invoke({"value": "x"}, config), graph.invoke(Command(resume="yes"), config)

    expected = run()
    with recorder(watching()) as seen:
        first, second = run()
    assert [one.value for one in first["__interrupt__"]] == ["sure?"]
    assert first.keys() == expected[0].keys()
    assert second == expected[1] == {"value": "yes"}
    assert [
        (op.status, op.identity.session_id, op.identity.user_id) for op in seen.operations if op.parent is None
    ] == [
        ("interrupted", "t1", "ann"),
        ("success", "t1", "ann"),
    ]
    assert [span.status.status_code.name for span in seen.spans] == ["UNSET"] * len(seen.spans)
    assert [op.result for op in seen.operations if op.parent is None][1] == {"value": "yes"}


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
def test_breakpoints(where: str) -> None:
    def make() -> Any:
        builder = StateGraph(State)
        builder.add_node("one", lambda state: {"value": "one"})
        builder.add_node("two", lambda state: {"value": "two"})
        builder.add_edge(START, "one")
        builder.add_edge("one", "two")
        at: Any = {"interrupt_before": ["two"], "interrupt_after": ["one"]}[where]
        return builder.compile(checkpointer=InMemorySaver(), **{where: at})

    config: Any = {"configurable": {"thread_id": "t1"}}
    with recorder() as seen:
        graph = make()
        assert graph.invoke({"value": "x"}, config) == {"value": "one"}
        assert graph.invoke(None, config) == {"value": "two"}
    assert [op.status for op in seen.operations] == ["interrupted", "success"]


def test_the_memory_store() -> None:
    def work() -> tuple[Any, ...]:
        store = InMemoryStore()
        store.put(("users", "ann"), "likes", {"what": "tea"})

        async def more() -> None:
            await store.aput(("users", "ann"), "hates", {"what": "noise"})
            await store.adelete(("users", "ann"), "hates")

        asyncio.run(more())
        found = store.search(("users", "ann"))
        return store.get(("users", "ann"), "likes").value, [(item.key, item.value) for item in found]  # pyright: ignore[reportOptionalMemberAccess]

    expected = work()
    with recorder(watching()) as seen:
        assert work() == expected
    assert [(op.kind, op.name) for op in seen.operations] == [("memory.store", "users/ann")] * 3


# ------------------------------------------------------------------------------------------------ fault injection


def _adapters() -> Iterator[tuple[str, str]]:
    """Every adapter of the LangChain and LangGraph tables, by where it is."""
    for name in ("langchain_core", "langgraph"):
        assert name in INSTRUMENTORS
        for entry in instrumentor_of(name).table:
            if isinstance(entry, Point):
                module, _, attribute = entry.adapter.partition(":")
                yield module, attribute
    yield "spanhook.instrument.langgraph.handoffs", "DELEGATE"


ADAPTERS = [pytest.param(*adapter, id=adapter[1]) for adapter in dict.fromkeys(_adapters())]
_EVENTS = "spanhook.instrument.langchain_core.events"
#: Modules and adapters that no way of calling these subjects uses; LangChain 1.0 has no third version of events.
ELSEWHERE = {
    "spanhook.instrument.langchain_core.invoked",
    "spanhook.instrument.langgraph.store:SEARCH",
    *([] if hasattr(BaseChatModel, "stream_events") else [_EVENTS]),
}
Part = tuple[str, str, str]
"""The module and the name of an adapter, and the name of one of its functions."""


def _parts(module: str, attribute: str) -> list[Part]:
    adapter = getattr(importlib.import_module(module), attribute)
    return [(module, attribute, name) for name in extractors(adapter)]


def _raise(*_args: Any, **_kwargs: Any) -> Any:
    raise ZeroDivisionError("injected")


@functools.cache
def _uses(kind: str) -> list[Callable[[], Any]]:
    """Every way of calling LangChain's and LangGraph's subjects of a kind, and agents."""
    cases = [(one, way) for one in OF_LANGCHAIN if one.kind == kind for way in one.ways.values()]
    ways = [lambda one=one, way=way: way(one.make(Body())) for one, way in cases]
    return [*ways, *(lambda way=way: consume(agent(Calls()), way) for way in ("invoke", "ainvoke"))]


@functools.cache
def _expected(kind: str) -> list[Any]:
    """What comes of them without spanhook."""
    return [outcome(use) for use in _uses(kind)]


@contextmanager
def _replaced(parts: dict[Part, Callable[..., Any]]) -> Generator[None]:
    """Adapters have other functions, and content is captured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_AND_EVENT")
        for (module, attribute, name), function in parts.items():
            loaded = importlib.import_module(module)
            patch.setattr(loaded, attribute, with_extractor(getattr(loaded, attribute), name, function))
        hooks = Hooks()
        hooks.after("*", priority=500)(lambda op: None)
        with recorder(hooks, settings=spanhook.Settings(steps=True)):
            yield


@functools.cache
def _called(kind: str) -> dict[Part, list[int]]:
    """In which of its uses, by number, each function of a kind's adapters is called."""
    now: set[Part] = set()

    def noting(part: Part) -> Callable[..., Any]:
        function = extractors(getattr(importlib.import_module(part[0]), part[1]))[part[2]]

        def noted(*args: Any, **kwargs: Any) -> Any:
            now.add(part)
            return function(*args, **kwargs)

        return noted

    found: dict[Part, list[int]] = {}
    adapters = [
        one for one in dict.fromkeys(_adapters()) if getattr(importlib.import_module(one[0]), one[1]).kind == kind
    ]
    with _replaced({part: noting(part) for adapter in adapters for part in _parts(*adapter)}):
        for number, use in enumerate(_uses(kind)):
            now.clear()
            outcome(use)
            for part in now:
                found.setdefault(part, []).append(number)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("module", "attribute"), ADAPTERS)
def test_every_extractor_may_raise(module: str, attribute: str) -> None:
    kind = getattr(importlib.import_module(module), attribute).kind
    called = {part: _called(kind)[part] for part in _parts(module, attribute) if part in _called(kind)}
    assert bool(called) is not bool({module, f"{module}:{attribute}"} & ELSEWHERE)
    for part, uses in called.items():
        with _replaced({part: _raise}):
            internal.fatal = False
            assert [outcome(_uses(kind)[use]) for use in uses] == [_expected(kind)[use] for use in uses], part
            internal.renew()


@pytest.mark.parametrize(("module", "attribute"), a_fifth(ADAPTERS))
def test_what_cannot_be_described_is_gated_all_the_same(
    module: str, attribute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = importlib.import_module(module)
    monkeypatch.setattr(loaded, attribute, dataclasses.replace(getattr(loaded, attribute), start=_raise))
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise spanhook.Reject("no")

    with recorder(hooks):
        internal.fatal = False
        for subject, way in CASES:
            if subject.kind != getattr(loaded, attribute).kind:
                continue
            body = Body()
            with pytest.raises(spanhook.Reject) if subject.raises else suppress(spanhook.Reject):
                settle(subject.ways[way](subject.make(body)))
            assert body.runs == 0
        internal.renew()


def test_a_tracer_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    from spanhook.telemetry import telemetry

    with recorder() as seen:
        internal.fatal = False
        monkeypatch.setattr(telemetry.opener, "open", _raise)
        assert ScriptedChat(body=Body()).invoke("hi").content == "hello there friend"
        assert internal.counts == internal.lost == {"span.start": 1}
        internal.renew()
    assert seen.operations[0].status == "success"


def test_internal_errors_are_logged_once_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chat = importlib.import_module("spanhook.instrument.langchain_core.chat")
    monkeypatch.setattr(
        chat,
        "GENERATE",
        dataclasses.replace(chat.GENERATE, reading=dataclasses.replace(chat.GENERATE.reading, response=_raise)),
    )
    with recorder() as seen:
        internal.fatal = False
        for _ in range(3):
            ScriptedChat(body=Body()).invoke("hi")
        found = seen.metrics()
        internal.renew()
    assert found["spanhook.internal.errors"] == [({"spanhook.component": "extract.response"}, 3)]
    assert found["spanhook.telemetry.dropped"] == [({"spanhook.component": "extract.response"}, 3)]
    assert caplog.text.count("internal error in extract.response") <= 1


# ------------------------------------------------------------------------------------------------ taking it off


@pytest.mark.usefixtures("unbound")
def test_after_uninstrument_everything_is_the_object_it_was() -> None:
    def wrapped() -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in INSTRUMENTORS:
            one = instrumentor_of(name)
            if not one.version:
                continue
            one.load()
            for entry in one.table:
                owner = module_of(entry)
                *path, attribute = entry.name.split(".")
                for part in path:
                    owner = getattr(owner, part, None)
                if attribute in getattr(owner, "__dict__", ()):
                    found[str(entry)] = vars(owner)[attribute]
                    code = getattr(vars(owner)[attribute], "__code__", None)
                    found[f"{entry} code"] = code
                if isinstance(owner, type):
                    found[f"{owner} init"] = vars(owner).get("__init_subclass__")
        return found

    before = wrapped()
    for _ in range(2):
        spanhook.instrument(watching())
        during = wrapped()
        changed = [name for name in before if not name.endswith(" init") and during[name] is not before[name]]
        assert changed
        spanhook.uninstrument()
        after = wrapped()
        assert all(after[name] is before[name] for name in before)
        assert after.keys() == before.keys()


def test_where_somebody_wrapped_ours_a_pass_through_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    import functools

    hooks = Hooks()
    ran: list[str] = []
    hooks.before("llm.call")(lambda op: ran.append(op.kind))
    original = vars(BaseChatModel)["generate"]
    spanhook.instrument(hooks)
    ours = BaseChatModel.generate

    @functools.wraps(ours)
    def theirs(self: Any, *args: Any, **kwargs: Any) -> Any:
        return ours(self, *args, **kwargs)

    monkeypatch.setattr(BaseChatModel, "generate", theirs)
    model = ScriptedChat(body=Body())
    model.invoke("hi")
    assert ran == ["llm.call"]
    spanhook.uninstrument()
    assert BaseChatModel.generate is theirs
    assert model.invoke("hi").content == "hello there friend"
    assert ran == ["llm.call"]
    spanhook.instrument(hooks)
    model.invoke("hi")
    assert ran == ["llm.call"] * 2
    spanhook.uninstrument()
    monkeypatch.undo()
    BaseChatModel.generate = original  # pyright: ignore[reportAttributeAccessIssue]
