"""Hooks' answers in place of a model's, in every form and in every way of running an agent."""

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.pydantic_ai_ways import chat_model
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import Way, all_ways, go, run, scripted, told

ANSWERS = pytest.mark.parametrize(
    "given",
    [
        "an answer",
        ModelResponse(parts=[TextPart("an answer")]),
        {"role": "assistant", "parts": [{"type": "text", "content": "an answer"}]},
    ],
)


@ANSWERS
@all_ways
def test_answered_by_a_hook(way: Way, given: Any) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        op.respond(given)

    with recorder(hooks):
        assert go(way, Agent(chat_model(body), name="helper")) == "an answer"
    assert body.runs == 0


@all_ways
def test_answered_with_a_call(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        if len(op.request.messages) == 1:
            call = {"type": "tool_call", "id": "call_1", "name": "add", "arguments": {"a": 1}}
            op.respond({"role": "assistant", "parts": [call]})

    agent = Agent(chat_model(body), name="helper")

    @agent.tool_plain
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    with recorder(hooks) as seen:
        assert go(way, agent) == Reply.text
    assert body.runs == 1
    assert ("tool.execute", "add", "success") in told(seen)


def test_an_answer_may_have_what_a_response_has() -> None:
    response = ModelResponse(parts=[ToolCallPart("final_result", {"response": 7}, "call_1")])
    hooks = Hooks()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        op.respond(response)

    with recorder(hooks):
        assert go(run, Agent(scripted(), name="helper", output_type=int)) == 7


def test_what_spells_a_replaced_answer_out_is_left_out() -> None:
    def answer(_messages: Any, _info: Any) -> ModelResponse:
        details = {"logprobs": [{"token": "secret"}], "timestamp": "now"}
        return ModelResponse(parts=[TextPart("secret")], provider_details=details)

    hooks, kept = Hooks(), list[Any]()

    @hooks.after("llm.call")
    def replace(op: Operation) -> None:
        op.respond("nothing to see")

    async def ask(agent: Any) -> Any:
        result = await agent.run("Tell.")
        kept.extend(result.all_messages())
        return result.output

    with recorder(hooks):
        assert asyncio.run(ask(Agent(FunctionModel(answer), name="helper"))) == "nothing to see"
    assert "secret" not in str(kept)
    assert kept[-1].provider_details == {"timestamp": "now"}
