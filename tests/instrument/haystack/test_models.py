"""Models: what hooks see and change, callbacks, fallbacks, subclasses, usage."""

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries.haystack_ways import (
    ASK,
    IS_2,
    ChatMessage,
    Own,
    Script,
    agent,
    component,
    idle,
    made_of,
    messages,
    openai_model,
    own,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder


def text(result: Any) -> str:
    return result["replies"][0].text


def test_what_a_hook_sees_of_a_call() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.system, op.request.tools, [one["role"] for one in op.request.messages]))

    def look_up(query: str) -> str:
        return query

    made = agent(own(Body(), ("look_up", {"query": "tea"}), "done"), made_of(look_up), system_prompt="Be brief.")
    with recorder(hooks) as recorded:
        made.run(messages())
    roles = ["system", "user"]
    assert seen == [
        ("own", "Be brief.", ["look_up"], roles),
        ("own", "Be brief.", ["look_up"], [*roles, "assistant", "tool"]),
    ]
    attributes = recorded.spans[0].attributes or {}
    assert attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert attributes["gen_ai.response.model"] == "own"


@pytest.mark.parametrize(
    "answer",
    ["hi", ChatMessage.from_assistant("hi"), {"replies": [ChatMessage.from_assistant("hi")]}],
    ids=["text", "message", "result"],
)
def test_an_answer_takes_the_form_of_a_result(answer: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def reply(op: Operation) -> None:
        op.respond(answer)

    with recorder(hooks):
        result = own(body).run(messages())
    assert (text(result), type(result["replies"][0]), body.runs) == ("hi", ChatMessage, 0)


def test_instructions_can_be_rewritten() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("llm.call")(lambda op: op.replace(system="Be kind."))
    with recorder(hooks):
        own(body).run([ChatMessage.from_system("Be brief."), *messages()])
    assert body.seen == [["Be kind.", ASK]]


def test_what_replaces_an_answer_keeps_what_the_provider_said_of_it() -> None:
    hooks = Hooks()

    @hooks.around("llm.call")
    def replace(op: Operation) -> Any:
        yield
        return "something else"

    with recorder(hooks):
        result = own(Body()).run(messages())
    assert text(result) == "something else"
    assert result["replies"][0].meta["usage"]["total_tokens"] == Tokens().total


@component
class Several:
    """Gives two replies, each of which reports the usage of the call."""

    @component.output_types(replies=list)
    def run(self, messages: Any) -> dict[str, Any]:
        usage = {"input_tokens": 5, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 2}}
        return {"replies": [ChatMessage.from_assistant(one, meta={"usage": usage}) for one in ("a", "b")]}


def test_several_replies_are_one_calls_usage() -> None:
    used, hooks = list[Any](), Hooks()

    @hooks.after("llm.call")
    def total(op: Operation) -> None:
        used.append((op.usage.input_tokens, op.usage.output_tokens, op.usage.cache_read_tokens))

    with recorder(hooks):
        Several().run(messages())
    assert used == [(5, 3, 2)]


def test_a_component_that_takes_messages_and_gives_no_replies_is_no_model() -> None:
    @component
    class Counts:
        @component.output_types(count=int)
        def run(self, messages: Any) -> dict[str, Any]:
            return {"count": len(messages)}

    with recorder(Hooks()) as seen:
        assert Counts().run(messages()) == {"count": 1}
    assert not seen.spans


def test_a_subclass_that_goes_on_in_its_base_is_one_call() -> None:
    @component
    class Louder(Own):
        @component.output_types(replies=list[ChatMessage])
        def run(
            self, messages: Any, streaming_callback: Any = None, generation_kwargs: Any = None, tools: Any = None
        ) -> dict[str, Any]:
            result = Own.run(self, messages, streaming_callback, generation_kwargs, tools)
            return {"replies": [ChatMessage.from_assistant(text(result).upper())]}

    body = Body()
    with recorder(Hooks()) as seen:
        assert text(Louder(Script(body)).run(messages())) == Reply.text.upper()
    assert ([one.name for one in seen.spans], body.runs) == (["chat own"], 1)


# ------------------------------------------------------------------------------------------------- callbacks


def held(answer: str = "") -> Hooks:
    """Hooks that hold streams back, and replace what they say."""
    hooks = Hooks()

    @hooks.around("llm.call", stream="buffer")
    def decide(op: Operation) -> Any:
        yield
        if not answer:
            raise Reject("not for you")
        return answer

    return hooks


def listened(make: Callable[[Any], Any]) -> list[str]:
    """What a callback is told."""
    heard = list[str]()

    def tell(chunk: Any) -> None:
        heard.append(chunk.content)

    make(tell)
    return heard


def given(tell: Any) -> None:
    own(Body()).run(messages(), streaming_callback=tell)


def by_place(tell: Any) -> None:
    own(Body()).run(messages(), tell)


def of_an_agent(tell: Any) -> None:
    agent(own(Body()), made_of(idle)).run(messages(), streaming_callback=tell)


WAYS = pytest.mark.parametrize("way", [given, by_place, of_an_agent])


@WAYS
def test_a_callback_is_told_of_chunks_as_without(way: Any) -> None:
    without = listened(way)
    with recorder(Hooks()):
        assert listened(way) == without
    assert "".join(without) == Reply.text


@WAYS
def test_a_callback_is_told_what_replaces_an_answer(way: Any) -> None:
    with recorder(held("something else")):
        assert listened(way) == ["something else"]


@WAYS
def test_a_callback_is_not_told_what_is_refused(way: Any) -> None:
    heard = list[Any]()
    with recorder(held()), pytest.raises(Reject, match="not for you"):
        way(heard.append)
    assert heard == []


@WAYS
def test_a_callback_is_told_of_an_answer_in_place_of_a_call(way: Any) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond("from a cache"))
    with recorder(hooks):
        assert listened(way) == ["from a cache"]


def test_what_a_callback_raises_fails_the_call() -> None:
    def tell(_chunk: Any) -> None:
        raise KeyError("mine")

    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond("from a cache"))
    for one in (Hooks(), held("something else"), hooks):
        with recorder(one), pytest.raises(KeyError, match="mine"):
            given(tell)


# ------------------------------------------------------------------------------------------------- fallbacks


def fallback(*generators: Any) -> Any:
    chat: Any = import_module("haystack.components.generators.chat")
    return chat.FallbackChatGenerator(list(generators))


@pytest.mark.parametrize("is_async", [False, True])
def test_no_fallback_makes_up_for_a_refusal(is_async: bool) -> None:
    first, second, hooks = Body(), Body(), Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = fallback(own(first), own(second))
    with recorder(hooks) as seen, pytest.raises(Reject, match="not today"):
        asyncio.run(made.run_async(messages())) if is_async else made.run(messages())
    assert (first.runs, second.runs, len(seen.spans)) == (0, 0, 1)


def test_each_attempt_is_a_call() -> None:
    class Fails(Script):
        def next(self, messages: Any, callback: Any) -> Any:
            raise ValueError("it has failed")

    second = Body()
    made = fallback(Own(Fails()), own(second))
    with recorder(Hooks()) as seen:
        result = made.run(messages())
    assert result["meta"]["total_attempts"] == 2
    assert [(one.attributes or {})["spanhook.status"] for one in seen.spans] == ["error", "success"]


# ------------------------------------------------------------------------------------------------- clients


def test_the_request_of_a_client_is_its_transport() -> None:
    pytest.importorskip("openai", reason="a client that the library works with")
    body, used, hooks = Body(), list[int](), Hooks()
    hooks.after("llm.call")(lambda op: used.append(op.usage.total_tokens))
    with recorder(hooks, settings=Settings(stream_usage=True)) as seen:
        made = openai_model(body)
        made.run(messages(), generation_kwargs={"temperature": 0.5})
        asyncio.run(made.run_async(messages()))
        listened(lambda tell: made.run(messages(), streaming_callback=tell))
    assert (used, sum(used), len(seen.spans)) == ([Tokens().total] * 3, body.tokens, 3)
    assert (seen.spans[0].attributes or {})["gen_ai.request.temperature"] == 0.5


@pytest.mark.skipif(IS_2, reason="agents of this version want components")
def test_a_generator_that_is_no_component_is_gated() -> None:
    class Plain:
        def __init__(self) -> None:
            self.runs = 0

        def run(self, messages: Any, tools: Any = None) -> dict[str, Any]:
            self.runs += 1
            return {"replies": [ChatMessage.from_assistant("hi")]}

    hooks, plain = Hooks(), Plain()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    made = agent(plain, made_of(idle))
    for way in (made.run, lambda asked: asyncio.run(made.run_async(asked))):
        with recorder(hooks), pytest.raises(Reject, match="not today"):
            way(messages())
    assert plain.runs == 0


def test_a_model_that_is_a_component_of_its_own_is_an_agents_run() -> None:
    chat: Any = import_module("haystack.components.generators.chat")
    body, prompt = Body(), '{% message role="user" %}{{query}}{% endmessage %}'
    with recorder(Hooks()) as seen:
        result = chat.LLM(chat_generator=own(body), user_prompt=prompt).run(query=ASK)
    assert (result["last_message"].text, body.runs) == (Reply.text, 1)
    assert [one.name for one in seen.spans] == ["chat own", "invoke_agent LLM"]
