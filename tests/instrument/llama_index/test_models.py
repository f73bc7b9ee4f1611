"""Models: what hooks see and change, subclasses, structured output, streams, usage."""

import asyncio
import gc
import pickle
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from pydantic import BaseModel

from spanhook import Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries.llama_index_models import ChatMessage, ChatResponse, Own, Prompted
from spanhook.cli.conformance.libraries.llama_index_ways import (
    ASK,
    MODEL_WAYS,
    agent,
    messages,
    openai_model,
    own,
    prompted,
    result,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body, settle
from spanhook.concurrency import reaper
from spanhook.testing import recorder

_types: Any = import_module("llama_index.core.base.llms.types")
_prompts: Any = import_module("llama_index.core.prompts")
ImageBlock, TextBlock, ThinkingBlock = _types.ImageBlock, _types.TextBlock, _types.ThinkingBlock
WAYS = pytest.mark.parametrize("way", MODEL_WAYS)


def counted() -> tuple[Hooks, list[tuple[int, int]]]:
    hooks, used = Hooks(), list[tuple[int, int]]()

    @hooks.after("llm.call")
    def count(op: Operation) -> None:
        used.append((op.usage.input_tokens, op.usage.output_tokens))

    return hooks, used


def test_what_a_hook_sees_of_a_call() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.system, op.request.tools, [one["role"] for one in op.request.messages]))

    def look_up(query: str) -> str:
        """Look something up."""
        return query

    made = agent(own(Body(), ("look_up", {"query": "tea"}), "done"), look_up, system_prompt="Be brief.")
    with recorder(hooks):
        asyncio.run(result(made))
    roles = ["system", "user"]
    assert seen == [
        ("own", "Be brief.", ["look_up"], roles),
        ("own", "Be brief.", ["look_up"], [*roles, "assistant", "tool"]),
    ]


def test_instructions_can_be_rewritten() -> None:
    body, hooks = Body(), Hooks()
    hooks.before("llm.call")(lambda op: op.replace(system="Be kind."))
    with recorder(hooks):
        own(body).chat([ChatMessage(role="system", content="Be brief."), *messages()])
    assert body.seen == [["Be kind.", ASK]]


def test_what_a_hook_leaves_alone_stays_the_object_that_it_was() -> None:
    class Kept(Own):
        got: Any = None

        def chat(self, messages: Any, **_given: Any) -> Any:
            self.got = messages
            return super().chat(messages)

    hooks, made = Hooks(), Kept(body=Body())
    image = ImageBlock(url="https://example.com/a.png")
    first = ChatMessage(role="user", blocks=[image, TextBlock(text="what is it?")], additional_kwargs={"name": "Ann"})
    second = ChatMessage(role="assistant", blocks=[ThinkingBlock(content="hm"), TextBlock(text="tea")])

    @hooks.before("llm.call")
    def change(op: Operation) -> None:
        given = op.request.messages
        given[0]["parts"][1]["content"] = "what else?"
        op.replace(messages=given)

    with recorder(hooks):
        made.chat([first, second])
    assert made.got[1] is second
    assert made.got[0].blocks[0] is image
    assert made.got[0].blocks[1].text == "what else?"
    assert made.got[0].additional_kwargs == {"name": "Ann"}
    assert first.blocks[1].text == "what is it?"


# ------------------------------------------------------------------------------------------------- one call


@WAYS
@pytest.mark.parametrize("make", [own, prompted, openai_model])
def test_each_way_is_one_call_and_counted_once(make: Callable[[Body], Any], way: str) -> None:
    if make is openai_model:
        pytest.importorskip("llama_index.llms.openai", reason="a client that the library works with")
    hooks, used = counted()
    body = Body()
    with recorder(hooks, settings=Settings(stream_usage=True)) as seen:
        assert settle(MODEL_WAYS[way](make(body))) == Reply.text
    tokens = Tokens()
    assert (len(seen.spans), body.runs, used) == (1, 1, [(tokens.input, tokens.output)])


def test_a_subclass_that_goes_on_in_its_base_is_one_call() -> None:
    class Louder(Own):
        def chat(self, messages: Any, **given: Any) -> Any:
            response = super().chat(messages, **given)
            return ChatResponse(message=ChatMessage(role="assistant", content=response.message.content.upper()))

    with recorder(Hooks()) as seen:
        assert Louder(body=Body()).chat(messages()).message.content == Reply.text.upper()
    assert [one.name for one in seen.spans] == ["chat own"]


def test_a_subclass_that_asks_something_else_makes_two_calls() -> None:
    class Twice(Own):
        def chat(self, messages: Any, **given: Any) -> Any:
            super().chat([ChatMessage(role="user", content="Something else.")])
            return super().chat(messages, **given)

    asked, hooks = list[str](), Hooks()
    hooks.before("llm.call")(lambda op: asked.append(op.request.messages[-1]["parts"][0]["content"]))
    with recorder(hooks):
        Twice(body=Body()).chat(messages())
    assert asked == [ASK, "Something else."]


def test_a_model_that_asks_another_is_two_calls() -> None:
    class Router(Own):
        to: Any = None

        def chat(self, messages: Any, **given: Any) -> Any:
            return self.to.chat(messages, **given)

    with recorder(Hooks()) as seen:
        Router(to=own(Body())).chat(messages())
    assert [one.name for one in seen.spans] == ["chat own", "chat own"]


class Name(BaseModel):
    """A name."""

    name: str


def _structured(model: Any) -> Any:
    return model.structured_predict(Name, _prompts.PromptTemplate("Name {what}."), what="a tea")


def _astructured(model: Any) -> Any:
    return model.astructured_predict(Name, _prompts.PromptTemplate("Name {what}."), what="a tea")


def _as_structured(model: Any) -> Any:
    return model.as_structured_llm(Name).chat(messages()).raw


STRUCTURED = pytest.mark.parametrize("ask", [_structured, _astructured, _as_structured])


@STRUCTURED
def test_structured_output_is_one_call_of_the_model_that_is_asked(ask: Any) -> None:
    hooks, used = counted()
    with recorder(hooks) as seen:
        made = settle(ask(own(Body(), ("Name", {"name": "Assam"}))))
    assert made == Name(name="Assam")
    assert ([one.name for one in seen.spans], len(used)) == (["chat own"], 1)


@STRUCTURED
def test_structured_output_can_be_refused(ask: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        settle(ask(own(body, ("Name", {"name": "Assam"}))))
    assert body.runs == 0


@pytest.mark.parametrize("name", ["predict", "apredict", "stream", "astream"])
def test_predictions_are_calls(name: str) -> None:
    async def read(made: Any) -> str:
        made = await made if hasattr(made, "__await__") else made
        if isinstance(made, str):
            return made
        if hasattr(made, "__aiter__"):
            return "".join([one async for one in made])
        return "".join(made)

    with recorder(Hooks()) as seen:
        said = asyncio.run(read(getattr(own(Body()), name)(_prompts.PromptTemplate("{what}"), what=ASK)))
    assert (said, [one.name for one in seen.spans]) == (Reply.text, ["chat own"])


# ------------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("ends", ["closed", "dropped"])
def test_a_stream_that_is_left_ends_its_operation(ends: str) -> None:
    with recorder(Hooks()) as seen:
        stream = own(Body()).stream_chat(messages())
        assert next(stream).delta == Reply.text.split(" ")[0] + " "
        if ends == "closed":
            stream.close()
        del stream
        gc.collect()
        reaper.drain()
        (op,) = seen.operations
    assert op.status == "abandoned"


def test_text_does_not_leave_a_stream_before_hooks_have_decided() -> None:
    hooks, body = Hooks(), Body()

    @hooks.after("llm.call", stream="buffer", priority=50)
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        next(own(body).stream_chat(messages()))
    assert body.runs == 1


def test_chunks_are_the_library_s_own() -> None:
    with recorder(Hooks()):
        chunks = [*own(Body()).stream_chat(messages())]
    assert [one.delta for one in chunks] == ["hello ", "there ", "friend"]
    assert {type(one) for one in chunks} == {ChatResponse}


# ------------------------------------------------------------------------------------------------- pydantic


def test_models_stay_what_they_are() -> None:
    without, fields = Own(turns=("hi",)).model_dump(), [*Own.model_fields]
    with recorder(Hooks()):
        made = Own(turns=("hi",))
        assert made.model_dump() == without
        assert made.model_copy(deep=True).chat(messages()).message.content == "hi"
        assert Own.model_validate(without).metadata.model_name == "own"
        assert [*Own.model_fields] == fields
        chat = pickle.loads(pickle.dumps(Own.chat))
        assert chat(Own(turns=("hi",)), messages()).message.content == "hi"


def test_a_prompt_only_model_is_recognized_by_what_it_is_asked() -> None:
    class Elsewhere(Prompted):
        def complete(self, prompt: str, formatted: bool = False, **given: Any) -> Any:
            return super().complete(f"Something else than {prompt}", formatted=formatted, **given)

    asked, hooks = list[Any](), Hooks()
    hooks.before("llm.call")(lambda op: asked.append(op.request.messages[-1]["parts"][0]["content"]))
    with recorder(hooks):
        Elsewhere(body=Body()).complete(ASK)
    assert asked == [ASK, f"Something else than {ASK}"]
