"""The library's own events and spans, and its older callbacks, beside spanhook's operations: each once."""

import asyncio
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.llama_index_hearing import listening
from spanhook.cli.conformance.libraries.llama_index_ways import MODEL_WAYS, agent, own, result, tool
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body, settle
from spanhook.testing import recorder

_callbacks: Any = import_module("llama_index.core.callbacks")
_handlers: Any = import_module("llama_index.core.callbacks.base_handler")
WAYS = pytest.mark.parametrize("way", MODEL_WAYS)


class Handler(_handlers.BaseCallbackHandler):  # pyright: ignore[reportUntypedBaseClass]
    """Notes what the older callbacks are told of models."""

    def __init__(self) -> None:
        base: Any = super()
        base.__init__([], [])
        self.told = list[tuple[str, str]]()

    def start_trace(self, trace_id: Any = None) -> None:
        pass

    def end_trace(self, trace_id: Any = None, trace_map: Any = None) -> None:
        pass

    def on_event_start(self, event_type: Any, payload: Any = None, event_id: str = "", **_given: Any) -> str:
        del payload
        self.told.append(("start", str(event_type.value)))
        return event_id

    def on_event_end(self, event_type: Any, payload: Any = None, event_id: str = "", **_given: Any) -> None:
        del event_type, event_id
        found = payload.get("response") or payload.get("completion")
        message = getattr(found, "message", None)
        self.told.append(("end", str(getattr(found, "text", None) if message is None else message.content)))


def watched(body: Body) -> tuple[Any, Handler]:
    model, handler = own(body), Handler()
    model.callback_manager = _callbacks.CallbackManager([handler])
    return model, handler


@WAYS
def test_each_is_told_once_and_in_the_order_as_without(way: str) -> None:
    model, before = watched(Body())
    with listening() as without:
        settle(MODEL_WAYS[way](model))
    hooks = Hooks()
    hooks.around("llm.call")(_kept)
    model, now = watched(Body())
    with recorder(hooks), listening() as heard:
        settle(MODEL_WAYS[way](model))
    assert heard.names == without.names
    assert now.told == before.told
    assert before.told[-1] == ("end", Reply.text)


def _kept(op: Operation) -> Any:
    yield


@WAYS
def test_callbacks_get_what_hooks_have_made_of_an_answer(way: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", stream="buffer")
    def replace(op: Operation) -> Any:
        yield
        return "something else"

    model, handler = watched(Body())
    with recorder(hooks):
        assert settle(MODEL_WAYS[way](model)) == "something else"
    assert {text for what, text in handler.told if what == "end"} == {"something else"}


@WAYS
def test_callbacks_get_nothing_of_an_answer_that_hooks_refuse(way: str) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer", priority=50)
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    model, handler = watched(Body())
    with recorder(hooks), listening() as heard, pytest.raises(Reject):
        settle(MODEL_WAYS[way](model))
    assert Reply.text not in repr(handler.told) + repr(heard.results)


def test_a_refused_call_has_no_events() -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    model, handler = watched(Body())
    with recorder(hooks), listening() as heard, pytest.raises(Reject):
        settle(MODEL_WAYS["chat"](model))
    assert (handler.told, heard.names) == ([], [])


def test_hooks_and_handlers_run_once_in_an_agent() -> None:
    counted, hooks = list[Any](), Hooks()
    hooks.before("*")(lambda op: counted.append(op.kind))
    made = agent(own(Body(), ("look_up", {"query": "tea"}), "done"), tool(Body()))
    with recorder(hooks), listening() as heard:
        asyncio.run(result(made))
    assert counted == ["agent.invoke", "llm.call", "tool.execute", "llm.call"]
    assert heard.names.count("LLMChatEndEvent") == 2
    assert heard.names.count("FunctionTool.acall") == 1


def test_nothing_is_left_of_it() -> None:
    dispatcher: Any = import_module("llama_index_instrumentation.dispatcher").Dispatcher
    before = [dispatcher.__dict__[name] for name in ("event", "span_exit")]
    with recorder(Hooks()):
        assert [dispatcher.__dict__[name] for name in ("event", "span_exit")] != before
    assert [dispatcher.__dict__[name] for name in ("event", "span_exit")] == before
