"""Turns: prompts are gated before they are written, and refusals come where the result would have come."""

from typing import Any

import anyio
import pytest

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.claude_agent_sdk_ways import options, sdk
from spanhook.cli.conformance.servers.openai_replies import Reply
from spanhook.testing import recorder

from .scripted import Script, ask, bash, converse, result, statuses, streamed

PATIENCE = 30.0


def refusing(text: str) -> Hooks:
    hooks = Hooks()

    @hooks.before("agent.invoke", timeout=PATIENCE)
    def refuse(op: Operation) -> None:
        if text in repr(op.request.messages):
            raise Reject("not this prompt")

    return hooks


def test_a_client_goes_on_after_a_refusal() -> None:
    line = Script()
    with recorder(refusing("bad")) as seen:
        refused, answered = converse(line, "a bad one", "a good one")
    assert isinstance(refused, Reject)
    assert answered.result == "all done"
    assert len(line) == 1
    assert statuses(seen, "agent.invoke") == ["rejected", "success"]


def test_of_a_stream_of_prompts_the_refused_one_is_not_sent() -> None:
    line = Script()
    with recorder(refusing("a bad one")), pytest.raises(Reject):
        ask(line, streamed("a good one", "a bad one"))
    assert not any("a bad one" in repr(seen.body) for seen in line)


@pytest.mark.parametrize("busy", [True, False], ids=["taken in", "in its turn"])
def test_a_prompt_that_is_written_while_a_turn_is_under_way_leaves_the_others_their_own(busy: bool) -> None:
    """The program takes it into that turn while tools are used, and has no result of its own for it then."""
    first = (Reply(calls=(bash("sleep 0.5"),)),) if busy else ()
    line, results = Script(*first, Reply(text="one")), list[Any]()

    async def main() -> None:
        async with sdk.ClaudeSDKClient(options(line)) as client:
            await client.query("first")
            await client.query("second")
            for prompt in ("", "third") if busy else ("", "", "third"):
                if prompt:
                    await client.query(prompt)
                results.extend([one async for one in client.receive_response()][-1:])

    with recorder(Hooks()) as seen:
        anyio.run(main)
    turns = [op for op in seen.operations if op.kind == "agent.invoke"]
    assert [op.request.inputs for op in turns] == ["first", "second", "third"]
    assert [op.status for op in turns] == ["success"] * 3
    assert [op.usage.llm_calls for op in turns] == ([2, 0, 1] if busy else [1, 1, 1])
    assert sum(op.usage.total_tokens for op in turns) == line.tokens
    assert len(results) == len(line) - busy


def test_a_client_goes_on_after_an_answer() -> None:
    hooks, line = Hooks(), Script()

    @hooks.before("agent.invoke", timeout=PATIENCE)
    def answer(op: Operation) -> None:
        if "cached" in repr(op.request.messages):
            op.respond("from the cache")

    with recorder(hooks) as seen:
        first, second = converse(line, "cached", "other")
    assert first.result == "from the cache"
    assert second.result == "all done"
    assert len(line) == 1
    assert [op.usage.total_tokens for op in seen.operations if op.kind == "agent.invoke"] == [0, 28]


def test_blocks_of_a_prompt_are_rewritten() -> None:
    hooks, line = Hooks(), Script()

    @hooks.before("agent.invoke", timeout=PATIENCE)
    def rewrite(op: Operation) -> None:
        (message,) = op.request.messages
        op.replace(messages=[{**message, "parts": [{"type": "text", "content": "rewritten"}]}])

    async def prompts() -> Any:
        content = [{"type": "text", "text": "original"}]
        yield {"type": "user", "message": {"role": "user", "content": content}, "session_id": "one"}

    with recorder(hooks):
        ask(line, prompts())
    assert "rewritten" in repr(line[0].body)
    assert "original" not in repr(line[0].body)


def test_a_turn_is_inside_of_what_asks_for_it() -> None:
    async def main() -> None:
        async with spanhook.operation("agent.invoke", "outer"), sdk.ClaudeSDKClient(options(Script())) as client:
            await client.query("hello")
            async for _ in client.receive_response():
                pass

    with recorder(Hooks()) as seen:
        anyio.run(main)
    (turn,) = [op for op in seen.operations if op.name == "claude"]
    assert turn.parent is not None
    assert turn.parent.name == "outer"
    assert turn.parent.usage.total_tokens == 28


def test_a_refusal_of_the_run_leaves_the_operation_around_it() -> None:
    hooks, reached = Hooks(), list[str]()

    @hooks.before("tool.execute", timeout=PATIENCE)
    def refuse(_op: Operation) -> None:
        raise Reject("stop it all", scope="run")

    async def main() -> None:
        async with spanhook.operation("agent.invoke", "outer"):
            try:
                async for _ in sdk.query(prompt="hello", options=options(Script(Reply(calls=(bash("echo hi"),))))):
                    pass
            except Exception:
                reached.append("caught")
            reached.append("after")

    with recorder(hooks), pytest.raises(Reject, match="stop it all"):
        anyio.run(main)
    assert reached == []


def test_sessions_and_conversations_have_ids() -> None:
    with recorder(Hooks()) as seen:
        found = result(ask(Script()))
    (span,) = [span for span in seen.spans if span.name == "invoke_agent claude"]
    assert (span.attributes or {})["gen_ai.conversation.id"] == found.session_id


def test_an_error_of_the_program_is_one_of_the_turn() -> None:
    line = Script(*[Reply(calls=(bash(f"echo {number}", f"toolu_{number}"),)) for number in range(3)])
    with recorder(Hooks()) as seen, pytest.raises(sdk.ProcessError):
        ask(line, max_turns=1)
    assert statuses(seen, "agent.invoke") == ["error"]


def test_interrupted_while_a_gate_waits() -> None:
    hooks, waiting = Hooks(), list[anyio.Event]()

    @hooks.before("tool.execute", timeout=PATIENCE)
    async def wait(_op: Operation) -> None:
        waiting[0].set()
        await anyio.sleep(PATIENCE)

    async def main() -> Any:
        waiting.append(anyio.Event())
        async with sdk.ClaudeSDKClient(options(Script(Reply(calls=(bash("echo hi"),))))) as client:
            await client.query("hello")
            await waiting[0].wait()
            await client.interrupt()
            return [message async for message in client.receive_response()]

    with recorder(hooks) as seen:
        anyio.run(main)
    assert statuses(seen, "tool.execute") == ["cancelled"]
    assert statuses(seen, "agent.invoke") == ["error"]


def test_interrupted_by_the_application() -> None:
    line = Script(Reply(calls=(bash("sleep 20"),)))

    async def main() -> Any:
        async with sdk.ClaudeSDKClient(options(line)) as client:
            await client.query("hello")
            async for message in client.receive_response():
                if isinstance(message, sdk.AssistantMessage):
                    await client.interrupt()
            await client.query("again")
            return [message async for message in client.receive_response()]

    with recorder(Hooks()) as seen:
        assert result(anyio.run(main)).result == "all done"
    assert statuses(seen, "agent.invoke") == ["error", "success"]
    assert len(statuses(seen, "tool.execute")) == 1
