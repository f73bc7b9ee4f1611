"""Calls of the model: reported by the program, counted, and refused as far as that goes."""

from typing import Any

import anyio
import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.claude_agent_sdk_ways import options, sdk
from spanhook.cli.conformance.servers.openai_replies import Reply, Tokens
from spanhook.hooks.budget import Budget
from spanhook.testing import recorder

from .scripted import Script, ask, bash, converse, decisions, result, statuses

PATIENCE = 30.0


def turns(count: int) -> Script:
    return Script(*[Reply(calls=(bash(f"echo {number}", f"toolu_{number}"),)) for number in range(count)])


def test_totals_are_those_of_the_server() -> None:
    line = turns(2)
    with recorder(Hooks()) as seen:
        found = result(ask(line))
    (turn,) = [op for op in seen.operations if op.kind == "agent.invoke"]
    assert len(line) == 3
    assert turn.usage.total_tokens == line.tokens
    assert (turn.usage.llm_calls, turn.usage.tool_calls) == (3, 2)
    assert turn.usage.cost_usd == pytest.approx(found.total_cost_usd)
    assert list(turn.usage.by_model) == ["claude-haiku-4-5-20251001"]


def test_turns_of_one_client_are_counted_apart() -> None:
    line = turns(1)
    with recorder(Hooks()) as seen:
        converse(line, "one", "two")
    assert [op.usage.total_tokens for op in seen.operations if op.kind == "agent.invoke"] == [56, 28]
    assert sum(value for _, value in seen.metrics()["spanhook.usage.tokens"]) == line.tokens


def test_what_a_resumed_session_has_used_before_is_not_counted_again() -> None:
    line = Script()
    with recorder(Hooks()) as seen:
        first = result(ask(line, "one"))
        ask(line, "two", resume=first.session_id)
    assert len(line) == 2
    assert [op.usage.total_tokens for op in seen.operations if op.kind == "agent.invoke"] == [28, 28]


def test_what_the_application_makes_of_messages_is_not_what_the_program_said() -> None:
    """The SDK's messages share their dicts with what the program has sent."""
    hooks, said, line = Hooks(), list[Any](), turns(1)
    hooks.after("llm.call", timeout=PATIENCE)(lambda op: said.extend(op.response.messages))

    async def main() -> None:
        async with sdk.ClaudeSDKClient(options(line)) as client:
            for prompt in ("one", "two"):
                await client.query(prompt)
                async for message in client.receive_response():
                    for told in (getattr(message, "usage", None), getattr(message, "model_usage", None)):
                        if told:
                            told.clear()
                    for block in getattr(message, "content", ()):
                        if isinstance(block, sdk.ToolUseBlock):
                            block.input.clear()

    with recorder(hooks) as seen:
        anyio.run(main)
        assert sum(value for _, value in seen.metrics()["spanhook.usage.tokens"]) == line.tokens
    assert [op.usage.total_tokens for op in seen.operations if op.kind == "agent.invoke"] == [56, 28]
    assert [part["arguments"]["command"] for one in said for part in one["parts"] if part["type"] == "tool_call"] == [
        "echo 0"
    ]


@pytest.mark.parametrize("parts", [False, True])
def test_the_last_call_has_what_the_others_lack(parts: bool) -> None:
    """Tools begin before the program is told what the message that asks for them has used."""
    with recorder(Hooks()) as seen:
        ask(turns(1), include_partial_messages=parts)
    assert [op.usage.output_tokens for op in seen.operations if op.kind == "llm.call"] == [1, 15]


def test_tokens_of_the_cache_are_part_of_the_input() -> None:
    tokens = Tokens(input=20, output=8, cached=5, written=3)
    with recorder(Hooks()) as seen:
        ask(Script(Reply(tokens=tokens)))
    (call,) = [op for op in seen.operations if op.kind == "llm.call"]
    used = call.usage
    assert (used.input_tokens, used.cache_read_tokens, used.cache_write_tokens, used.output_tokens) == (20, 5, 3, 8)


def test_a_refused_call_of_the_model_stops_the_turn() -> None:
    hooks, line = Hooks(), turns(5)

    @hooks.before("llm.call", timeout=PATIENCE)
    def refuse(op: Operation) -> None:
        if "toolu_1" in repr(op.request.messages):
            raise Reject("enough", status_code=402)

    with recorder(hooks) as seen, pytest.raises(Reject, match="enough") as refused:
        ask(line)
    assert refused.value.status_code == 402
    assert len(line) <= 3
    assert decisions(seen, "llm.call") == ["attempted"]
    assert statuses(seen, "agent.invoke") == ["rejected"]
    covered = [(span.attributes or {})["spanhook.coverage"] for span in seen.spans if span.name.startswith("chat")]
    assert set(covered) == {"best_effort"}


def test_a_budget_stops_the_turn() -> None:
    hooks, line = Hooks(), turns(9)
    hooks.add(Budget(per="run", tokens=100, output_tokens=30))
    with recorder(hooks), pytest.raises(Reject, match="does not suffice"):
        ask(line)
    assert 2 <= len(line) <= 5


def test_a_client_goes_on_after_a_refused_call() -> None:
    hooks, line = Hooks(), Script()

    @hooks.before("llm.call", timeout=PATIENCE)
    def refuse(op: Operation) -> None:
        if "bad" in repr(op.request.messages):
            raise Reject("not now")

    with recorder(hooks):
        first, second = converse(line, "a bad one", "a good one")
    assert isinstance(first, Reject)
    assert second.result == "all done"


def test_a_call_cannot_be_answered_or_rewritten() -> None:
    for change in (lambda op: op.respond("made up"), lambda op: op.replace(messages=[])):
        hooks = Hooks()
        hooks.before("llm.call", timeout=PATIENCE)(change)
        with recorder(hooks) as seen, pytest.raises(Reject):
            ask(Script())
        assert set(decisions(seen, "llm.call")) == {"error"}
