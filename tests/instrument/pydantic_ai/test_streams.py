"""Streams: held back, rewritten and refused as they pass, left early, dropped; what a run keeps of them."""

import asyncio
import re
from typing import Any

import pytest
from pydantic_ai import Agent

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.pydantic_ai_ways import chat_model
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import ASK, scripted, told

SECRET = "the secret is 12345 indeed"


def everything(model: Any) -> list[str]:
    """Everything that a streamed run says: its text, its output, its messages, the events of its model."""

    async def stream() -> list[str]:
        agent = Agent(model, name="helper")
        said: list[str] = []
        async with agent.run_stream(ASK) as result:
            said.extend([text async for text in result.stream_text(debounce_by=None)])
            said.append(str(await result.get_output()))
            said.append(str(result.all_messages()))

        async def hear(_context: Any, events: Any) -> None:
            said.extend([str(event) async for event in events])

        heard = await agent.run(ASK, event_stream_handler=hear)
        said.extend([str(heard.output), str(heard.all_messages())])
        return said

    return asyncio.run(stream())


def test_a_replaced_answer_is_all_that_gets_out() -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer")
    def replace(op: Operation) -> None:
        op.respond("nothing to see")

    with recorder(hooks):
        said = everything(scripted(None, SECRET))
    assert not [one for one in said if "12345" in one or "secret" in one]
    assert said[0] == "nothing to see"
    assert "nothing to see" in said[-1]


def test_a_refused_answer_does_not_get_out() -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer")
    def refuse(op: Operation) -> None:
        raise Reject("not that")

    with recorder(hooks), pytest.raises(Reject, match="not that"):
        everything(scripted(None, SECRET))


class Redact(Hook):
    """Rewrites the text of models' streams as it passes."""

    kinds = ("llm.call",)
    fail_mode = "closed"
    stream = "window"
    window = 40

    def text(self, op: Operation, text: str) -> str:
        return re.sub(r"\d+", "***", text)

    def after(self, op: Operation) -> None:
        """Answers that are not streamed are of no interest here."""


class Refuse(Redact):
    """Refuses it."""

    def text(self, op: Operation, text: str) -> str:
        if "12345" in text:
            raise Reject("not that")
        return text


def test_rewritten_as_it_passes() -> None:
    with recorder([Redact()]):
        said = everything(scripted(None, SECRET))
    assert not [one for one in said if "12345" in one]
    assert [one for one in said if one.startswith("the secret is *** indeed")]
    assert "the secret is *** indeed" in said[-1]


def test_refused_as_it_passes() -> None:
    with recorder([Refuse()]), pytest.raises(Reject, match="not that"):
        everything(scripted(None, SECRET))


def test_the_arguments_of_a_call_are_text_too() -> None:
    agent = Agent(scripted(None, [("look_up", {"query": "number 12345"})], "done"), name="helper")
    asked: list[str] = []

    @agent.tool_plain
    def look_up(query: str) -> str:
        """Look something up."""
        asked.append(query)
        return "found"

    async def hear(_context: Any, events: Any) -> None:
        async for _ in events:
            pass

    with recorder([Redact()]):
        asyncio.run(agent.run(ASK, event_stream_handler=hear))
    assert asked == ["number ***"]


def test_a_stream_that_is_left_early() -> None:
    agent = Agent(scripted(None, "word " * 99), name="helper")

    async def leave() -> None:
        async with agent.run_stream(ASK) as result:
            async for _ in result.stream_text(delta=True, debounce_by=None):
                break

    with recorder() as seen:
        asyncio.run(leave())
    call, whole = told(seen)
    assert call in (("llm.call", "scripted", "abandoned"), ("llm.call", "scripted", "success"))  # some versions read on
    assert whole == ("agent.invoke", "helper", "abandoned")


def test_the_usage_of_a_stream_is_what_its_object_says() -> None:
    async def stream() -> Any:
        async with Agent(chat_model(Body()), name="helper").run_stream(ASK) as result:
            async for _ in result.stream_text():
                pass
            used: Any = result.usage
            return used if hasattr(used, "input_tokens") else used()

    without = asyncio.run(stream())
    with recorder(_replaced_nothing()) as seen:
        used = asyncio.run(stream())
    assert used == without
    assert seen.operations[0].usage.total_tokens == 28


def _replaced_nothing() -> Hooks:
    """Hooks that hold a stream back and change nothing."""
    hooks = Hooks()

    @hooks.after("llm.call", stream="buffer")
    def look(op: Operation) -> None:
        assert op.result is not None

    return hooks


def test_without_hooks_a_stream_is_the_librarys_object() -> None:
    kinds: list[Any] = []

    async def stream() -> None:
        model = scripted()
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.messages import ModelRequest

        async with model_request_stream(model, [ModelRequest.user_text_prompt(ASK)]) as response:
            kinds.append(type(response).__name__)
            async for _ in response:
                pass
            kinds.append(str(response.get().parts[0]))

    for hooks in (None, _replaced_nothing()):
        with recorder(hooks):
            asyncio.run(stream())
    assert kinds == ["FunctionStreamedResponse", "TextPart(content='hello there')"] * 2
