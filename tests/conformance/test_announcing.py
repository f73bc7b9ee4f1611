"""What a hook answers in place of a call is announced by the library as its own answers are, however it is called."""

import asyncio
import gc
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest
import trio
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.cli.conformance.checks.comparing import comparable
from spanhook.cli.conformance.libraries import langchain_core, langgraph
from spanhook.cli.conformance.libraries.hearing import (
    ENDS,
    ERRORS,
    HANDLERS,
    STARTS,
    TOKENS,
    AsyncHandler,
    Handler,
    listening,
)
from spanhook.cli.conformance.libraries.langchain import Calls, agent
from spanhook.cli.conformance.libraries.langchain_core import (
    CHAT_WAYS,
    TEXT_WAYS,
    ScriptedChat,
    ScriptedText,
    SilentChat,
    make_tool,
)
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.diagnostics import internal
from spanhook.testing import recorder
from tests.thinning import a_fifth

INSTEAD = "instead"
KINDS = ("llm.call", "tool.execute", "retrieval.query", "agent.invoke")
SUBJECTS = [one for one in (*langchain_core.SUBJECTS, *langgraph.SUBJECTS) if one.kind in KINDS]
CASES = [(subject, way) for subject in SUBJECTS for way in subject.ways]
CHAINS = ("on_chain_start", "on_chain_end", "on_chain_error")
MAIN = ("invoke", "ainvoke", "stream", "astream")


def named(case: Any) -> str:
    return f"{case[0].name}-{case[1]}".replace(" ", "_")


def answering(kind: str = "llm.call", value: Any = INSTEAD) -> Hooks:
    hooks = Hooks()
    hooks.before(kind)(lambda op: op.respond(value))
    return hooks


async def _settled(made: Any) -> Any:
    """The result of a call, once all that it has started has ended."""
    try:
        return await made
    finally:
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)


def call(use: Callable[[Any], Any], thing: Any) -> Any:
    made = use(thing)
    return run(_settled(made)) if asyncio.iscoroutine(made) else settle(made)


# ------------------------------------------------------------------------------------------------ every way of calling


class Hears(BaseCallbackHandler):
    """Keeps all that it is told: event, arguments, and arguments by name."""

    def __init__(self) -> None:
        self.told: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []


def _hears(event: str) -> Any:
    return lambda self, *args, **kwargs: self.told.append((event, args, kwargs))


for _event in (*STARTS, *TOKENS, *ENDS, *ERRORS, *CHAINS):
    setattr(Hears, _event, _hears(_event))

_hearing: ContextVar[Any] = ContextVar("tests.conformance.test_announcing", default=None)
register_configure_hook(_hearing, inheritable=True)
_STARTS = (*STARTS, "on_chain_start")
_AROUND = ("work", "_as_it_is")
"""The node of a graph, which an answer leaves out, and what follows a model in a chain."""


@contextmanager
def hearing() -> Generator[Hears]:
    """Attach a handler to everything that is called in the block."""
    token = _hearing.set(Hears())
    try:
        yield _hearing.get()
    finally:
        _hearing.reset(token)


def _starts(heard: Hears) -> list[str]:
    """The starts, with their parents' names, and without what differs between two objects: how they are
    represented.
    """
    found = [one for one in heard.told if one[0] in _STARTS and one[2].get("name") not in _AROUND]
    names = {about["run_id"]: about.get("name") for _, _, about in found}
    return sorted(
        repr(comparable([event, args[1:], {**about, "parent_run_id": names.get(about["parent_run_id"])}]))
        for event, args, about in found
    )


@pytest.mark.every_value
@pytest.mark.parametrize("case", CASES, ids=named)
def test_it_has_the_start_that_the_call_would_have_had_and_its_end(case: tuple[Subject, str]) -> None:
    subject, way = case
    with hearing() as expected:
        call(subject.ways[way], subject.make(Body()))
    body = Body()
    hooks = answering(subject.kind, INSTEAD if subject.answer is None else subject.answer)
    with recorder(hooks) as seen, hearing() as heard:
        result = call(subject.ways[way], subject.make(body))
    assert body.runs == 0
    assert INSTEAD in repr(result)
    assert [op.status for op in seen.operations] == ["success"] * subject.calls(way)
    assert _starts(heard) == _starts(expected)
    runs: dict[Any, list[str]] = {}
    for event, args, about in heard.told:
        runs.setdefault(about["run_id"], []).append(event)
        if event in ENDS:
            assert INSTEAD in repr(args)
    for start, *others in runs.values():
        assert others[-1] == start.replace("start", "end").replace("chat_model", "llm")
        assert set(others[:-1]) <= set(TOKENS)


CACHED = ("invoke", "ainvoke", "generate", "agenerate", "batch", "abatch", "bound")


@pytest.mark.every_value
@pytest.mark.parametrize("sort", HANDLERS)
@pytest.mark.parametrize("way", CACHED)
@pytest.mark.parametrize("made", [ScriptedChat, SilentChat])
def test_a_model_is_heard_as_if_langchains_cache_had_the_answer(made: type[ScriptedChat], way: str, sort: str) -> None:
    if sort == "async" and not way.startswith("a"):
        return
    said = AIMessage(INSTEAD, usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})

    class Full(InMemoryCache):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            return [ChatGeneration(message=said)]

    with listening(sort) as expected:
        result = call(CHAT_WAYS[way], made(body=Body(), cache=Full()))
    with recorder(answering(value=said)), listening(sort) as heard:
        answered = call(CHAT_WAYS[way], made(body=Body()))
    assert _told(heard) == _told(expected)
    assert sorted(heard.runs.values()) == sorted(expected.runs.values())
    assert comparable(answered) == comparable(result)


def _told(heard: Any) -> list[str]:
    """What was told after the start, in an order that does not depend on which of two runs was first."""
    return sorted(repr(comparable(one)) for one in heard.sequence if one[0] not in STARTS)


@pytest.mark.parametrize("sort", HANDLERS)
@pytest.mark.parametrize("way", ["stream", "astream", "events"])
def test_a_stream_is_told_in_one_token_if_the_model_can_stream(way: str, sort: str) -> None:
    for made, tokens in ((ScriptedChat, [INSTEAD]), (SilentChat, [])):
        with recorder(answering()), listening(sort) as heard:
            result = call(CHAT_WAYS[way], made(body=Body()))
        if sort == "async" and way == "stream":
            return  # LangChain tells such handlers later
        assert heard.of("on_llm_new_token") == tokens
        if way == "events":
            told = ["on_chat_model_start", *(["on_chat_model_stream"] if tokens else []), "on_chat_model_end"]
            assert [event["event"] for event in result] == told
            continue
        (chunk,) = result
        (end,) = heard.of("on_llm_end")
        assert chunk.id == end.generations[0][0].message.id


@pytest.mark.parametrize("way", ["stream", "astream", "events"])
def test_so_is_the_stream_of_a_text_model(way: str) -> None:
    class Silent(ScriptedText):
        _stream = langchain_core.BaseLLM._stream

    for made, tokens in ((ScriptedText, [INSTEAD]), (Silent, [])):
        with recorder(answering()), listening("plain") as heard:
            call(TEXT_WAYS[way], made(body=Body()))
        assert heard.of("on_llm_new_token") == tokens
        assert [end.generations[0][0].text for end in heard.of("on_llm_end")] == [INSTEAD]


@pytest.mark.parametrize("way", MAIN)
def test_the_configuration_of_the_call_is_respected(way: str) -> None:
    chosen = uuid.uuid4()
    own, given = Hears(), Hears()
    config: Any = {
        "run_id": chosen,
        "run_name": "named",
        "tags": ["tag"],
        "metadata": {"about": "it"},
        "callbacks": [given],
    }
    model = ScriptedChat(body=Body(), callbacks=[own], tags=["own"])
    uses: dict[str, Callable[[], Any]] = {
        "invoke": lambda: model.invoke("hi", config),
        "ainvoke": lambda: model.ainvoke("hi", config),
        "stream": lambda: list(model.stream("hi", config)),
        "astream": lambda: langchain_core.collect(model.astream("hi", config)),
    }
    with recorder(answering()):
        call(lambda _: uses[way](), None)
    for handler in (own, given):
        (_, _, about), *_, (_, _, end) = handler.told
        assert about["run_id"] == end["run_id"] == chosen
        assert about["name"] == "named"
        assert {"tag", "own"} <= set(about["tags"])
        assert about["metadata"]["about"] == "it"


def test_what_a_hook_rewrote_before_it_was_answered_is_what_the_start_says() -> None:
    hooks = answering()
    hooks.before("llm.call", priority=10)(lambda op: op.replace(messages=[HumanMessage("rewritten")]))  # type: ignore[list-item]
    with recorder(hooks), hearing() as heard:
        ScriptedChat(body=Body()).invoke("hi")
    event, args, _ = heard.told[0]
    assert (event, args[1][0][0].content) == ("on_chat_model_start", "rewritten")


# ------------------------------------------------------------------------------------------------ what else decides


@pytest.mark.parametrize("settings", [{}, {"stream": "buffer"}, {"priority": 50}], ids=str)
@pytest.mark.parametrize(
    "case", a_fifth(case for case in CASES if case[0].kind in ("llm.call", "tool.execute")), ids=named
)
def test_callbacks_hear_what_after_hooks_made_of_it(case: tuple[Subject, str], settings: dict[str, Any]) -> None:
    subject, way = case
    hooks = answering(subject.kind, "first")
    hooks.after(subject.kind, **settings)(lambda op: op.respond(INSTEAD))
    with recorder(hooks) as seen, listening("plain") as heard:
        result = call(subject.ways[way], subject.make(Body()))
    assert "first" not in repr((result, heard.results))
    assert INSTEAD in repr(result)
    assert len(heard.ends) == len(heard.runs)
    assert all(INSTEAD in repr(end) for end in heard.ends)
    assert {one.decision for op in seen.operations for one in op.decisions} == {"replace"}


class Watches(Hook):
    """Sees the text of streams before it goes out."""

    kinds = ("llm.call",)
    stream = "window"
    window = 4
    fail_mode = "closed"

    def text(self, op: Operation, text: str) -> str:
        return text.replace("secret", "******")

    def after(self, op: Operation) -> None:
        if "secret" in op.response.text:
            op.respond(self.text(op, op.response.text))


@pytest.mark.parametrize("way", [*MAIN, "events"])
def test_a_hook_with_a_window_decides_about_an_answer_as_a_whole(way: str) -> None:
    hooks = answering(value=f"{INSTEAD} of a secret")
    hooks.add(Watches())
    with recorder(hooks), listening("plain") as heard:
        result = call(CHAT_WAYS[way], ScriptedChat(body=Body()))
    assert "secret" not in repr((result, heard.results))
    assert "instead of a ******" in repr(result)
    assert "instead of a ******" in repr(heard.ends)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("way", [*MAIN, "events", "batch", "abatch"])
def test_nobody_is_told_of_an_answer_that_a_later_gate_refuses(way: str, when: str) -> None:
    hooks = answering()

    @getattr(hooks, when)("llm.call", priority=90)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks) as seen, listening("plain") as heard, pytest.raises(Reject):
        call(CHAT_WAYS[way], ScriptedChat(body=Body()))
    assert heard.told == []
    assert "rejected" in [op.status for op in seen.operations]


def test_the_last_of_several_answers_is_told_once() -> None:
    hooks = answering(value="first")

    @hooks.around("llm.call", priority=80)
    def instead(op: Operation) -> Iterator[Any]:
        if not op.called:
            return INSTEAD
        yield

    for way in MAIN:
        with recorder(hooks), listening("plain") as heard:
            call(CHAT_WAYS[way], ScriptedChat(body=Body()))
        assert len(heard.runs) == 1
        assert [end.generations[0][0].text for end in heard.ends] == [INSTEAD]


def test_what_a_hook_in_shadow_answers_is_told_nobody() -> None:
    hooks = Hooks()
    hooks.before("llm.call", mode="shadow")(lambda op: op.respond(INSTEAD))
    with recorder(hooks), listening("plain") as heard:
        ScriptedChat(body=Body()).invoke("hi")
        assert hooks.flush(60)
    assert INSTEAD not in repr(heard.told)
    assert len(heard.runs) == 1


def test_what_calls_an_async_hook_answers() -> None:
    hooks = Hooks()

    @hooks.around("llm.call", timeout=60.0)
    async def instead(op: Operation, call_next: Any) -> Any:
        await asyncio.sleep(0)
        return INSTEAD

    for way in MAIN:
        with recorder(hooks), listening("plain") as heard:
            call(CHAT_WAYS[way], ScriptedChat(body=Body()))
        assert [end.generations[0][0].text for end in heard.ends] == [INSTEAD]


# ------------------------------------------------------------------------------------------------ when telling fails


def _raising(event: str, kind: type[Any], *, is_async: bool) -> Any:
    def raises(self: Any, *args: Any, **kwargs: Any) -> None:
        raise KeyError(event)

    async def araises(self: Any, *args: Any, **kwargs: Any) -> None:
        raise KeyError(event)

    return type("Raising", (kind,), {"raise_error": True, event: araises if is_async else raises})()


@pytest.mark.every_combination
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("event", ["on_chat_model_start", "on_llm_new_token", "on_llm_end"])
@pytest.mark.parametrize("way", MAIN)
def test_what_a_handler_raises_does_what_it_does_without_an_answer(way: str, event: str, is_async: bool) -> None:
    found: list[Any] = []
    for hooks in (Hooks(), answering()):
        handler = _raising(event, AsyncHandler if is_async else Handler, is_async=is_async)
        with recorder(hooks) as seen:
            try:
                call(CHAT_WAYS[way], ScriptedChat(body=Body(), callbacks=[handler]))
                error = None
            except KeyError as raised:
                error = raised.args
        events = [event for event, *_ in handler.heard.told if event not in TOKENS]
        found.append((error, events, [op.status for op in seen.operations]))
    assert found[0] == found[1]


@pytest.mark.parametrize("event", ["on_tool_start", "on_tool_end"])
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_so_it_does_for_tools(way: str, event: str) -> None:
    found: list[Any] = []
    for hooks in (Hooks(), answering("tool.execute")):
        handler = _raising(event, Handler, is_async=False)
        thing = make_tool(Body()).model_copy(update={"callbacks": [handler]})
        with recorder(hooks) as seen, pytest.raises(KeyError, match=event):
            call(langchain_core.TOOL_WAYS[way], thing)
        found.append(([event for event, *_ in handler.heard.told], [op.status for op in seen.operations]))
    assert found[0] == found[1]


class Odd(ScriptedChat):
    """A model whose own description fails."""

    def _get_invocation_params(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("odd")


@pytest.mark.every_value
@pytest.mark.parametrize("way", MAIN)
def test_if_it_cannot_be_announced_the_caller_gets_it_all_the_same(way: str) -> None:
    body = Body()
    with recorder(answering()) as seen, listening("plain") as heard:
        internal.fatal = False
        result = call(CHAT_WAYS[way], Odd(body=body))
    assert INSTEAD in repr(result)
    assert (body.runs, heard.told) == (0, [])
    assert [op.status for op in seen.operations] == ["success"]
    assert internal.counts["announce"] == 1


class Waiting(AsyncCallbackHandler):
    """A handler in which an event takes for ever."""

    def __init__(self, event: str) -> None:
        self.event, self.reached = event, asyncio.Event()

    async def _wait(self, event: str) -> None:
        if event == self.event:
            self.reached.set()
            await asyncio.Event().wait()

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        await self._wait("on_chat_model_start")

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        await self._wait("on_llm_end")


@pytest.mark.every_combination
@pytest.mark.parametrize("event", ["on_chat_model_start", "on_llm_end"])
@pytest.mark.parametrize("way", ["ainvoke", "astream", "agenerate"])
def test_a_call_that_is_cancelled_meanwhile_is_cancelled(way: str, event: str) -> None:
    async def main() -> None:
        handler = Waiting(event)
        task = asyncio.ensure_future(CHAT_WAYS[way](ScriptedChat(body=Body(), callbacks=[handler])))
        await handler.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(answering()) as seen:
        run(main())
    assert [op.status for op in seen.operations] == ["cancelled"]


def test_under_trio_where_langchain_cannot_tell_anybody_it_is_only_returned() -> None:
    uses: list[Callable[[], Any]] = [
        lambda: ScriptedChat(body=Body()).ainvoke("hi"),
        lambda: langchain_core.collect(ScriptedChat(body=Body()).astream("hi")),
        lambda: ScriptedText(body=Body()).ainvoke("hi"),
        lambda: langgraph.make_graph(Body()).ainvoke({"value": "x"}),
    ]
    hooks = answering()
    hooks.before("agent.invoke")(lambda op: op.respond({"value": INSTEAD}))
    for use in uses:

        async def main(use: Callable[[], Any] = use) -> Any:
            return await use()

        with recorder(hooks), hearing() as heard:
            assert INSTEAD in repr(trio.run(main))
        assert heard.told == []


# ------------------------------------------------------------------------------------------------ streams


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_consumer_that_stops_early_is_told_as_for_any_stream(way: str) -> None:
    async def leave(stream: AsyncIterator[Any]) -> None:
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]

    found: list[Any] = []
    for hooks in (Hooks(), answering()):
        model = ScriptedChat(body=Body())
        with recorder(hooks), listening("plain") as heard:
            if way == "stream":
                stream: Any = model.stream("hi")
                next(stream)
                stream.close()
            else:
                run(leave(model.astream("hi")))
        found.append(list(heard.runs.values()))
    assert found[0] == found[1]


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_stream_that_is_dropped_ends_its_operation(way: str) -> None:
    with recorder(answering()) as seen:
        if way == "stream":
            next(iter(ScriptedText(body=Body()).stream("hi")))
        else:

            async def main() -> None:
                await anext(aiter(ScriptedText(body=Body()).astream("hi")))

            run(main())
        gc.collect()
    assert [op.status for op in seen.operations] == ["abandoned"]


# ------------------------------------------------------------------------------------------------ what must not happen


class Overriding(ScriptedChat):
    """A model that makes the call in methods of its own."""

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        self.body.run("generate")
        return super().generate(*args, **kwargs)

    async def agenerate(self, *args: Any, **kwargs: Any) -> Any:
        self.body.run("agenerate")
        return await super().agenerate(*args, **kwargs)

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        self.body.run("stream")
        yield from super().stream(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        self.body.run("invoke")
        return super().invoke(*args, **kwargs)

    def generate_prompt(self, *args: Any, **kwargs: Any) -> Any:
        self.body.run("generate_prompt")
        return super().generate_prompt(*args, **kwargs)

    def _generate_with_cache(self, *args: Any, **kwargs: Any) -> Any:
        self.body.run("_generate_with_cache")
        return super()._generate_with_cache(*args, **kwargs)


@pytest.mark.every_value
@pytest.mark.parametrize("way", ["invoke", "stream", "generate"])
def test_no_method_of_a_subclass_makes_the_call_after_all(way: str) -> None:
    body = Body()
    with recorder(answering()), listening("plain") as heard:
        assert INSTEAD in repr(call(CHAT_WAYS[way], Overriding(body=body)))
    assert body.runs == 0
    assert len(heard.ends) == len(heard.runs) == (2 if way == "generate" else 1)


@pytest.mark.parametrize("way", MAIN)
def test_what_a_callback_calls_meanwhile_is_an_operation_of_its_own(way: str) -> None:
    asked: list[str] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def once(op: Operation) -> None:
        asked.append(op.request.messages[-1]["parts"][0]["content"])
        if asked[-1] == "hi":
            op.respond(INSTEAD)

    body = Body()

    class Asking(BaseCallbackHandler):
        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            if len(asked) == 1:
                model.invoke("what was that?")

    model = ScriptedChat(body=body, callbacks=[Asking()])
    with recorder(hooks) as seen:
        call(CHAT_WAYS[way], model)
    assert asked == ["hi", "what was that?"]
    assert body.runs == 1
    inner, outer = seen.operations
    assert inner.parent is not None
    assert inner.parent.span is outer.span
    assert outer.usage.llm_calls == 1


def test_langchains_cache_is_neither_asked_nor_filled() -> None:
    class Kept(InMemoryCache):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            raise AssertionError("asked")

        def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
            raise AssertionError("filled")

    for kind, ways in ((ScriptedChat, CHAT_WAYS), (ScriptedText, TEXT_WAYS)):
        for way in MAIN:
            with recorder(answering()), listening("plain") as heard:
                call(ways[way], kind(body=Body(), cache=Kept()))
            assert len(heard.ends) == 1


def test_it_has_no_time_to_first_chunk_and_uses_nothing() -> None:
    said = AIMessage(INSTEAD, usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})
    with recorder(answering(value=said)) as seen:
        (chunk,) = ScriptedChat(body=Body()).stream("hi")
    assert chunk.usage_metadata is not None
    assert (chunk.usage_metadata["total_tokens"], chunk.usage_metadata.get("total_cost")) == (3, 0)
    (span,) = seen.spans
    assert "gen_ai.response.time_to_first_chunk" not in (span.attributes or {})
    assert seen.operations[0].usage.total_tokens == 0


def test_nothing_is_kept_of_answers() -> None:
    handler = Handler()
    model, thing = ScriptedChat(body=Body(), callbacks=[handler]), make_tool(Body())
    hooks = answering()
    hooks.before("tool.execute")(lambda op: op.respond(INSTEAD))

    def ask() -> None:
        handler.heard.told.clear()
        model.invoke("hi")
        list(model.stream("hi"))
        thing.invoke({"query": "x"})

    with recorder(hooks) as seen:
        for _ in range(20):
            ask()
        sizes: list[int] = []
        for _ in range(2):
            for _ in range(200):
                ask()
                seen.operations.clear()
                seen._spans.clear()
                seen._logs.clear()
            gc.collect()
            sizes.append(len(gc.get_objects()))
    assert sizes[1] - sizes[0] < 200


# ------------------------------------------------------------------------------------------------ graphs

ASK: Any = {"messages": [("user", "hi")]}


@pytest.mark.parametrize(
    "said", [INSTEAD, AIMessage(INSTEAD), AIMessage(INSTEAD, id="lc_run--of-another-run")], ids=repr
)
def test_an_answer_given_in_every_turn_of_a_thread_is_a_message_in_each(said: Any) -> None:
    graph = agent(Calls(), ["never"], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    told: list[str] = []
    with recorder(answering(value=said)):
        for _ in range(2):
            told += [one.id for one, _ in graph.stream(ASK, thread, stream_mode="messages")]
    state = graph.get_state(thread).values["messages"]
    assert [one.id for one in state if isinstance(one, AIMessage)] == told
    assert len(told) == len(set(told)) == 2


def test_an_answer_with_an_id_of_its_own_keeps_it() -> None:
    with recorder(answering(value=AIMessage(INSTEAD, id="mine"))), listening("plain") as heard:
        assert ScriptedChat(body=Body()).invoke("hi").id == "mine"
        assert [chunk.id for chunk in ScriptedChat(body=Body()).stream("hi")] == ["mine"]
    assert [end.generations[0][0].message.id for end in heard.ends] == ["mine", "mine"]


def test_it_is_announced_where_a_graph_that_was_paused_goes_on() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def ask(op: Operation) -> None:
        op.respond(interrupt("which?"))

    graph = agent(Calls(), ([("search", {"query": "x"})], "done"), checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    with recorder(hooks), listening("plain") as heard:
        graph.invoke(ASK, thread)
        assert heard.of("on_tool_start", "on_tool_end") == []
        graph.invoke(Command(resume=INSTEAD), thread)
    assert [end.content for end in heard.of("on_tool_end")] == [INSTEAD]


def test_each_prompt_of_a_call_is_told_its_own_answer() -> None:
    said = LLMResult(generations=[[ChatGeneration(message=AIMessage(str(index)))] for index in range(2)])
    with recorder(answering(value=said)), listening("plain") as heard:
        result = ScriptedChat(body=Body()).generate([[HumanMessage("a")], [HumanMessage("b")]])
        told = [end.generations[0][0].message for end in heard.ends]
        assert [one.content for one in told] == ["0", "1"]
        assert [one[0].message.id for one in result.generations] == [one.id for one in told]  # type: ignore[union-attr]
        assert result.run is not None
        assert [one.run_id for one in result.run] == list(heard.runs)
    texts = LLMResult(generations=[[Generation(text=str(index))] for index in range(2)])
    with recorder(answering(value=texts)), listening("plain") as heard:
        assert ScriptedText(body=Body()).batch(["a", "b"]) == ["0", "1"]
    assert [end.generations[0][0].text for end in heard.ends] == ["0", "1"]
