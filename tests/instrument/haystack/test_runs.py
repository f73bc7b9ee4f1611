"""Runs in the overrides of an agent's methods: one with what they override, and asked anew for something else."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.haystack_ways import Agent, ChatMessage, asking, messages
from spanhook.cli.conformance.servers.openai_server import Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.overriding import expect_asked_again


def in_place(given: Any) -> Any:
    given[:] = [ChatMessage.from_user("milk")]
    return given


EDITS = pytest.mark.parametrize("edit", [in_place, lambda _given: [ChatMessage.from_user("milk")]])


def editing(body: Body, edit: Callable[[Any], Any]) -> Any:
    """An agent that edits what it is asked in front of the methods that it overrides."""

    class Editing(Agent):
        def run(self, messages: Any = None, **given: Any) -> Any:
            return super().run(messages=edit(messages), **given)

        async def run_async(self, messages: Any = None, **given: Any) -> Any:
            return await super().run_async(messages=edit(messages), **given)

    made = asking(body)
    made.__class__ = Editing
    return made


WAYS: dict[str, Callable[[Any], Any]] = {
    "run": lambda made: made.run(messages=messages()),
    "run_async": lambda made: asyncio.run(made.run_async(messages=messages())),
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
        asked.append(op.request.messages)
        op.replace(inputs=[ChatMessage.from_user("Say tea.")])

    with recorder(hooks) as seen:
        WAYS[way](editing(Body(), lambda given: given))
    assert len(asked) == 1
    assert [one.kind for one in seen.operations].count("agent.invoke") == 1


@pytest.mark.parametrize("way", WAYS)
def test_what_a_run_in_a_run_of_its_agent_uses_is_counted_once(way: str) -> None:
    totals, hooks, body = list[int](), Hooks(), Body()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks):
        WAYS[way](editing(body, lambda _given: [ChatMessage.from_user("another")]))
    assert totals == [Tokens().total, Tokens().total]
    assert body.tokens == Tokens().total
