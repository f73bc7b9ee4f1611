"""Decisions, where OpenAI's SDK has them: a model asked to classify and to score is a model called."""

import json
from typing import Any

import openai
import pytest
from inline_snapshot import snapshot

from spanhook import HookError, Hooks, Operation
from spanhook.cli.conformance.libraries.openai_ways import DECISIONS, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.testing import recorder

pytestmark = pytest.mark.skipif(
    not hasattr(openai.OpenAI, "decisions"), reason="this version of openai has no decisions"
)


def test_a_span(server: OpenAIServer) -> None:
    server.script(Reply(tokens=Tokens(input=1000, output=500, cached=200, written=50, reasoning=100)))
    with recorder() as seen, sync_client(server.url) as client:
        client.decisions.create(**DECISIONS)
        [node] = seen.tree()
    assert node["attributes"].pop("server.port") == server.port
    assert node == snapshot(
        {
            "name": "chat gpt-6-luna",
            "status": "UNSET",
            "attributes": {
                "gen_ai.provider.name": "openai",
                "server.address": "127.0.0.1",
                "gen_ai.request.model": "gpt-6-luna",
                "gen_ai.operation.name": "chat",
                "openai.api.type": "decisions",
                "gen_ai.output.type": "json",
                "spanhook.kind": "llm.call",
                "spanhook.status": "success",
                "spanhook.run.id": "00000000000000000000000000000001",
                "gen_ai.response.model": "gpt-6-luna-2024-07-18",
                "gen_ai.usage.input_tokens": 1000,
                "gen_ai.usage.output_tokens": 500,
                "gen_ai.usage.cache_read.input_tokens": 200,
                "gen_ai.usage.cache_creation.input_tokens": 50,
                "gen_ai.usage.cache_write.input_tokens": 50,
                "gen_ai.usage.reasoning.output_tokens": 100,
                "spanhook.cost.usd": 0.00033325,
            },
            "events": [],
            "children": [],
        }
    )


def test_the_request_and_the_answers_as_hooks_see_them(server: OpenAIServer) -> None:
    hooks = Hooks()
    saw: list[Any] = []

    @hooks.before("llm.call", models={"gpt-6-luna"})
    def before(op: Operation) -> None:
        saw.append((op.request.messages, op.request.inputs, op.request.model))

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        saw.append([json.loads(part["content"]) for part in op.response.messages[0]["parts"]])

    with recorder(hooks), sync_client(server.url) as client:
        client.decisions.create(**DECISIONS)
    assert saw == [
        ([{"role": "user", "parts": [{"type": "text", "content": "Say hello."}]}], "Say hello.", "gpt-6-luna"),
        [{"name": "polite", "type": "predicate", "probability": 0.9}],
    ]


@pytest.mark.every_value
@pytest.mark.parametrize("change", [{"inputs": "Go away."}, {"messages": "Go away."}, {"model": "gpt-7"}])
def test_rewriting(change: dict[str, Any], server: OpenAIServer) -> None:
    hooks = Hooks()
    if "messages" in change:
        change = {"messages": [{"role": "user", "parts": [{"type": "text", "content": change["messages"]}]}]}

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        with pytest.raises(HookError, match="was given system="):
            op.replace(system="Be harsh.")
        op.replace(**change)

    with recorder(hooks), sync_client(server.url) as client:
        client.decisions.create(**DECISIONS)
    expected = {"model": "gpt-7"} if "model" in change else {"input": "Go away."}
    assert server.requests[0].body == {**DECISIONS, **expected}


@pytest.mark.parametrize("whole", [False, True])
def test_answering(whole: bool, server: OpenAIServer) -> None:
    answers = [{"name": "polite", "type": "predicate", "probability": 0.1}]
    hooks = Hooks()

    @hooks.before("llm.call", priority=200)
    def answer(op: Operation) -> None:
        op.respond({"answers": answers, "model": "gpt-6-luna"} if whole else answers)

    with recorder(hooks) as seen, sync_client(server.url) as client:
        made = client.decisions.create(**DECISIONS)
        raw = client.decisions.with_raw_response.create(**DECISIONS).parse()
    assert server.requests == []
    assert made == raw
    assert type(made).__name__ == "Decision"
    assert made.answers[0].probability == 0.1  # pyright: ignore[reportAttributeAccessIssue]
    assert [op.usage.total_tokens for op in seen.operations] == [0, 0]


def test_an_unusable_answer_is_a_failure_of_the_hook(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", fail_mode="open")
    def answer(op: Operation) -> None:
        op.respond("polite")

    with recorder(hooks) as seen, sync_client(server.url) as client:
        client.decisions.create(**DECISIONS)
    assert len(server.requests) == 1
    assert "a Decision or a list of answers" in seen.operations[0].decisions[0].reason
