"""Runs in the overrides of an agent's methods: one with what they override, and asked anew for something else."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.strands_ways import ASK, Agent, City, asking
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.overriding import expect_asked_again


def blocks(text: str) -> list[dict[str, Any]]:
    return [{"text": text}]


def in_place(prompt: Any) -> Any:
    prompt[0]["text"] = "milk"
    return prompt


EDITS = pytest.mark.parametrize("edit", [in_place, lambda _prompt: blocks("milk"), lambda _prompt: "milk"])


def editing(body: Body, edit: Callable[[Any], Any]) -> Any:
    """An agent that edits what it is asked in front of the methods that it overrides."""

    class Editing(Agent):
        async def stream_async(self, prompt: Any = None, **given: Any) -> Any:
            async for event in super().stream_async(edit(prompt), **given):
                yield event

        async def structured_output_async(self, output_model: Any, prompt: Any = None) -> Any:
            return await super().structured_output_async(output_model, edit(prompt))

    made = asking(body)
    made.__class__ = Editing
    return made


WAYS = {
    "call": lambda made: made(blocks(ASK)),
    "invoke_async": lambda made: asyncio.run(made.invoke_async(blocks(ASK))),
    "structured output": lambda made: asyncio.run(made.structured_output_async(City, blocks(ASK))),
}


@EDITS
@pytest.mark.parametrize("way", WAYS)
def test_an_override_that_asks_for_something_else_is_asked_about_again(edit: Any, way: str) -> None:
    body = Body()
    expect_asked_again("agent.invoke", lambda: WAYS[way](editing(body, edit)))
    assert body.runs == 0


@pytest.mark.parametrize("way", WAYS)
def test_an_override_that_passes_on_what_a_hook_has_made_of_it_is_one_run(way: str) -> None:
    asked, hooks = list[Any](), Hooks()

    @hooks.before("agent.invoke")
    def rewrite(op: Operation) -> None:
        asked.append(op.request.inputs)
        op.replace(inputs=blocks("Say tea."))

    with recorder(hooks) as seen:
        WAYS[way](editing(Body(), lambda prompt: prompt))
    assert asked == [blocks(ASK)]
    assert [one.kind for one in seen.operations].count("agent.invoke") == 1


def test_what_a_run_in_a_run_of_its_agent_uses_is_counted_once() -> None:
    totals, hooks, body = list[int](), Hooks(), Body()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks):
        assert str(editing(body, lambda _prompt: "another")(ASK)).strip() == Reply.text
    assert totals == [Tokens().total, Tokens().total]
    assert body.tokens == Tokens().total


def test_where_no_hook_applies_an_override_is_one_run_whatever_it_asks() -> None:
    with recorder() as seen:
        WAYS["call"](editing(Body(), lambda _prompt: blocks("another")))
    assert [one.kind for one in seen.operations].count("agent.invoke") == 1
