"""Streams, in every way they can come to an end: one operation each, the right status, no trace left in the context."""

import asyncio
import copy
import gc
import inspect
import itertools
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypedDict

import anyio
import pytest
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.graph import END, START, StateGraph
from opentelemetry import context as otel_context
from opentelemetry import trace

from spanhook import Hooks, Operation, Reject, current_operation
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat, ScriptedText
from spanhook.cli.conformance.libraries.langgraph import make_graph
from spanhook.cli.conformance.subject import Body
from spanhook.concurrency import reaper
from spanhook.testing import Recorder, recorder
from tests.conformance.tracing import parent_id, span_id


class State(TypedDict, total=False):
    value: str


def long_graph(_body: Body) -> Any:
    """A graph of four nodes, for streams with more than one item."""
    builder = StateGraph(State)
    names = ["one", "two", "three", "four"]
    for name in names:
        builder.add_node(name, lambda state, name=name: {"value": name})
    builder.add_edge(START, "one")
    for before, after in itertools.pairwise(names):
        builder.add_edge(before, after)
    return builder.compile(name="long")


Open = Callable[[Any], Any]
STREAMS: dict[str, tuple[Callable[[Body], Any], Any]] = {
    "chat": (lambda body: ScriptedChat(body=body), "hi"),
    "text": (lambda body: ScriptedText(body=body), "hi"),
    "graph": (long_graph, {"value": "x"}),
}
ALL = list(STREAMS)


@pytest.fixture(params=[False, True], ids=["no hooks", "hooks"])
def hooks(request: pytest.FixtureRequest) -> Hooks:
    """Hooks of every form around the stream, or none."""
    made = Hooks()
    if not request.param:
        return made

    @made.before("*")
    def before(op: Operation) -> None:
        op.state["before"] = True

    @made.around("*")
    def around(op: Operation) -> Iterator[None]:
        try:
            yield
        finally:
            op.state["around"] = True

    @made.around("*", timeout=60.0)
    async def wrapping(op: Operation, call_next: Callable[[], Any]) -> None:
        try:
            await call_next()
        finally:
            op.state["wrapping"] = True

    @made.after("*", timeout=60.0)
    async def after(op: Operation) -> None:
        op.state["after"] = op.status

    @made.on_error("*", timeout=60.0)
    async def on_error(op: Operation) -> None:
        op.state["error"] = op.status

    return made


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing is logged, whatever becomes of a stream. What asyncio logs may be about an earlier test's garbage."""
    with caplog.at_level(logging.WARNING):
        yield
    ours = [one for one in caplog.get_records("call") if one.name.startswith(("spanhook", "opentelemetry"))]
    assert [one.getMessage() for one in ours] == []


def expect_one(seen: Recorder, status: str, hooks: Hooks, kind_of: str) -> Operation:
    reaper.drain()
    kind = "agent.invoke" if kind_of == "graph" else "llm.call"
    mine = [op for op in seen.operations if op.kind == kind]
    assert [op.status for op in mine] == [status]
    assert len([span for span in seen.spans if (span.attributes or {}).get("spanhook.kind") == kind]) == 1
    if len(hooks):
        failed = status in ("error", "rejected", "cancelled")
        expected = {"before": True, "around": True, "wrapping": True, "error" if failed else "after": status}
        assert {
            key: value
            for key, value in mine[0].state.items()
            if key in ("before", "around", "wrapping", "after", "error")
        } == expected
    return mine[0]


class Watched:
    """Checks that each step leaves the OpenTelemetry context as it found it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __iter__(self) -> Iterator[Any]:
        while True:
            before, held = otel_context.get_current(), current_operation()
            try:
                chunk = next(self.stream)
            except StopIteration:
                return
            finally:
                assert otel_context.get_current() is before
                assert current_operation() is held
            yield chunk

    async def __aiter__(self) -> AsyncIterator[Any]:
        while True:
            before, held = otel_context.get_current(), current_operation()
            try:
                chunk = await anext(self.stream)
            except StopAsyncIteration:
                return
            finally:
                assert otel_context.get_current() is before
                assert current_operation() is held
            yield chunk


@pytest.mark.parametrize("sort", ALL)
def test_read_to_the_end(sort: str, hooks: Hooks) -> None:
    make, given = STREAMS[sort]
    with recorder(hooks) as seen:
        assert len(list(Watched(make(Body()).stream(given)))) >= 3
        expect_one(seen, "success", hooks, sort)


@pytest.mark.parametrize("sort", ALL)
def test_read_to_the_end_async(sort: str, hooks: Hooks) -> None:
    make, given = STREAMS[sort]

    async def main() -> int:
        return len([chunk async for chunk in Watched(make(Body()).astream(given))])

    with recorder(hooks) as seen:
        assert asyncio.run(main()) >= 3
        expect_one(seen, "success", hooks, sort)


@pytest.mark.parametrize("sort", ALL)
def test_closed_early(sort: str, hooks: Hooks) -> None:
    make, given = STREAMS[sort]
    with recorder(hooks) as seen:
        stream = make(Body()).stream(given)
        next(stream)
        before = otel_context.get_current()
        stream.close()
        assert otel_context.get_current() is before
        with pytest.raises(StopIteration):
            next(stream)
        stream.close()
        expect_one(seen, "abandoned", hooks, sort)


@pytest.mark.parametrize("sort", ALL)
def test_closed_early_async(sort: str, hooks: Hooks) -> None:
    make, given = STREAMS[sort]

    async def main() -> None:
        stream = make(Body()).astream(given)
        await anext(stream)
        await stream.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        await stream.aclose()

    with recorder(hooks) as seen:
        asyncio.run(main())
        expect_one(seen, "abandoned", hooks, sort)


@pytest.mark.parametrize("sort", ALL)
def test_dropped_early(sort: str, hooks: Hooks) -> None:
    make, given = STREAMS[sort]
    with recorder(hooks) as seen:
        for _ in make(Body()).stream(given):
            break
        gc.collect()
        expect_one(seen, "abandoned", hooks, sort)


@pytest.mark.parametrize("sort", ALL)
@pytest.mark.parametrize("loop", ["running", "gone"])
def test_dropped_early_async(sort: str, loop: str, hooks: Hooks) -> None:
    make, given = STREAMS[sort]
    kept: list[Any] = []

    async def main() -> None:
        stream = make(Body()).astream(given)
        await anext(stream)
        if loop == "gone":
            kept.append(stream)
            return
        del stream
        gc.collect()
        await asyncio.get_running_loop().run_in_executor(None, reaper.drain)

    with recorder(hooks) as seen:
        asyncio.run(main())
        kept.clear()
        gc.collect()
        expect_one(seen, "abandoned", hooks, sort)


@pytest.mark.parametrize("sort", ALL)
@pytest.mark.parametrize("is_async", [False, True])
def test_dropped_in_a_reference_cycle(sort: str, is_async: bool, hooks: Hooks) -> None:
    make, given = STREAMS[sort]

    class Holder:
        stream: Any

    def hold() -> Holder:
        holder = Holder()
        holder.stream = make(Body()).astream(given) if is_async else make(Body()).stream(given)
        holder.itself = holder  # pyright: ignore[reportAttributeAccessIssue]
        return holder

    async def main() -> None:
        await anext(hold().stream)
        gc.collect()
        await asyncio.get_running_loop().run_in_executor(None, reaper.drain)

    with recorder(hooks) as seen:
        if is_async:
            asyncio.run(main())
        else:
            next(hold().stream)
            gc.collect()
        expect_one(seen, "abandoned", hooks, sort)


@pytest.mark.parametrize("sort", ALL)
def test_closed_from_another_task(sort: str, hooks: Hooks) -> None:
    make, given = STREAMS[sort]

    async def main() -> None:
        stream = make(Body()).astream(given)
        await anext(stream)
        await asyncio.create_task(stream.aclose())

    with recorder(hooks) as seen:
        asyncio.run(main())
        expect_one(seen, "abandoned", hooks, sort)


@pytest.mark.parametrize("sort", ["chat", "text"])
def test_closed_from_another_thread(sort: str, hooks: Hooks) -> None:
    make, given = STREAMS[sort]
    with recorder(hooks) as seen:
        stream = make(Body()).stream(given)
        next(stream)
        thread = threading.Thread(target=stream.close)
        thread.start()
        thread.join()
        expect_one(seen, "abandoned", hooks, sort)


@pytest.mark.parametrize("sort", ALL)
def test_never_started(sort: str, hooks: Hooks) -> None:
    make, given = STREAMS[sort]

    async def main() -> None:
        await make(Body()).astream(given).aclose()

    with recorder(hooks) as seen:
        make(Body()).stream(given).close()
        make(Body()).stream(given)  # and dropped
        asyncio.run(main())
        gc.collect()
        assert seen.operations == []
        assert seen.spans == []


class Breaking(ScriptedChat):
    """A chat model whose stream breaks after two chunks."""

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for number, chunk in enumerate(super()._stream(messages)):
            if number == 2:
                raise ConnectionError("cut in the middle")
            yield chunk


@pytest.mark.parametrize("is_async", [False, True])
def test_failing_in_the_middle(is_async: bool, hooks: Hooks) -> None:
    model = Breaking(body=Body())

    async def main() -> list[Any]:
        return [chunk async for chunk in Watched(model.astream("hi"))]

    with recorder(hooks) as seen:
        with pytest.raises(ConnectionError, match="cut in the middle"):
            asyncio.run(main()) if is_async else list(Watched(model.stream("hi")))
        op = expect_one(seen, "error", hooks, "chat")
        assert seen.spans[0].status.status_code.name == "ERROR"
        assert (seen.spans[0].attributes or {})["error.type"] == "ConnectionError"
        assert isinstance(op.error, ConnectionError)


class Hanging(ScriptedChat):
    """A chat model whose stream never gives a second chunk."""

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        yield next(super()._stream(messages))
        await asyncio.Event().wait()


def hanging(sort: str) -> Any:
    """A stream that gives one item, or some, and then nothing more."""
    if sort == "chat":
        return Hanging(body=Body()).astream("hi")

    async def hang(state: State) -> State:
        await asyncio.Event().wait()
        return {}

    builder = StateGraph(State)
    builder.add_node("one", lambda state: {"value": "one"})
    builder.add_node("two", hang)
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    return builder.compile(name="hanging").astream({"value": "x"})


@pytest.mark.parametrize("sort", ["chat", "graph"])
@pytest.mark.parametrize("how", ["task group", "deadline"])
def test_cancelled_by_anyio(sort: str, how: str, hooks: Hooks) -> None:
    started = asyncio.Event()

    async def read() -> None:
        async for _ in hanging(sort):
            started.set()

    async def main() -> None:
        if how == "deadline":
            with anyio.CancelScope() as scope:
                async for _ in hanging(sort):
                    scope.deadline = anyio.current_time()  # which the next wait comes to
            assert scope.cancelled_caught
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                await started.wait()
                tasks.cancel_scope.cancel()
        while not seen.operations:  # noqa: ASYNC110 - cancelled again, the error hooks finish by themselves
            await asyncio.sleep(0)

    with recorder(hooks) as seen:
        asyncio.run(main())
        expect_one(seen, "cancelled", hooks, sort)


@pytest.mark.parametrize("sort", ["chat", "graph"])
def test_cancelled(sort: str, hooks: Hooks) -> None:
    started = asyncio.Event()

    async def read() -> None:
        async for _ in hanging(sort):
            started.set()

    async def main() -> None:
        task = asyncio.create_task(read())
        await started.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    with recorder(hooks) as seen:
        asyncio.run(main())
        expect_one(seen, "cancelled", hooks, sort)
        assert {span.status.status_code.name for span in seen.spans} == {"UNSET"}


@pytest.mark.parametrize("is_async", [False, True])
def test_an_error_thrown_in_by_the_consumer(is_async: bool, hooks: Hooks) -> None:
    model = ScriptedChat(body=Body())

    async def main() -> None:
        stream: Any = model.astream("hi")
        await anext(stream)
        await stream.athrow(KeyError("mine"))

    def sync() -> None:
        stream: Any = model.stream("hi")
        next(stream)
        stream.throw(KeyError("mine"))

    with recorder(hooks) as seen:
        with pytest.raises(KeyError, match="mine"):
            asyncio.run(main()) if is_async else sync()
        expect_one(seen, "error", hooks, "chat")


def test_spans_that_the_consumer_opens_between_two_items_have_their_own_parents(hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        tracer = seen.tracer_provider.get_tracer("application")
        with tracer.start_as_current_span("application"):
            for _ in ScriptedChat(body=Body()).stream("hi"):
                with tracer.start_as_current_span("between"):
                    pass
        spans = {span.name: span for span in seen.spans}
        outer = span_id(spans["application"])
        between = [span.parent.span_id for span in seen.spans if span.name == "between" and span.parent]
        assert len(between) >= 4
        assert set(between) == {outer}
        assert spans["chat gpt-4o-mini"].parent is not None
        assert spans["chat gpt-4o-mini"].parent.span_id == outer


def test_a_span_held_across_items_keeps_its_place(hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        tracer = seen.tracer_provider.get_tracer("application")
        stream: Any = ScriptedChat(body=Body()).stream("hi")
        next(stream)
        with tracer.start_as_current_span("held") as held:
            next(stream)
            assert trace.get_current_span() is held
            list(stream)
            assert trace.get_current_span() is held
        assert trace.get_current_span() is trace.INVALID_SPAN
        spans = {span.name: span for span in seen.spans}
        assert spans["held"].parent is None
        assert spans["chat gpt-4o-mini"].parent is None


class Spanning(ScriptedChat):
    """A chat model that opens a span of its own in its stream and holds it over two items."""

    tracer: Any

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        chunks = super()._stream(messages)
        yield next(chunks)
        with self.tracer.start_as_current_span("inside"):
            yield next(chunks)
            with self.tracer.start_as_current_span("deeper"):
                pass
            yield next(chunks)
        yield from chunks


def test_spans_inside_a_stream_are_children_of_its_operation(hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        tracer = seen.tracer_provider.get_tracer("application")
        for _ in Watched(Spanning(body=Body(), tracer=tracer).stream("hi")):
            with tracer.start_as_current_span("between"):
                pass
        spans = {span.name: span for span in seen.spans}
        operation = span_id(spans["chat gpt-4o-mini"])
        assert spans["inside"].parent is not None
        assert spans["inside"].parent.span_id == operation
        assert spans["deeper"].parent is not None
        assert parent_id(spans["deeper"]) == span_id(spans["inside"])
        assert {span.parent for span in seen.spans if span.name == "between"} == {None}


def test_a_span_opened_in_a_tool_is_a_child_of_the_tools_span() -> None:
    from langchain_core.tools import tool

    with recorder() as seen:
        tracer = seen.tracer_provider.get_tracer("application")

        @tool
        def look(query: str) -> str:
            """Look."""
            with tracer.start_as_current_span("mine"):
                return query

        look.invoke({"query": "x"})
        asyncio.run(look.ainvoke({"query": "x"}))
        by_id = {span_id(span): span.name for span in seen.spans}
        mine = [by_id[span.parent.span_id] for span in seen.spans if span.name == "mine" and span.parent]
        assert mine == ["execute_tool look"] * 2


def test_what_is_handed_back_behaves_as_the_librarys_own(hooks: Hooks) -> None:
    model = ScriptedChat(body=Body())
    with recorder(hooks):
        stream: Any = model.stream("hi")
        assert inspect.isgenerator(stream)
        assert isinstance(stream, Iterator)
        assert iter(stream) is stream
        assert stream.gi_running is False
        with pytest.raises(TypeError, match="generator"):
            copy.copy(stream)
        list(stream)
        astream: Any = model.astream("hi")
        assert inspect.isasyncgen(astream)
        assert isinstance(astream, AsyncIterator)

        def delegating() -> Iterator[Any]:
            yield from model.stream("hi")

        assert len(list(delegating())) == len(list(model.stream("hi")))


def test_a_refused_stream_stays_refused() -> None:
    """A consumer that tries again must not get past the gate."""
    body = Body()
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    model = ScriptedChat(body=body)

    async def again() -> None:
        stream = model.astream("hi")
        with pytest.raises(Reject):
            await anext(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    with recorder(hooks):
        stream: Any = model.stream("hi")
        with pytest.raises(Reject):
            next(stream)
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(stream)
        stream.close()
        asyncio.run(again())
    assert body.runs == 0


@pytest.mark.parametrize("is_async", [False, True])
def test_a_stream_that_a_hook_answers(is_async: bool) -> None:
    body = Body()
    hooks = Hooks()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        op.respond("from the cache")

    model = ScriptedChat(body=body)

    async def main() -> list[Any]:
        return [chunk async for chunk in model.astream("hi")]

    with recorder(hooks) as seen:
        chunks: list[Any] = asyncio.run(main()) if is_async else list(model.stream("hi"))
    assert body.runs == 0
    assert [type(chunk).__name__ for chunk in chunks] == ["AIMessageChunk"]
    assert chunks[0].content == "from the cache"
    assert [op.status for op in seen.operations] == ["success"]
    assert [decision.decision for decision in seen.operations[0].decisions] == ["replace"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("stream", [None, "observe", "buffer"])
def test_replacing_what_a_stream_said_needs_buffering(
    is_async: bool, stream: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()

    buffer = stream == "buffer"

    @hooks.after("llm.call", stream=stream)
    def redact(op: Operation) -> None:
        assert op.response.text == "hellotherefriend"
        op.respond("redacted")

    model = ScriptedChat(body=Body())

    async def main() -> list[Any]:
        return [chunk async for chunk in model.astream("hi")]

    with recorder(hooks) as seen:
        chunks: list[Any] = asyncio.run(main()) if is_async else list(model.stream("hi"))
    said = "".join(chunk.content for chunk in chunks)
    assert said == ("redacted" if buffer else "hellotherefriend")
    decisions = [decision.decision for decision in seen.operations[0].decisions]
    assert decisions == (["replace"] if buffer else ["too_late"])
    assert seen.operations[0].usage.total_tokens == 28
    assert ("stream='buffer'" in caplog.text) is not buffer
    caplog.clear()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_gate_on_results_holds_streams_back(is_async: bool) -> None:
    """A hook that fails closed decides about results; a stream must not be out before it has."""
    hooks = Hooks()

    @hooks.after("llm.call", priority=20)
    def guard(op: Operation) -> None:
        if "friend" in op.response.text:
            raise Reject("too friendly")

    model = ScriptedChat(body=Body())
    got: list[Any] = []

    async def main() -> None:
        async for chunk in model.astream("hi"):
            got.append(chunk)  # noqa: PERF401 - what has come before the error counts

    def sync() -> None:
        for chunk in model.stream("hi"):
            got.append(chunk)  # noqa: PERF402 - what came before the rejection counts

    with recorder(hooks) as seen, pytest.raises(Reject, match="too friendly"):
        asyncio.run(main()) if is_async else sync()
    assert got == []
    assert [op.status for op in seen.operations] == ["rejected"]


def test_time_to_first_chunk() -> None:
    with recorder() as seen:
        list(ScriptedChat(body=Body()).stream("hi"))
        attributes = seen.spans[0].attributes or {}
        metrics = seen.metrics()
    assert attributes["gen_ai.response.time_to_first_chunk"] == 0.001
    assert [value[1] for _, value in metrics["gen_ai.client.operation.time_to_first_chunk"]] == [1]


def test_a_graph_used_as_a_stream_is_one_run(hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        list(make_graph(Body()).stream({"value": "x"}))
        expect_one(seen, "success", hooks, "graph")
        assert [event["name"] for event in seen.events].count("spanhook.run") == 1


def test_what_a_dropped_stream_used_is_in_its_run() -> None:
    """`bind` leaves closing the stream it wraps to the garbage collector; the run is told of after that."""
    model = ScriptedChat(body=Body()).bind(stop=["x"])

    async def act(state: dict[str, Any]) -> dict[str, Any]:
        stream: Any = model.astream("hi")
        async for _ in stream:
            break
        await stream.aclose()
        return {}

    state: Any = dict
    builder: Any = StateGraph(state)
    builder.add_node("act", act)
    builder.add_edge(START, "act")
    builder.add_edge("act", END)
    graph = builder.compile()

    async def main() -> None:
        for _ in range(50):
            await graph.ainvoke({})

    with recorder() as seen:
        asyncio.run(main())
    runs = [event for event in seen.events if event["name"] == "spanhook.run"]
    assert [run["attributes"]["spanhook.llm_calls"] for run in runs] == [1] * 50
    assert [op.status for op in seen.operations if op.kind == "llm.call"] == ["abandoned"] * 50
    ends = {span_id(span): span.end_time for span in seen.spans}
    assert len(ends) == 100


@pytest.mark.skipif(not hasattr(ScriptedChat, "stream_events"), reason="LangChain 1.0 has no third version of events")
@pytest.mark.parametrize("how", ["events", "output", "text"])
def test_events_of_the_third_version_end_with_the_last_of_them(how: str, hooks: Hooks) -> None:
    """LangChain asks for no step after the last event, and keeps the generator in a reference cycle."""
    gc.disable()
    try:
        with recorder(hooks) as seen:
            stream: Any = ScriptedChat(body=Body()).stream_events("hi", version="v3")
            assert list(stream) if how == "events" else stream.output if how == "output" else list(stream.text)
            op = expect_one(seen, "success", hooks, "chat")
            assert op.usage.total_tokens == 28
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(ScriptedChat, "stream_events"), reason="LangChain 1.0 has no third version of events")
@pytest.mark.parametrize("phase", ["before", "after"])
def test_events_of_an_answer_are_those_of_the_message_that_the_stream_names(phase: str) -> None:
    answering = Hooks()
    register = answering.before("llm.call") if phase == "before" else answering.after("llm.call", stream="buffer")
    register(lambda op: op.respond("instead"))
    with recorder(answering):
        stream: Any = ScriptedChat(body=Body()).stream_events("hi", version="v3")
        [start, *_] = list(stream)
    assert start["id"] == stream.message_id == stream.output.id
    assert stream.output.text == "instead"
