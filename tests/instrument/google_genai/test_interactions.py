"""Interactions and decisions, which go around the API client."""

import json
from typing import Any

import pytest
from google.genai import Client
from inline_snapshot import snapshot

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.google_genai_ways import ASKED, INTERACTION, MODEL
from spanhook.cli.conformance.servers.google_interactions import has_steps
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens
from spanhook.testing import recorder
from tests.instrument.google_genai.test_streams import SECRET, Masking

__test__ = hasattr(Client, "interactions")  # the oldest versions have none
pytestmark = pytest.mark.filterwarnings("ignore:Interactions usage is experimental")
of_steps = pytest.mark.skipif(not has_steps(), reason="interactions of this version have no steps")


def test_a_span(client: Client, server: GoogleServer) -> None:
    server.script(Reply(tokens=Tokens(input=1000, output=500, cached=200, reasoning=100)))
    with recorder() as seen:
        client.interactions.create(**INTERACTION, generation_config={"temperature": 0.5, "thinking_level": "low"})
        [node] = seen.tree()
    assert node["attributes"].pop("server.port") == server.port
    node["attributes"].pop("spanhook.cost.usd", None)
    assert node == snapshot(
        {
            "name": "generate_content gemini-2.5-flash",
            "status": "UNSET",
            "attributes": {
                "gen_ai.provider.name": "gcp.gemini",
                "server.address": "127.0.0.1",
                "gen_ai.request.model": "gemini-2.5-flash",
                "gen_ai.operation.name": "generate_content",
                "gen_ai.request.temperature": 0.5,
                "gen_ai.request.reasoning.level": "low",
                "spanhook.kind": "llm.call",
                "spanhook.status": "success",
                "spanhook.run.id": "00000000000000000000000000000001",
                "gen_ai.response.id": "v1_interaction",
                "gen_ai.response.model": "gemini-2.5-flash",
                "gen_ai.response.finish_reasons": ("completed",),
                "gen_ai.usage.input_tokens": 1000,
                "gen_ai.usage.output_tokens": 500,
                "gen_ai.usage.cache_read.input_tokens": 200,
                "gen_ai.usage.reasoning.output_tokens": 100,
            },
            "events": [],
            "children": [],
        }
    )


def test_an_agent(client: Client, server: GoogleServer) -> None:
    with recorder() as seen:
        client.interactions.create(agent="deep-research-pro-preview-12-2025", input=ASKED, background=True)
        [node] = seen.tree()
    told = node["attributes"]
    assert (node["name"], told["gen_ai.operation.name"]) == (
        "invoke_agent deep-research-pro-preview-12-2025",
        "invoke_agent",
    )
    assert seen.operations[0].kind == "llm.call"


def test_vertex_ai(vertex: Client) -> None:
    with recorder() as seen:
        vertex.interactions.create(**INTERACTION)
    assert seen.operations[0].provider == "gcp.vertex_ai"


@pytest.mark.parametrize("usage", [{"total_tokens": 20}, {"total_tokens": 24}, {}])
def test_whatever_the_total_includes(client: Client, server: GoogleServer, usage: dict[str, int]) -> None:
    counts = {"total_input_tokens": 12, "total_output_tokens": 8, "total_thought_tokens": 4, **usage}
    server.script(Reply(body={"id": "1", "status": "completed", "steps": [], "outputs": [], "usage": counts}))
    with recorder() as seen:
        client.interactions.create(**INTERACTION)
    used = seen.operations[0].usage
    assert (used.total_tokens, used.reasoning_tokens) == (usage.get("total_tokens", 24), 4)


# ----------------------------------------------------------------------------------------------- what hooks see


TALK: list[Any] = [
    {
        "type": "user_input",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "data": "cGlj", "mime_type": "image/png"},
        ],
    },
    {"type": "function_call", "id": "1", "name": "look", "arguments": {"at": "it"}},
    {"type": "function_result", "call_id": "1", "name": "look", "result": {"said": "a cat"}},
]


@of_steps
def test_steps(client: Client, server: GoogleServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        assert op.request.messages == snapshot(
            [
                {
                    "role": "user",
                    "parts": [
                        {"type": "text", "content": "What is this?"},
                        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "cGlj"},
                    ],
                },
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "id": "1", "name": "look", "arguments": {"at": "it"}}],
                },
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": {"said": "a cat"}}]},
            ]
        )
        assert op.request.tools == ["look", "google_search"]
        messages = op.request.messages
        messages[0]["parts"][0]["content"] = "***"
        messages[2]["parts"][0]["response"] = {"said": "a dog"}
        op.replace(messages=messages, system="Be long.", model="gemini-2.5-pro")

    tools: list[Any] = [
        {"type": "function", "name": "look", "parameters": {"type": "object"}},
        {"type": "google_search"},
    ]
    with recorder(hooks):
        client.interactions.create(model=MODEL, input=TALK, tools=tools)
    sent = server.requests[0].body
    assert (sent["model"], sent["system_instruction"]) == ("gemini-2.5-pro", "Be long.")
    assert sent["input"] == snapshot(
        [
            {
                "content": [
                    {"type": "text", "text": "***"},
                    {"type": "image", "data": "cGlj", "mime_type": "image/png"},
                ],
                "type": "user_input",
            },
            {"arguments": {"at": "it"}, "id": "1", "name": "look", "type": "function_call"},
            {"call_id": "1", "result": {"said": "a dog"}, "name": "look", "type": "function_result"},
        ]
    )


def test_one_text_stays_one(client: Client, server: GoogleServer) -> None:
    hooks = Hooks()
    text = {"role": "user", "parts": [{"type": "text", "content": "***"}]}
    hooks.before("llm.call")(lambda op: op.replace(messages=[text]))
    with recorder(hooks):
        client.interactions.create(**INTERACTION)
    assert server.requests[0].body["input"] == "***"


@pytest.mark.parametrize("streamed", [False, True])
def test_calls_are_output(client: Client, server: GoogleServer, streamed: bool) -> None:
    hooks, said = Hooks(), list[Any]()
    hooks.after("llm.call", stream="buffer", priority=50)(lambda op: said.extend(op.response.messages))
    server.script(Reply(calls=(Call("look", {"at": "it"}),)))
    with recorder(hooks):
        made: Any = client.interactions.create(**INTERACTION, stream=streamed)
        if streamed:
            list(made)
    part = {"type": "tool_call", "id": "call_1", "name": "look", "arguments": {"at": "it"}}
    assert [message["parts"] for message in said] == [[part]]
    assert said[0]["finish_reason"] == "requires_action"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("replaces", [False, True])
def test_an_answer_with_a_call(client: Client, server: GoogleServer, streamed: bool, replaces: bool) -> None:
    hooks = Hooks()
    call = {"type": "tool_call", "id": "1", "name": "look", "arguments": {"at": "it"}}
    message = {"role": "assistant", "parts": [{"type": "text", "content": "withheld"}, call]}
    bind = hooks.after if replaces else hooks.before
    bind("llm.call", priority=50)(lambda op: op.respond(message))
    with recorder(hooks):
        made: Any = client.interactions.create(**INTERACTION, stream=streamed)
        told = [one.model_dump(mode="json") for one in made] if streamed else [made.model_dump(mode="json")]
    written = json.dumps(told)
    assert '"withheld"' in written
    assert '"look"' in written
    assert "hello" not in written
    assert len(server.requests) == int(replaces)


# ----------------------------------------------------------------------------------------------- streams


@of_steps
def test_text_and_arguments_that_are_split(client: Client, server: GoogleServer) -> None:
    def delta(index: int, **said: Any) -> dict[str, Any]:
        return {"event_type": "step.delta", "index": index, "delta": said}

    interaction = {"id": "1", "status": "completed", "usage": {"total_input_tokens": 1, "total_output_tokens": 1}}
    events: tuple[Any, ...] = (
        {"event_type": "interaction.created", "interaction": {"id": "1", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        delta(0, type="thought_summary", content={"type": "text", "text": "of 4111-1111"}),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "step.start", "index": 1, "step": {"type": "model_output"}},
        *(delta(1, type="text", text=text) for text in ("It is 4111", "-11", "11, ok")),
        {"event_type": "step.stop", "index": 1},
        {
            "event_type": "step.start",
            "index": 2,
            "step": {"type": "function_call", "id": "1", "name": "f", "arguments": {}},
        },
        *(delta(2, type="arguments_delta", arguments=text) for text in ('{"card": "4111', '-1111"}')),
        {"event_type": "step.stop", "index": 2},
        {"event_type": "interaction.completed", "interaction": interaction},
    )
    server.script(Reply(events=events))
    hooks = Hooks()
    hooks.add(Masking())
    with recorder(hooks) as seen:
        stream: Any = client.interactions.create(**INTERACTION, stream=True)
        told = [one.model_dump(mode="json", exclude_none=True) for one in stream]
    deltas = [one["delta"] for one in told if one["event_type"] == "step.delta"]
    assert "".join(one["text"] for one in deltas if one["type"] == "text") == "It is #, ok"
    assert "".join(one["arguments"] for one in deltas if one["type"] == "arguments_delta") == '{"card": "#"}'
    assert SECRET not in json.dumps(told)
    assert seen.operations[0].status == "success"


def test_raw_responses(client: Client, server: GoogleServer) -> None:
    hooks = Hooks()
    hooks.after("llm.call", priority=50, stream="buffer")(lambda op: op.respond("withheld"))
    with recorder(hooks) as seen:
        raw: Any = client.interactions.with_raw_response.create(**INTERACTION)
        assert "withheld" in json.dumps(raw.parse().model_dump(mode="json"))
    assert len(seen.operations) == 1


# ----------------------------------------------------------------------------------------------- refusals


def test_the_sdks_own_exception(client: Client, server: GoogleServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=429)

    with recorder(hooks), pytest.raises(Reject) as caught:
        client.interactions.create(**INTERACTION)
    error: Any = caught.value
    assert any(cls.__name__ == "RateLimitError" and "google" in cls.__module__ for cls in type(error).__mro__)
    assert error.response.status_code == 429
    assert server.requests == []


@of_steps
def test_an_error_of_the_server_is_one(client: Client, server: GoogleServer) -> None:
    server.script(Reply(status=403))
    with recorder() as seen, pytest.raises(Exception, match="403"):
        client.interactions.create(**INTERACTION)
    assert seen.operations[0].status == "error"


def test_what_only_reads_is_no_call(client: Client, server: GoogleServer) -> None:
    with recorder() as seen:
        client.interactions.delete("1")
        client.interactions.cancel("1")
    assert (seen.operations, len(server.requests)) == ([], 2)


@pytest.mark.skipif(not hasattr(Client, "decisions"), reason="this version of google-genai has no decisions")
def test_decisions(client: Client, server: GoogleServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "***"}]}])

    questions: Any = {"kind": {"type": "choice", "instructions": "Which?", "criteria": {"yes": "Good", "no": "Bad"}}}
    with recorder(hooks) as seen:
        client.decisions.create(model=f"models/{MODEL}", input=ASKED, questions=questions)
    assert server.requests[0].body["input"] == "***"
    (op,) = seen.operations
    assert (op.kind, op.usage.total_tokens) == ("llm.call", 28)
    assert json.loads(op.response.text)["kind"]["choice"] == "yes"
