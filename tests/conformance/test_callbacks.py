"""Whatever callbacks, events and message streams are told is what hooks have decided, however a thing is called."""

import asyncio
import gc
import subprocess
import sys
import uuid
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForLLMRun, dispatch_custom_event
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.checks.comparing import comparable
from spanhook.cli.conformance.libraries.hearing import ENDS, ERRORS, HANDLERS, STARTS, TOKENS, Handler, listening, sorts
from spanhook.cli.conformance.libraries.langchain import Calls, Turns, agent
from spanhook.cli.conformance.libraries.langchain_core import CHAT_WAYS, SAID, SUBJECTS, ScriptedChat, SilentChat
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.diagnostics import internal
from spanhook.gating import Registry
from spanhook.instrument.langchain_core import callbacks
from spanhook.testing import recorder
from tests.conformance.test_contract import watching
from tests.thinning import a_fifth

SECRETS = (*SAID.split(" "), "found")
INSTEAD = "replaced"


class TellingChat(ScriptedChat):
    """A chat model that tells its tokens itself, on a thread where it is awaited."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.body.run(messages)
        for word in SAID.split(" "):
            if run_manager is not None:
                run_manager.on_llm_new_token(word)
        return ChatResult(generations=[ChatGeneration(message=self._message())])

    _stream = BaseChatModel._stream


class AwaitedChat(SilentChat):
    """A chat model that answers at once where it is awaited."""

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate(messages)


TELLING = Subject(
    "telling chat",
    "llm.call",
    lambda body: TellingChat(body=body),
    {way: use for way, use in CHAT_WAYS.items() if "v3" not in way},
    {},
)
_MODELS = [one for one in SUBJECTS if one.kind == "llm.call"] + [TELLING]
_TOLD = [*_MODELS, *(one for one in SUBJECTS if one.kind in ("tool.execute", "retrieval.query"))]
CASES = [
    (subject, way, handler)
    for subject in _TOLD
    for way in subject.ways
    for handler in sorts(subject.name, subject.kind, way)
]


def named(case: Any) -> str:
    return f"{case[0].name}-{case[1]}-{case[2]}".replace(" ", "_")


def decide(kind: str, decision: str, **settings: Any) -> Hooks:
    hooks = Hooks()

    @hooks.after(kind, **settings)
    def decided(op: Operation) -> None:
        if decision == "reject":
            raise Reject("not for you")
        if decision == "replace":
            op.respond(INSTEAD)

    return hooks


async def _av3(model: Any) -> list[Any]:
    stream = await model.astream_events("hi", version="v3")
    try:
        return [event async for event in stream]
    finally:  # callbacks are told of the end when the events have been told
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)


def outcome(subject: Subject, way: str) -> Any:
    use = _av3 if way == "av3" else subject.ways[way]
    try:
        return settle(use(subject.make(Body())))
    except Reject as reject:
        return reject


def leaked(*values: Any) -> list[str]:
    told = repr(values)
    return [secret for secret in SECRETS if secret in told]


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.slow) for case in CASES], ids=named)
def test_what_is_let_pass_is_told_as_it_would_have_been(case: tuple[Subject, str, str]) -> None:
    subject, way, handler = case
    with listening(handler) as expected:
        outcome(subject, way)
    hooks = watching()
    hooks.after("*", stream="buffer")(lambda op: None)
    with recorder(hooks), listening(handler) as heard:
        outcome(subject, way)
    assert _alike(heard.sequence) == _alike(expected.sequence)


def _alike(sequence: Any) -> Any:
    """Without ids, and in an order that does not depend on which of several calls at a time came first."""
    return sorted((repr(comparable(one)) for one in sequence if one[0] not in STARTS), key=str)


@pytest.mark.every_value
@pytest.mark.parametrize("case", a_fifth(CASES), ids=named)
def test_what_is_refused_is_told_nobody(case: tuple[Subject, str, str]) -> None:
    subject, way, handler = case
    with recorder(decide(subject.kind, "reject", stream="buffer")) as seen, listening(handler) as heard:
        result = outcome(subject, way)
    assert not leaked(result, heard.results)
    statuses = {op.status for op in seen.operations if op.kind == subject.kind}
    assert statuses - {"cancelled" if "abatch" in way else ""} == {"rejected"}
    assert heard.runs
    for events in heard.runs.values():
        assert len(events) == 2 or "batch" in way, events  # what runs beside it is cancelled, and told nothing then
        assert events[1:2] == [] or events[1] in ERRORS
    expected = (Reject, asyncio.CancelledError) if "abatch" in way else Reject
    assert all(isinstance(error, expected) for error in heard.of(*ERRORS))


@pytest.mark.every_value
@pytest.mark.parametrize("case", a_fifth(case for case in CASES if case[0].kind != "retrieval.query"), ids=named)
def test_what_is_replaced_is_told_in_its_place(case: tuple[Subject, str, str]) -> None:
    subject, way, handler = case
    with recorder(decide(subject.kind, "replace", stream="buffer")) as seen, listening(handler) as heard:
        result = outcome(subject, way)
    assert not leaked(result, heard.results)
    assert INSTEAD in repr(result)
    for op in seen.operations:
        assert [one.decision for one in op.decisions] == (["replace"] if op.kind == subject.kind else [])
    for events in heard.runs.values():
        assert events[-1] in ENDS
    for end in heard.of(*ENDS):
        assert INSTEAD in repr(end)
    _check_ids(heard)


GONE = [
    pytest.param((subject, way, handler), marks=[] if way in ("invoke", "ainvoke", "stream") else pytest.mark.slow)
    for subject, way, handler in CASES
    if subject.kind != "retrieval.query" and "batch" not in way  # calls of a batch that begin later have no hook
]


@pytest.mark.parametrize("case", GONE, ids=named)
def test_a_hook_that_is_removed_meanwhile_still_decides_what_is_told(case: tuple[Subject, str, str]) -> None:
    """Operations under way keep the hooks that they began with, and so do their callbacks."""
    subject, way, handler = case
    hooks = decide(subject.kind, "reject", stream="buffer")
    (leaving,) = (one.hook for one in hooks.bound)

    @hooks.before(subject.kind)
    def leave(op: Operation) -> None:
        if leaving in hooks:
            hooks.remove(leaving)

    with recorder(hooks) as seen, listening(handler) as heard:
        result = outcome(subject, way)
    assert not leaked(result, heard.results)
    assert {op.status for op in seen.operations if op.kind == subject.kind} == {"rejected"}


def _check_ids(heard: Any) -> None:
    """Tokens, events and the end of a run tell of the same message."""
    ids: dict[Any, set[Any]] = {}
    for event, run_id, given, more in heard.told:
        found = ids.setdefault(run_id, set())
        message = getattr(more.get("chunk"), "message", None)
        if message is not None:
            found.add(message.id)
        if event == "on_stream_event" and given.get("event") == "message-start":
            found.add(given.get("id"))
        if isinstance(given, LLMResult) and isinstance(given.generations[0][0], ChatGeneration):
            found.add(given.generations[0][0].message.id)
    for run_id, found in ids.items():
        assert len(found) < 2
        assert all(str(run_id) in str(one) for one in found)


_WHOLE = ("invoke", "ainvoke", "batch", "abatch", "generate", "agenerate", "bound", "run", "arun")


@pytest.mark.every_value
@pytest.mark.parametrize("decision", ["reject", "replace"])
@pytest.mark.parametrize(
    "case", a_fifth(case for case in CASES if case[1] in _WHOLE and case[2] in ("plain", "async")), ids=named
)
def test_ends_wait_for_any_hook_that_sees_results(case: tuple[Subject, str, str], decision: str) -> None:
    subject, way, handler = case
    hooks = decide(subject.kind, decision) if decision == "reject" else Hooks()

    @hooks.around(subject.kind)
    def instead(op: Operation) -> Iterator[Any]:
        yield
        return INSTEAD

    if decision == "replace" and subject.kind == "retrieval.query":
        return  # its results are read-only
    with recorder(hooks), listening(handler) as heard:
        outcome(subject, way)
    told = heard.of(*ENDS, *ERRORS)
    assert told
    assert not leaked(told)
    assert len(told) == len(heard.runs) or "abatch" in way


# ------------------------------------------------------------------------------------------------ agents

ASK: Any = {"messages": [("user", "look it up")]}


async def _all(stream: AsyncIterator[Any]) -> list[Any]:
    return [one async for one in stream]


async def _messages(graph: Any) -> list[Any]:
    going = await graph.astream_events(ASK, version="v3")
    return [(await message.text, await message) async for message in going.messages]


STREAMS: dict[str, Callable[[Any], Any]] = {
    "messages": lambda graph: list(graph.stream(ASK, stream_mode="messages")),
    "amessages": lambda graph: _all(graph.astream(ASK, stream_mode="messages")),
    "many": lambda graph: list(graph.stream(ASK, stream_mode=["messages", "updates", "values", "tasks", "debug"])),
    "amany": lambda graph: _all(graph.astream(ASK, stream_mode=["messages", "updates", "values", "tasks", "debug"])),
    "events": lambda graph: _all(graph.astream_events(ASK, version="v2")),
    "invoke": lambda graph: graph.invoke(ASK),
    "ainvoke": lambda graph: graph.ainvoke(ASK),
}
if "events" in HANDLERS:
    STREAMS.update(
        {
            "tools": lambda graph: list(graph.stream(ASK, stream_mode=["tools", "messages"])),
            "v3": lambda graph: [
                (str(one.text), one.output) for one in graph.stream_events(ASK, version="v3").messages
            ],
            "av3": _messages,
        }
    )
_SCRIPT = ([("search", {"query": "x"})], "hello there friend")


def _told(way: str, graph: Any) -> Any:
    """All that a consumer is told, or how it failed."""
    try:
        return settle(STREAMS[way](graph))
    except Reject as reject:
        return reject


@pytest.mark.parametrize("way", a_fifth(STREAMS))
@pytest.mark.parametrize("decision", ["reject", "replace"])
def test_streams_of_agents_tell_what_was_decided_of_models(way: str, decision: str) -> None:
    graph = agent(Calls(), ("hello there friend",))
    with recorder(decide("llm.call", decision, stream="buffer")) as seen, listening("plain") as heard:
        told = _told(way, graph)
    assert not leaked(told, heard.results)
    assert (INSTEAD in repr(told)) is (decision == "replace")
    assert [one.decision for op in seen.operations for one in op.decisions] == [decision]
    _check_ids(heard)


@pytest.mark.parametrize("way", a_fifth(STREAMS))
@pytest.mark.parametrize("decision", ["reject", "replace"])
def test_streams_of_agents_tell_what_was_decided_of_tools(way: str, decision: str) -> None:
    graph = agent(Calls(), _SCRIPT)
    with recorder(decide("tool.execute", decision, stream="buffer")), listening("plain") as heard:
        told = _told(way, graph)
    assert "found" not in repr((told, heard.results))
    if way not in ("v3", "av3"):  # which tell of messages that models made
        assert (INSTEAD if decision == "replace" else "not for you") in repr(told)


@pytest.mark.parametrize("way", [way for way in ("messages", "amessages", "v3", "av3") if way in STREAMS])
def test_a_message_is_told_once(way: str) -> None:
    with recorder(decide("llm.call", "replace", stream="buffer")):
        told = _told(way, agent(Calls(), ("hello there friend",)))
    assert len(told) == 1


def answer(kind: str) -> Hooks:
    hooks = Hooks()
    hooks.before(kind)(lambda op: op.respond(INSTEAD))
    return hooks


@pytest.mark.parametrize("way", STREAMS)
def test_streams_of_agents_tell_of_the_answer_that_took_the_place_of_a_model(way: str) -> None:
    graph = agent(Calls(), ("hello there friend",))
    with recorder(answer("llm.call")) as seen, listening("plain") as heard:
        told = _told(way, graph)
    assert not leaked(told, heard.results)
    assert INSTEAD in repr(told)
    assert [one.decision for op in seen.operations for one in op.decisions] == ["replace"]
    assert [events[-1] for events in heard.runs.values()] == ["on_llm_end"]
    _check_ids(heard)
    if way == "events":
        ends = [event["data"]["output"].content for event in told if event["event"] == "on_chat_model_end"]
        assert ends == [INSTEAD]


@pytest.mark.parametrize("way", STREAMS)
def test_streams_of_agents_tell_of_the_answer_that_took_the_place_of_a_tool(way: str) -> None:
    graph = agent(Calls(), _SCRIPT)
    with recorder(answer("tool.execute")), listening("plain") as heard:
        told = _told(way, graph)
    assert "found" not in repr((told, heard.results))
    assert [end.content for end in heard.of("on_tool_end")] == [INSTEAD]
    if way == "tools":
        events = [event for mode, event in told if mode == "tools"]
        assert [event["event"] for event in events] == ["tool-started", "tool-finished"]
        assert {event["tool_call_id"] for event in events} == {"call_0_0"}
        assert events[-1]["output"].content == INSTEAD


@pytest.mark.parametrize(
    "way", [way for way in ("messages", "amessages", "many", "amany", "v3", "av3") if way in STREAMS]
)
def test_a_message_that_a_hook_answered_is_told_once_with_the_id_that_it_has_in_the_state(way: str) -> None:
    graph = agent(Calls(), ("hello there friend",), checkpointer=InMemorySaver()).with_config(
        configurable={"thread_id": "1"}
    )
    with recorder(answer("llm.call")):
        told = _told(way, graph)
    state = graph.get_state({"configurable": {"thread_id": "1"}}).values["messages"][-1]
    messages = [one[1] for one in told if one[0] == "messages"] if "many" in way else told
    (message,) = [next(part for part in one if isinstance(part, AIMessage)) for one in messages]
    assert (message.id, message.text) == (state.id, INSTEAD)


# ------------------------------------------------------------------------------------------------ single cases


def test_ends_that_were_an_error_are_told_as_the_answer_that_took_its_place() -> None:
    class Down(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "down"

        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            raise ConnectionError("down")

    hooks = Hooks()

    @hooks.around("llm.call")
    def spare(op: Operation) -> Iterator[Any]:
        try:
            yield
        except ConnectionError:
            return INSTEAD

    with recorder(hooks), listening("plain") as heard:
        assert Down().invoke("hi").content == INSTEAD
    assert heard.of(*ERRORS) == []
    [end] = heard.of("on_llm_end")
    assert end.generations[0][0].text == INSTEAD


@pytest.mark.every_value
@pytest.mark.parametrize("buffer", [False, True])
def test_the_part_that_came_before_an_error_waits_for_hooks_as_well(buffer: bool) -> None:
    class Breaking(ScriptedChat):
        def _stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
            yield next(super()._stream(*args, **kwargs))
            raise ConnectionError("gone")

    hooks = decide("llm.call", "allow", stream="buffer" if buffer else None)
    with recorder(hooks), listening("plain") as heard, pytest.raises(ConnectionError):
        list(Breaking(body=Body()).stream("hi"))
    assert bool(leaked(heard.results)) is not buffer
    [error] = heard.of("on_llm_error")
    assert isinstance(error, ConnectionError)


def test_what_a_handler_raises_is_what_the_call_raises() -> None:
    class Stopping(Handler):
        raise_error = True

        def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None:
            raise KeyError("stop")

    model = TellingChat(body=Body())
    handler = Stopping()
    with recorder(decide("llm.call", "allow", stream="buffer")) as seen, pytest.raises(KeyError, match="stop"):
        model.invoke("hi", {"callbacks": [handler]})
    [op] = seen.operations
    assert op.status == "error"
    assert [type(error) for error in handler.heard.of("on_llm_error")] == [KeyError]
    assert handler.heard.of("on_llm_end") == []


def test_what_interrupts_a_handler_ends_the_call_at_once() -> None:
    class Interrupted(Handler):
        raise_error = True

        def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None:
            raise KeyboardInterrupt

    handler = Interrupted()
    with recorder(decide("llm.call", "allow", stream="buffer")) as seen, pytest.raises(KeyboardInterrupt):
        TellingChat(body=Body()).invoke("hi", {"callbacks": [handler]})
    [op] = seen.operations
    assert op.status == "cancelled"
    assert handler.heard.of("on_llm_end") == []
    assert handler.heard.of("on_llm_error") == []


def test_a_callback_that_calls_a_model_when_it_is_told_at_last_makes_an_operation_of_its_own() -> None:
    inner = ScriptedChat(body=Body())

    class Asking(BaseCallbackHandler):
        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            if not inner.body.runs:
                inner.invoke("what was that?")

    with recorder(decide("llm.call", "allow", stream="buffer")) as seen:
        ScriptedChat(body=Body()).invoke("hi", {"callbacks": [Asking()]})
    first, second = seen.operations
    assert first.parent is not None
    assert first.parent.span is second.span
    assert (first.usage.input_tokens, second.usage.input_tokens) == (20, 40)


def test_each_prompt_of_a_batch_is_told_its_own_answer() -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def number(op: Operation) -> None:
        op.respond(LLMResult(generations=[[ChatGeneration(message=AIMessage(str(index)))] for index in range(2)]))

    with recorder(hooks), listening("plain") as heard:
        result = ScriptedChat(body=Body()).generate([[HumanMessage("a")], [HumanMessage("b")]])
    assert [one.generations[0][0].text for one in heard.of("on_llm_end")] == ["0", "1"]
    first: Any = [one[0] for one in result.generations]
    assert [one.message.id for one in first] == [one.generations[0][0].message.id for one in heard.of("on_llm_end")]


def test_tokens_told_after_the_answer_was_refused_are_not_told() -> None:
    managers: list[Any] = []

    class Lingering(ScriptedChat):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            managers.append(run_manager)
            return super()._generate(messages)

        _stream = BaseChatModel._stream

    with recorder(decide("llm.call", "reject", stream="buffer")), listening("plain") as heard:
        with pytest.raises(Reject):
            Lingering(body=Body()).invoke("hi")
        managers.pop().on_llm_new_token("friend")
    assert heard.of(*TOKENS) == []


def test_nothing_is_held_back_while_no_hook_sees_results(monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_core.callbacks import manager

    hooks, asked = Hooks(), list[str]()
    untouched = manager.handle_event, manager.ahandle_event
    holds = callbacks._holds

    def counted(*told: Any, is_async: bool) -> bool:
        asked.append("ahold" if is_async else "hold")
        return holds(*told, is_async=is_async)

    monkeypatch.setattr(callbacks, "_holds", counted)

    def tell() -> list[str]:
        asked.clear()
        listener: Any = {"callbacks": [BaseCallbackHandler()]}
        ScriptedChat(body=Body()).invoke("hi", config=listener)
        run(ScriptedChat(body=Body()).ainvoke("hi", config=listener))
        return sorted(set(asked))

    with recorder(hooks):
        hooks.before("llm.call")(lambda op: None)
        assert tell() == []
        watch = hooks.add(_After())
        assert tell() == ["ahold", "hold"]
        hooks.remove(watch)
        assert tell() == []
        hooks.add(watch)
    assert (manager.handle_event, manager.ahandle_event) == untouched


def test_what_stands_in_for_langchains_own_function_is_called_with_nobody_to_tell_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from langchain_core.callbacks import manager

    told, atold = manager.handle_event, manager.ahandle_event
    heard: list[str] = []

    def spy(handlers: Any, event: str, *args: Any, **kwargs: Any) -> None:
        heard.append(event)
        told(handlers, event, *args, **kwargs)

    async def aspy(handlers: Any, event: str, *args: Any, **kwargs: Any) -> None:
        heard.append(f"a{event}")
        await atold(handlers, event, *args, **kwargs)

    monkeypatch.setattr(manager, "handle_event", spy)
    monkeypatch.setattr(manager, "ahandle_event", aspy)

    def tell() -> list[str]:
        heard.clear()
        ScriptedChat(body=Body()).invoke("hi")
        run(ScriptedChat(body=Body()).ainvoke("hi"))
        return sorted(heard)

    uninstrumented = tell()
    with recorder(Hooks()):
        assert tell() == uninstrumented
    assert uninstrumented


def test_hooks_go_while_other_threads_begin_calls_of_which_callbacks_are_kept() -> None:
    """A listing that another thread adds to would fail, and with it the change of hooks."""
    from spanhook.instrument.langchain_core import wanted

    class Keeper:
        waiting = False

    done, none = False, Registry()

    def begin() -> None:
        while not done:
            wanted.keep(Keeper())

    there = [Keeper() for _ in range(500)]
    for one in there:
        wanted.keep(one)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            begun = [pool.submit(begin) for _ in range(2)]
            try:
                assert not any(wanted.ends(none) for _ in range(300))
            finally:
                done = True
        assert [one.result() for one in begun] == [None, None]
    finally:
        sys.setswitchinterval(before)


def _After() -> Any:
    from spanhook import Hook

    class After(Hook):
        kinds = ("llm.call",)

        def after(self, op: Operation) -> None:
            pass

    return After()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_handler_hears_one_call_while_another_is_held_back(is_async: bool) -> None:
    hooks = Hooks()
    hooks.after("llm.call", stream="buffer", models={"held"})(lambda op: op.respond(INSTEAD))
    held, free = (ScriptedChat(body=Body(), model_name=name) for name in ("held", "free"))

    async def both() -> None:
        await asyncio.gather(held.ainvoke("hi"), free.ainvoke("hi"))

    with recorder(hooks), listening("tokens") as heard:
        if is_async:
            run(both())
        else:
            held.invoke("hi")
            free.invoke("hi")
    ends = sorted(end.generations[0][0].text for end in heard.of("on_llm_end"))
    assert ends == ["hellotherefriend", INSTEAD]


@pytest.mark.parametrize("event", ["start", "end"])
def test_telling_that_is_cancelled_before_it_begins_leaves_no_warning(event: str) -> None:
    def close() -> None:
        """What closing a loop does. Whatever is to be told has a task by now, which has yet to begin."""
        for task in asyncio.all_tasks():
            task.cancel()

    hooks = Hooks()

    @hooks.after("llm.call")
    def refuse(op: Operation) -> None:
        if event == "end":
            asyncio.get_running_loop().call_soon(close)
        raise Reject("not for you")

    async def main() -> None:
        if event == "start":
            asyncio.get_running_loop().call_soon(close)
        await AwaitedChat(body=Body()).ainvoke("hi")

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with recorder(hooks) as seen, listening("plain") as heard, suppress(asyncio.CancelledError):
            run(main())
        assert [op.status for op in seen.operations] == ["cancelled"]
        del seen  # nothing keeps the error any more, and with it what was to be told
        gc.collect()
    assert list(heard.runs.values()) == ([] if event == "start" else [["on_chat_model_start"]])
    assert [str(one.message) for one in warned] == []


def test_custom_events_of_a_tool_wait_with_its_result() -> None:
    @tool
    def search(query: str) -> str:
        """Search."""
        dispatch_custom_event("found", {"so far": query})
        return query

    told: list[Any] = []

    class Custom(BaseCallbackHandler):
        def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
            told.append((name, data))

    for decision, expected in (("reject", []), ("allow", [("found", {"so far": "secret"})])):
        told.clear()
        with recorder(decide("tool.execute", decision, stream="buffer")), suppress(Reject):
            search.invoke({"query": "secret"}, {"callbacks": [Custom()]})
        assert told == expected


def test_what_left_although_it_was_to_be_held_back_is_told_to_have_been_too_late() -> None:
    class Unhashable(uuid.UUID):
        """An id that LangChain is given, and nobody can look up."""

        __hash__ = None  # pyright: ignore[reportAssignmentType]

    for decision in ("reject", "replace"):
        with recorder(decide("llm.call", decision, stream="buffer")) as seen, listening("plain"):
            internal.fatal = False
            with suppress(Reject):
                config: Any = {"run_id": Unhashable(int=1)}
                assert SilentChat(body=Body()).invoke("hi", config).content == INSTEAD
            [decided] = seen.operations[0].decisions
            assert decided.decision == "too_late"
            assert "part of the result has been handed on" in decided.reason
            span = seen.spans[0]
            assert (span.attributes or {})["spanhook.decision"] == "too_late"
            assert [(one.attributes or {})["spanhook.decision"] for one in span.events if one.name != "exception"] == [
                "too_late"
            ]
            assert "too_late" in [event["attributes"].get("spanhook.decision") for event in seen.events]


def test_parts_of_a_tools_output_wait_with_it() -> None:
    if not hasattr(ToolRuntime, "emit_output_delta"):
        return  # older versions have none

    @tool
    def search(query: str, runtime: ToolRuntime[Any, Any]) -> str:
        """Search the web."""
        runtime.emit_output_delta("so far")
        return f"found {query}"

    for decision, expected in (("reject", False), ("replace", False), ("allow", True)):
        graph = create_agent(Turns(turns=_SCRIPT, asked=[]), tools=[search])
        with recorder(decide("tool.execute", decision, stream="buffer")):
            mode: Any = "tools"
            told = list(graph.stream(ASK, stream_mode=mode))
        assert ("so far" in repr(told)) is expected
        assert ("found" in repr(told)) is expected


_LATER = """
import spanhook
from spanhook import Hooks, Reject

hooks = Hooks()

@hooks.after("llm.call", stream="buffer")
def refuse(op):
    raise Reject("no")

spanhook.instrument(hooks)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import GenericFakeChatModel

told = []

class Hears(BaseCallbackHandler):
    def on_llm_end(self, *args, **kwargs):
        told.append("end")
    def on_llm_error(self, *args, **kwargs):
        told.append("error")

try:
    GenericFakeChatModel(messages=iter(["secret"])).invoke("hi", {"callbacks": [Hears()]})
except Reject:
    told.append("refused")
print(told)
"""


@pytest.mark.slow
def test_callbacks_wait_where_langchain_is_imported_later() -> None:
    ran = subprocess.run([sys.executable, "-c", _LATER], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.strip() == "['error', 'refused']"
    assert ran.stderr == ""
