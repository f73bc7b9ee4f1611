"""Content: what spans say of it, usage, and what hooks read and write of its parts."""

import base64
import json
from typing import Any

import pytest
from google.genai import Client, types
from inline_snapshot import snapshot

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.google_genai_ways import CONTENT, MODEL
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.google_server import GoogleServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply, Tokens
from spanhook.errors import HookError
from spanhook.settings import Settings
from spanhook.testing import recorder

PICTURE = base64.b64encode(b"picture").decode()


def test_a_span(client: Client, server: GoogleServer) -> None:
    server.script(Reply(tokens=Tokens(input=1000, output=500, cached=200, reasoning=100)))
    config = types.GenerateContentConfig(
        temperature=0.5,
        top_p=0.9,
        top_k=40,
        max_output_tokens=600,
        seed=7,
        stop_sequences=["END"],
        response_mime_type="application/json",
        thinking_config=types.ThinkingConfig(include_thoughts=True),
    )
    with recorder() as seen:
        client.models.generate_content(model=MODEL, contents="Say hello.", config=config)
        [node] = seen.tree()
    assert node["attributes"].pop("server.port") == server.port
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
                "gen_ai.request.top_p": 0.9,
                "gen_ai.request.top_k": 40.0,
                "gen_ai.request.max_tokens": 600,
                "gen_ai.request.seed": 7,
                "gen_ai.request.stop_sequences": ("END",),
                "gen_ai.output.type": "json",
                "spanhook.kind": "llm.call",
                "spanhook.status": "success",
                "spanhook.run.id": "00000000000000000000000000000001",
                "gen_ai.response.id": "resp_1",
                "gen_ai.response.model": "gemini-2.5-flash-001",
                "gen_ai.response.finish_reasons": ("STOP",),
                "gen_ai.usage.input_tokens": 1000,
                "gen_ai.usage.output_tokens": 500,
                "gen_ai.usage.cache_read.input_tokens": 200,
                "gen_ai.usage.reasoning.output_tokens": 100,
            },
            "events": [],
            "children": [],
        }
    )


def test_vertex_ai(vertex: Client, server: GoogleServer) -> None:
    with recorder() as seen:
        vertex.models.generate_content(**CONTENT)
    (op,) = seen.operations
    assert (op.provider, op.model) == ("gcp.vertex_ai", MODEL)
    assert "/projects/acme/locations/us-central1/publishers/google/models/" in server.requests[0].path


@pytest.mark.parametrize(
    ("given", "named"),
    {
        "models/gemini-2.5-pro": "gemini-2.5-pro",
        "tunedModels/mine-1": "tunedModels/mine-1",
    }.items(),
)
def test_names_of_models(client: Client, given: str, named: str) -> None:
    with recorder() as seen:
        client.models.generate_content(model=given, contents="hi")
    assert seen.operations[0].model == named


def test_names_of_models_of_vertex_ai(vertex: Client) -> None:
    endpoint = "projects/acme/locations/us/endpoints/7"
    with recorder() as seen:
        vertex.models.generate_content(model="publishers/anthropic/models/claude-haiku-4-5", contents="hi")
        vertex.models.generate_content(model=endpoint, contents="hi")
    assert [op.model for op in seen.operations] == ["claude-haiku-4-5", endpoint]


# ----------------------------------------------------------------------------------------------- parts


TALK: list[Any] = [
    types.Content(
        role="user",
        parts=[types.Part(text="What is this?"), types.Part.from_bytes(data=b"picture", mime_type="image/png")],
    ),
    types.Content(role="model", parts=[types.Part.from_function_call(name="look", args={"at": "it", "name": "Ann"})]),
    types.Content(role="user", parts=[types.Part.from_function_response(name="look", response={"result": "a cat"})]),
    types.Content(role="user", parts=[types.Part.from_uri(file_uri="gs://bucket/a.pdf", mime_type="application/pdf")]),
]


def test_what_hooks_read(client: Client) -> None:
    hooks, read = Hooks(), list[Operation]()

    def look(x: int) -> str:
        """Looks."""
        return str(x)

    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        tools=[look, types.Tool(google_search=types.GoogleSearch())],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        read.append(op)
        assert op.request.messages == snapshot(
            [
                {
                    "role": "user",
                    "parts": [
                        {"type": "text", "content": "What is this?"},
                        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "cGljdHVyZQ=="},
                    ],
                },
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "tool_call", "id": None, "name": "look", "arguments": {"at": "it", "name": "Ann"}}
                    ],
                },
                {
                    "role": "tool",
                    "parts": [{"type": "tool_call_response", "id": None, "response": {"result": "a cat"}}],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "type": "uri",
                            "modality": "document",
                            "mime_type": "application/pdf",
                            "uri": "gs://bucket/a.pdf",
                        }
                    ],
                },
            ]
        )
        assert op.request.system == "Be brief."
        assert op.request.tools == ["google_search", "look"]

    with recorder(hooks, settings=Settings(content="SPAN_ONLY")) as seen:
        client.models.generate_content(model=MODEL, contents=TALK, config=config)
        [node] = seen.tree()
    assert read
    defined = json.loads(node["attributes"]["gen_ai.tool.definitions"])
    told = {"type": "function", "name": "look", "description": "Looks."}
    assert [{name: one for name, one in tool.items() if name != "parameters"} for tool in defined] == [
        {"type": "google_search", "name": "google_search"},
        told,
    ]
    assert "x" in defined[1]["parameters"]["properties"]
    assert node["attributes"]["gen_ai.output.messages"] == snapshot(
        '[{"role": "assistant", "parts": [{"type": "text", "content": "hello there friend"}], "finish_reason": "STOP"}]'
    )


def test_what_a_hook_does_not_change_is_sent_as_it_was(client: Client, server: GoogleServer) -> None:
    client.models.generate_content(model=MODEL, contents=TALK)
    hooks = Hooks()

    @hooks.before("llm.call")
    def add(op: Operation) -> None:
        op.replace(messages=[*op.request.messages, {"role": "user", "parts": [{"type": "text", "content": "Well?"}]}])

    with recorder(hooks):
        client.models.generate_content(model=MODEL, contents=TALK)
    before, after = (seen.body["contents"] for seen in server.requests)
    assert after == [*before, {"role": "user", "parts": [{"text": "Well?"}]}]


def test_rewriting_every_sort_of_part(client: Client, server: GoogleServer) -> None:
    hooks = Hooks()
    new: list[Any] = [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "Look:"},
                {"type": "blob", "modality": "image", "mime_type": "image/gif", "content": PICTURE},
            ],
        },
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": None, "name": "look", "arguments": {"at": "that"}}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": None, "response": {"result": "a dog"}}]},
        {
            "role": "user",
            "parts": [{"type": "uri", "modality": "image", "mime_type": "image/png", "uri": "gs://b/b.png"}],
        },
    ]

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=new, system="Be long.", model="gemini-2.5-pro")

    with recorder(hooks) as seen:
        client.models.generate_content(model=MODEL, contents=TALK, config={"system_instruction": "Be brief."})
    sent = server.requests[0]
    assert "models/gemini-2.5-pro:generateContent" in sent.path
    assert sent.body == snapshot(
        {
            "contents": [
                {
                    "parts": [{"text": "Look:"}, {"inlineData": {"data": "cGljdHVyZQ==", "mimeType": "image/gif"}}],
                    "role": "user",
                },
                {"parts": [{"functionCall": {"args": {"at": "that"}, "name": "look"}}], "role": "model"},
                {"parts": [{"functionResponse": {"name": "look", "response": {"result": "a dog"}}}], "role": "user"},
                {"parts": [{"fileData": {"fileUri": "gs://b/b.png", "mimeType": "image/png"}}], "role": "user"},
            ],
            "systemInstruction": {"parts": [{"text": "Be long."}], "role": "user"},
            "generationConfig": {},
        }
    )
    assert seen.operations[0].request.messages == new


def test_extra_fields_of_the_options_are_seen_and_do_not_undo_a_rewrite(client: Client, server: GoogleServer) -> None:
    extra = {"contents": [{"role": "user", "parts": [{"text": "secret"}]}], "generationConfig": {"topK": 3}}
    hooks = Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        assert op.request.messages[0]["parts"][0]["content"] == "secret"
        op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "***"}]}])

    config = types.GenerateContentConfig(temperature=0.1, http_options=types.HttpOptions(extra_body=extra))
    with recorder(hooks):
        client.models.generate_content(model=MODEL, contents="hi", config=config)
    assert server.requests[0].body["contents"] == [{"role": "user", "parts": [{"text": "***"}]}]
    assert server.requests[0].body["generationConfig"] == {"temperature": 0.1, "topK": 3}


def test_thoughts_cannot_be_written(client: Client, server: GoogleServer) -> None:
    contents: list[Any] = [
        types.Content(role="user", parts=[types.Part(text="hi")]),
        types.Content(role="model", parts=[types.Part(text="hm", thought=True), types.Part(text="hello")]),
        types.Content(role="user", parts=[types.Part(text="again")]),
    ]
    hooks = Hooks()

    @hooks.before("llm.call", fail_mode="closed")
    def rewrite(op: Operation) -> None:
        messages = op.request.messages
        assert messages[1]["parts"][0] == {"type": "reasoning", "content": "hm"}
        messages[1]["parts"][0]["content"] = "other"
        with pytest.raises(HookError, match="reasoning"):
            op.replace(messages=messages)

    with recorder(hooks):
        client.models.generate_content(model=MODEL, contents=contents)
    assert server.requests[0].body["contents"][1]["parts"][0]["text"] == "hm"


def test_calls_are_output(client: Client, server: GoogleServer) -> None:
    hooks, said = Hooks(), list[Any]()
    hooks.after("llm.call", stream="buffer")(lambda op: said.append(op.response.messages))
    calls = (Call("look", {"at": "it"}), Call("smell", {}))
    server.script(Reply(calls=calls), Reply(calls=calls))
    with recorder(hooks):
        client.models.generate_content(**CONTENT)
        list(client.models.generate_content_stream(**CONTENT))
    assert said[0] == said[1]
    assert said[0] == snapshot(
        [
            {
                "role": "assistant",
                "parts": [
                    {"type": "tool_call", "id": None, "name": "look", "arguments": {"at": "it"}},
                    {"type": "tool_call", "id": None, "name": "smell", "arguments": {}},
                ],
                "finish_reason": "STOP",
            }
        ]
    )


def test_async_answers_are_read_too(client: Client) -> None:
    async def ask() -> Any:
        return await client.aio.models.generate_content(**CONTENT)

    with recorder(settings=Settings(content="SPAN_ONLY")) as seen:
        assert run(ask()).text == "hello there friend"
        [node] = seen.tree()
    assert "hello there friend" in node["attributes"]["gen_ai.output.messages"]
