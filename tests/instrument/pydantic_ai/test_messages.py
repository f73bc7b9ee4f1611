"""What hooks see of messages, and what arrives of messages that they rewrite."""

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ImageUrl, ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.pydantic_ai_ways import chat_model, responses_model
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import ASK, Way, all_ways, go, run, scripted, told

apis = pytest.mark.parametrize("make", [chat_model, responses_model])


def sent(body: Body) -> Any:
    """The conversation in the last request, whichever the API."""
    asked = body.seen[-1].body
    return asked["input"] if "input" in asked else asked["messages"]


# ------------------------------------------------------------------------------------------------ requests


def test_what_a_hook_sees() -> None:
    found: list[Any] = []
    hooks = Hooks()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        found.append((op.request.system, op.request.tools, op.request.messages))

    agent = Agent(scripted(), name="helper", instructions="Be brief.", system_prompt="You help.")

    @agent.tool_plain
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    with recorder(hooks):
        asyncio.run(agent.run([ASK, ImageUrl("https://example.com/a.png")]))
    assert found == [
        (
            "Be brief.",
            ["add"],
            [
                {"role": "system", "parts": [{"type": "text", "content": "You help."}]},
                {
                    "role": "user",
                    "parts": [
                        {"type": "text", "content": ASK},
                        {"type": "uri", "modality": "image", "uri": "https://example.com/a.png"},
                    ],
                },
            ],
        )
    ]


@apis
@all_ways
def test_rewritten_messages_and_instructions_arrive(way: Way, make: Any) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        messages = op.request.messages
        messages[-1]["parts"][0]["content"] = "Greet her."
        op.replace(messages=messages, system="Be kind.")

    with recorder(hooks) as seen:
        go(way, Agent(make(body), name="helper", instructions="Be brief."))
    assert "Greet her." in str(sent(body))
    assert ASK not in str(sent(body))
    asked = str(body.seen[-1].body)
    assert "Be kind." in asked
    assert "Be brief." not in asked
    assert told(seen)[0] == ("llm.call", "gpt-4o-mini", "success")


def test_what_is_not_rewritten_stays_the_same_object() -> None:
    hooks, body = Hooks(), Body()
    image = ImageUrl("https://example.com/a.png")

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        messages = op.request.messages
        messages[-1]["parts"][0]["content"] = "Describe it."
        op.replace(messages=messages)

    with recorder(hooks):
        asyncio.run(Agent(scripted(body), name="helper").run([ASK, image]))
    (part,) = body.seen[0][-1].parts
    assert part.content == ["Describe it.", image]


def test_messages_of_one_text() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Who?"}])

    with recorder(hooks):
        go(run, Agent(scripted(body), name="helper"))
    said = [(part.part_kind, part.content) for message in body.seen[0] for part in message.parts]
    assert said == [("system-prompt", "Be kind."), ("user-prompt", "Who?")]


@pytest.mark.parametrize("odd", ["Who?", {"role": "user", "text": "Who?"}, {"content": [{"type": "text"}]}])
def test_messages_that_say_nothing_are_refused(odd: Any, caplog: pytest.LogCaptureFixture) -> None:
    hooks, body = Hooks(), Body()
    hooks.before("llm.call")(lambda op: op.replace(messages=[odd]))
    with recorder(hooks), pytest.raises(Reject):
        go(run, Agent(scripted(body), name="helper"))
    assert body.runs == 0
    assert "a message is a mapping with `parts`, or with `content` that is text" in caplog.text


def test_another_model_cannot_be_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(model="other")

    with recorder(hooks), pytest.raises(Reject):
        go(run, Agent(scripted(body), name="helper"))
    assert body.runs == 0


# ------------------------------------------------------------------------------------------------ runs


HISTORY: list[ModelMessage] = [
    ModelRequest(parts=[UserPromptPart("Who are you?")]),
    ModelResponse(parts=[TextPart("A helper.")]),
]


def test_what_a_hook_of_a_run_sees() -> None:
    seen: list[Any] = []
    hooks = Hooks()

    @hooks.before("agent.invoke")
    def look(op: Operation) -> None:
        asked = op.request
        seen.extend([asked.system, asked.inputs, [(one["role"], one["parts"][0]["content"]) for one in asked.messages]])

    with recorder(hooks):
        asyncio.run(Agent(scripted(), name="helper", instructions="Be brief.").run(ASK, message_history=HISTORY))
    assert seen == ["Be brief.", ASK, [("user", "Who are you?"), ("assistant", "A helper."), ("user", ASK)]]


def test_a_rewritten_conversation() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("agent.invoke")
    def rewrite(op: Operation) -> None:
        first, *rest = op.request.messages
        first["parts"][0]["content"] = "Who?"
        op.replace(messages=[first, *rest])

    with recorder(hooks):
        asyncio.run(Agent(scripted(body), name="helper").run(ASK, message_history=HISTORY))
    said = [(part.part_kind, part.content) for message in body.seen[0] for part in message.parts]
    assert said == [("user-prompt", "Who?"), ("text", "A helper."), ("user-prompt", ASK)]
    assert HISTORY[0].parts[0].content == "Who are you?"  # pyright: ignore[reportAttributeAccessIssue]
