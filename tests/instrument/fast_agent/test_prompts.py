"""Prompts of MCP that are applied to an agent or a model of fast-agent: gated as what is sent to them."""

from typing import Any

import pytest
from mcp.types import GetPromptResult, PromptMessage, TextContent

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.fast_agent_ways import agent_of, own_agent, own_model
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


def prompt(text: str = "tea") -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))])


async def test_a_prompt_that_an_agent_answers_is_a_run(hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        await own_agent(Body()).apply_prompt(prompt())
    (run,) = seen.tree()
    assert run["name"] == "invoke_agent helper"
    assert [inside["name"] for inside in run["children"]] == ["chat fast_agent"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", ["agent.invoke", "llm.call"])
async def test_an_applied_prompt_is_rewritten(hooks: Hooks, kind: Any, named: bool) -> None:
    @hooks.before(kind)
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "milk"}]}])

    spanhook.instrument(hooks)
    agent, template = agent_of(own_model()), kind == "llm.call"
    arguments: dict[str, Any] = {"prompt": prompt()} if named else {}
    given = () if named else (prompt(),)
    assert await agent.apply_prompt(*given, **arguments, as_template=template) == "milk"


async def test_a_prompt_of_one_text_is_given_as_text(hooks: Hooks) -> None:
    @hooks.before("agent.invoke")
    def rewrite(op: Operation) -> None:
        op.replace(inputs=op.request.inputs + " and milk")

    spanhook.instrument(hooks)
    assert await agent_of(own_model()).apply_prompt(prompt()) == "tea and milk"


async def test_a_template_that_a_model_answers_is_gated(hooks: Hooks) -> None:
    refused = True

    @hooks.before("llm.call")
    def decide(op: Operation) -> None:
        if refused:
            raise Reject("Not today")
        op.respond("milk")

    spanhook.instrument(hooks)
    body = Body()
    with pytest.raises(Reject, match="Not today"):
        await own_agent(body).apply_prompt(prompt(), as_template=True)
    refused = False
    assert await own_agent(body).apply_prompt(prompt(), as_template=True) == "milk"
    assert body.runs == 0


async def test_an_empty_prompt_reaches_no_model(hooks: Hooks) -> None:
    with recorder(hooks) as seen:
        await own_model().apply_prompt_template(GetPromptResult(messages=[]), "empty")
    assert seen.spans == []


async def test_a_models_own_instruction_is_the_system_text(hooks: Hooks) -> None:
    seen: list[str] = []

    @hooks.before("llm.call")
    def note(op: Operation) -> None:
        seen.append(op.request.system)

    spanhook.instrument(hooks)
    agent = own_agent(Body())
    agent.llm.instruction = "Be kind."
    await agent.send("tea")
    await agent.apply_prompt(prompt(), as_template=True)
    assert seen == ["Be kind.", "Be kind."]
