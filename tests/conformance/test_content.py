"""What is captured of every library against the conventions' schemas of messages, which stand in ``messages.yaml``."""

import base64
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from anthropic import Anthropic
from langchain_core.messages import AIMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from openai import DefaultHttpxClient

import spanhook
from spanhook import HookError, Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries import anthropic_ways
from spanhook.cli.conformance.libraries.openai_ways import sync_client
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.instrument.formats.openai import ChatChunks
from spanhook.instrument.openai.paths import CHAT as CHAT_ADAPTER
from spanhook.testing import recorder

FACTS = yaml.safe_load((Path(__file__).parent.parent / "conventions" / "messages.yaml").read_text())
Part = dict[str, Any]

# ----------------------------------------------------------------------------------------------- the schemas

TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "object": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "any": lambda value: True,
    "base64": lambda value: isinstance(value, str) and bool(base64.b64decode(value, validate=True)),
}


def fields_fit(told: Part, facts: Part) -> None:
    for name, kind in facts["required"].items():
        assert name in told, (name, told)
        assert TYPES[kind](told[name]), (name, told)
    for name, kind in facts.get("optional", {}).items():
        assert told.get(name) is None or TYPES[kind](told[name]), (name, told)


def part_fits(part: Part, types: list[str] | None = None) -> None:
    assert isinstance(part["type"], str)
    assert types is None or part["type"] in types, part
    fields_fit(part, FACTS["parts"].get(part["type"], {"required": {}}))
    assert part["type"] != "uri" or ";base64," not in part["uri"]


def message_fits(message: Part) -> None:
    fields_fit(message, FACTS["message"])
    for part in message["parts"]:
        part_fits(part)
    if message["parts"] and all(part["type"] == "tool_call_response" for part in message["parts"]):
        assert message["role"] == FACTS["message"]["result_role"]


def definition_fits(definition: Part) -> None:
    assert isinstance(definition["type"], str)
    fields_fit(definition, FACTS["definitions"].get(definition["type"], FACTS["definitions"]["other"]))


def fits(name: str, value: Any) -> None:
    """Hold the value of an attribute to what the conventions ask of it."""
    facts = FACTS[name]
    assert isinstance(value, list)
    assert value
    for one in cast("list[Part]", value):
        if facts["list_of"] == "message":
            message_fits(one)
        elif facts["list_of"] == "part":
            part_fits(one, facts.get("types"))
        else:
            definition_fits(one)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gen_ai.input.messages", [{"role": "user"}]),
        ("gen_ai.input.messages", [{"role": "user", "parts": [{"type": "blob", "content": "AAAA"}]}]),
        ("gen_ai.input.messages", [{"role": "user", "parts": [{"type": "tool_call_response", "response": ""}]}]),
        ("gen_ai.output.messages", [{"role": "assistant", "parts": [{"type": "text", "content": None}]}]),
        ("gen_ai.system_instructions", [{"type": "blob", "modality": "image", "content": "AAAA"}]),
        ("gen_ai.tool.definitions", [{"type": "function"}]),
    ],
)
def test_what_does_not_fit_is_found(name: str, value: Any) -> None:
    with pytest.raises(AssertionError):
        fits(name, value)


# ----------------------------------------------------------------------------------------------- what is asked

PICTURE = base64.b64encode(b"picture").decode()
DATA = f"data:image/png;base64,{PICTURE}"
PDF = f"data:application/pdf;base64,{PICTURE}"
URL = "https://example.com/a.png"
BLOB = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PICTURE}
DOCUMENT = {"type": "blob", "modality": "document", "mime_type": "application/pdf", "content": PICTURE}
SOUND = {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": PICTURE}
NAMED, TITLED = {**DOCUMENT, "filename": "a.pdf"}, {**DOCUMENT, "title": "A"}
LINK = {"type": "uri", "modality": "image", "uri": URL}
SCHEMA: Any = {"type": "object", "properties": {"query": {"type": "string"}}}
LOOK_UP: Any = {"name": "look_up", "description": "Looks up.", "parameters": SCHEMA}
DEFINED = {"type": "function", **LOOK_UP}
CALLED = {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "x"}}


def answered(response: Any) -> Part:
    return {"type": "tool_call_response", "id": "call_1", "response": response}


CHAT: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Look."},
            {"type": "image_url", "image_url": {"url": URL, "detail": "low"}},
            {"type": "image_url", "image_url": {"url": DATA}},
            {"type": "input_audio", "input_audio": {"data": PICTURE, "format": "wav"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
            {"type": "file", "file": {"file_id": "file-1"}},
        ],
    },
    {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"query": "x"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "found"},
    {"role": "function", "name": "look_up", "content": "found"},
]
FILED = {"type": "file", "modality": "document", "file_id": "file-1"}
CHAT_PARTS = [
    ("system", [{"type": "text", "content": "Be brief."}]),
    ("user", [{"type": "text", "content": "Look."}, LINK, BLOB, SOUND, NAMED, FILED]),
    ("assistant", [{"type": "file", "modality": "audio", "file_id": "audio_1"}]),
    ("assistant", [CALLED]),
    ("tool", [answered("found")]),
    ("tool", [{"type": "tool_call_response", "response": "found"}]),
]
ITEMS: list[Any] = [
    {"role": "developer", "content": "Be kind."},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Look."},
            {"type": "input_image", "image_url": URL, "detail": "auto"},
            {"type": "input_image", "image_url": DATA},
            {"type": "input_image", "file_id": "file-2"},
            {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
            {"type": "input_file", "file_id": "file-1"},
        ],
    },
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PICTURE},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "function_call", "call_id": "call_1", "name": "look_up", "arguments": '{"query": "x"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "found"},
]
ITEM_PARTS = [
    ("developer", [{"type": "text", "content": "Be kind."}]),
    (
        "user",
        [
            {"type": "text", "content": "Look."},
            *(LINK, BLOB, {"type": "file", "modality": "image", "file_id": "file-2"}, NAMED, FILED),
        ],
    ),
    ("assistant", [BLOB]),
    ("assistant", [{"type": "reasoning", "content": "Hm."}]),
    ("assistant", [CALLED]),
    ("tool", [answered("found")]),
]
CITED = {"title": "A", "citations": {"enabled": True}}
BLOCKS: list[Any] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Look."},
            {"type": "image", "source": {"type": "url", "url": URL}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
            {
                "type": "document",
                **CITED,
                "source": {"type": "base64", "media_type": "application/pdf", "data": PICTURE},
            },
            {"type": "document", "source": {"type": "file", "file_id": "file-1"}},
            {"type": "document", **CITED, "source": {"type": "text", "media_type": "text/plain", "data": "Words."}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "tool_use", "id": "call_1", "name": "look_up", "input": {"query": "x"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "found"}]},
]
WORDS = {"type": "text", "content": "Words.", "title": "A"}
BLOCK_PARTS = [
    (
        "user",
        [{"type": "text", "content": "Look."}, LINK, BLOB, TITLED, FILED, WORDS],
    ),
    ("assistant", [{"type": "reasoning", "content": "Hm."}, CALLED]),
    ("tool", [answered("found")]),
]
NATIVE: list[Any] = [
    SystemMessage("Be brief."),
    HumanMessage(
        [
            {"type": "text", "text": "Look."},
            {"type": "image_url", "image_url": {"url": URL, "detail": "low"}},
            {"type": "image", "base64": PICTURE, "mime_type": "image/png"},
            {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": PICTURE},
            {"type": "audio", "base64": PICTURE, "mime_type": "audio/wav"},
            {"type": "file", "base64": PICTURE, "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
            {"type": "file", "file_id": "file-1"},
        ]
    ),
    AIMessage("", tool_calls=[{"name": "look_up", "args": {"query": "x"}, "id": "call_1", "type": "tool_call"}]),
    ToolMessage("found", tool_call_id="call_1"),
]
NATIVE_PARTS = [
    ("system", [{"type": "text", "content": "Be brief."}]),
    ("user", [{"type": "text", "content": "Look."}, LINK, BLOB, BLOB, SOUND, NAMED, FILED]),
    ("assistant", [CALLED]),
    ("tool", [answered("found")]),
]


# ----------------------------------------------------------------------------------------------- each library

Ask = Callable[[str, bool], Any]
"""Ask the server at this address, for a stream or not."""


def ask_chat(url: str, streamed: bool) -> None:
    with sync_client(url) as client:
        made: Any = client.chat.completions.create(
            model="m", messages=CHAT, tools=[{"type": "function", "function": LOOK_UP}], stream=streamed
        )
        if streamed:
            list(made)


def ask_responses(url: str, streamed: bool) -> None:
    tools: Any = [{"type": "function", **LOOK_UP, "strict": True}, {"type": "web_search"}]
    with sync_client(url) as client:
        made: Any = client.responses.create(
            model="m", instructions="Be brief.", input=ITEMS, tools=tools, stream=streamed
        )
        if streamed:
            list(made)


def ask_completions(url: str, streamed: bool) -> None:
    with sync_client(url) as client:
        made: Any = client.completions.create(model="m", prompt=["one", "two"], stream=streamed)
        if streamed:
            list(made)


def ask_anthropic(url: str, streamed: bool) -> None:
    client: Anthropic = anthropic_ways.sync_client(url)
    system: Any = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    tools: Any = [
        {"name": "look_up", "description": "Looks up.", "input_schema": SCHEMA},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    with client:
        made: Any = client.messages.create(
            model="m", max_tokens=9, system=system, messages=BLOCKS, tools=tools, stream=streamed
        )
        if streamed:
            list(made)


@tool
def look_up(query: str) -> str:
    """Looks up."""
    return query


@contextmanager
def chat_openai(url: str, **more: Any) -> Generator[ChatOpenAI]:
    with DefaultHttpxClient(verify=False) as http:
        yield ChatOpenAI(model="m", base_url=url, api_key=cast("Any", "test"), max_retries=0, http_client=http, **more)


def run(model: Any, given: Any, streamed: bool) -> None:
    """Run a model or a graph."""
    if streamed:
        list(model.stream(given))
    else:
        model.invoke(given)


def ask_langchain(url: str, streamed: bool) -> None:
    with chat_openai(url) as model:
        run(model.bind_tools([look_up]), NATIVE, streamed)


def ask_langchain_responses(url: str, streamed: bool) -> None:
    with chat_openai(url, use_responses_api=True) as model:
        run(model.bind_tools([look_up]), "Look.", streamed)


def ask_langchain_anthropic(url: str, streamed: bool) -> None:
    from langchain_anthropic import ChatAnthropic

    kind: Any = ChatAnthropic
    made: Any = kind(model="m", max_tokens=9, base_url=url, api_key="test", max_retries=0)
    with anthropic_ways.sync_client(url) as client:
        made.__dict__["_client"] = client  # its own loads certificates
        run(made.bind_tools([look_up]), [SystemMessage("Be brief."), *BLOCKS], streamed)


def ask_langgraph(url: str, streamed: bool) -> None:
    with chat_openai(url) as model:
        run(graph_of(model), {"messages": NATIVE}, streamed)


def graph_of(model: Any) -> Any:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("work", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    return builder.compile(name="worker")


def ask_own_code(_url: str, _streamed: bool) -> None:
    for messages in (CHAT[1:], BLOCKS):
        request = {"messages": messages, "system": "Be brief."}
        with spanhook.operation("llm.call", "m", provider="acme", request=request) as op:
            op.result_of({"role": "assistant", "content": [{"type": "text", "text": "hello"}]})


OPENAI, ANTHROPIC, NOBODY = OpenAIServer, AnthropicServer, None
LIBRARIES: dict[str, tuple[Ask, Any, str, list[tuple[str, list[Part]]]]] = {
    "openai chat": (ask_chat, OPENAI, "", CHAT_PARTS),
    "openai responses": (ask_responses, OPENAI, "Be brief.", ITEM_PARTS),
    "openai completions": (
        ask_completions,
        OPENAI,
        "",
        [("user", [{"type": "text", "content": one}]) for one in ("one", "two")],
    ),
    "anthropic": (ask_anthropic, ANTHROPIC, "Be brief.\nBe kind.", BLOCK_PARTS),
    "langchain": (ask_langchain, OPENAI, "", NATIVE_PARTS),
    "langchain over responses": (
        ask_langchain_responses,
        OPENAI,
        "",
        [("user", [{"type": "text", "content": "Look."}])],
    ),
    "langchain over anthropic": (ask_langchain_anthropic, ANTHROPIC, "", []),
    "langgraph": (ask_langgraph, OPENAI, "", NATIVE_PARTS),
    "own code": (ask_own_code, NOBODY, "Be brief.", [*CHAT_PARTS[1:2], *CHAT_PARTS[3:], *BLOCK_PARTS]),
}
if find_spec("langchain_anthropic") is None:  # with the oldest versions, which it does not work with
    del LIBRARIES["langchain over anthropic"]
TOLD_OF = {
    "openai chat": [DEFINED],
    "openai responses": [DEFINED, {"type": "web_search", "name": "web_search"}],
    "anthropic": [DEFINED, {"type": "web_search_20250305", "name": "web_search"}],
}
BOUND = ("langchain", "langchain over responses", "langchain over anthropic")
CALLS = (Call("look_up", {"query": "x"}),)
REASONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "openai completions": (("stop", "stop"), ("tool_calls", "tool_calls")),
    "anthropic": (("end_turn",), ("tool_use",)),
    "langchain over anthropic": (("end_turn",), ("tool_use",)),
}
"""Why the model stopped: with words, and for tool calls."""


def spans(library: str, content: Any, *, streamed: bool, reply: Reply) -> list[Part]:
    """The attributes of the spans of one call, in the order in which they began."""
    ask, kind, *_ = LIBRARIES[library]
    with recorder(settings=Settings(content=content)) as seen:
        if kind is None:
            ask("", streamed)
        else:
            with kind() as server:
                server.reply = reply
                ask(server.url, streamed)
        found: list[Part] = []
        nodes = seen.tree()
        while nodes:
            node = nodes.pop(0)
            found.append(node["attributes"])
            nodes.extend(node["children"])
    return found


@pytest.mark.every_value
@pytest.mark.parametrize("calls", [(), CALLS], ids=["words", "calls"])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_captured_fits_the_schemas(library: str, streamed: bool, calls: Any) -> None:
    *_, system, expected = LIBRARIES[library]
    found = spans(library, "SPAN_ONLY", streamed=streamed, reply=Reply(calls=calls))
    asked: list[Part] = []
    for attributes in found:
        for name in FACTS:
            if name in attributes:
                fits(name, json.loads(attributes[name]))
        asked.extend(json.loads(attributes.get("gen_ai.input.messages", "[]")))
        told = json.loads(attributes.get("gen_ai.system_instructions", "[]"))
        assert "\n".join(part["content"] for part in told) == system
        assert json.loads(attributes["gen_ai.output.messages"])
        if library in TOLD_OF:
            assert json.loads(attributes["gen_ai.tool.definitions"]) == TOLD_OF[library]
        elif library in BOUND:
            [defined] = json.loads(attributes["gen_ai.tool.definitions"])
            assert (defined["type"], defined["name"], defined["description"]) == ("function", "look_up", "Looks up.")
            assert list(defined["parameters"]["properties"]) == ["query"]
    if library == "langgraph":
        asked = asked[: len(expected)]  # of the graph, whose model is asked the same
    if expected and library != "own code":
        assert [(one["role"], one["parts"]) for one in asked] == expected
    elif expected:
        asked = [one for one in asked if one["parts"]]
        assert [(one["role"], one["parts"]) for one in asked] == [
            (role, [{"id": None, **part} if part["type"] == "tool_call_response" else part for part in parts])
            for role, parts in expected
        ]


@pytest.mark.parametrize("content", ["NO_CONTENT", "SPAN_ONLY"])
@pytest.mark.parametrize("calls", [(), CALLS], ids=["words", "calls"])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "own code"])
def test_why_the_model_stopped_is_always_told(library: str, streamed: bool, calls: Any, content: Any) -> None:
    found = spans(library, content, streamed=streamed, reply=Reply(calls=calls))
    said, called = REASONS.get(library, (("stop",), ("tool_calls",)))
    reasons = called if calls else said
    models = [one for one in found if one["spanhook.kind"] == "llm.call"]
    assert [one.get("gen_ai.response.finish_reasons") for one in models] == [reasons]
    if content != "NO_CONTENT":
        agents = [one for one in found if one["spanhook.kind"] == "agent.invoke"]
        assert bool(agents) == (library == "langgraph")
        for attributes in (*models, *agents):
            messages = json.loads(attributes["gen_ai.output.messages"])
            assert tuple(message["finish_reason"] for message in messages) == reasons


def test_there_is_a_reason_for_each_choice() -> None:
    said = [
        {"index": at, "message": {"role": "assistant", "content": "hi"}, "finish_reason": reason}
        for at, reason in enumerate(("stop", "length"))
    ]
    with recorder() as seen, OpenAIServer() as server:
        server.reply = Reply(body={"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": said})
        ask_chat(server.url, False)
    [span] = seen.spans
    assert (span.attributes or {})["gen_ai.response.finish_reasons"] == ("stop", "length")


# ----------------------------------------------------------------------------------------------- what comes back

CREATED: Any = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}


def output(body: Any, ask: Ask) -> list[Part]:
    with recorder(settings=Settings(content="SPAN_ONLY")) as seen, OpenAIServer() as server:
        server.reply = Reply(body=body)
        ask(server.url, False)
        [messages] = [json.loads(node["attributes"]["gen_ai.output.messages"]) for node in seen.tree()]
    fits("gen_ai.output.messages", messages)
    return messages


def test_sound_that_a_model_made() -> None:
    audio = {"id": "audio_1", "data": PICTURE, "expires_at": 1, "transcript": "hello"}
    message = {"role": "assistant", "content": None, "audio": audio}
    body = {**CREATED, "choices": [{"index": 0, "message": message, "finish_reason": None}]}
    spoken = {"type": "blob", "modality": "audio", "content": PICTURE}
    assert output(body, ask_chat) == [{"role": "assistant", "parts": [{"type": "text", "content": "hello"}, spoken]}]


@pytest.mark.parametrize("ask", [ask_responses, ask_langchain_responses])
def test_a_picture_that_a_model_made(ask: Ask) -> None:
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PICTURE}
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [made],
    }
    [message] = output(body, ask)
    assert message == {"role": "assistant", "parts": [BLOB], "finish_reason": "stop"}


def test_sound_that_comes_in_pieces() -> None:
    pieces: list[Any] = [
        {"id": "audio_1", "transcript": "hel"},
        {"data": base64.b64encode(b"pic").decode()},
        {"data": base64.b64encode(b"ture").decode(), "transcript": "lo"},
        {"expires_at": 1},
    ]
    deltas: list[Any] = [{"role": "assistant", "audio": piece} for piece in pieces]
    chunks = ChatChunks({}, dict, itself=True)
    chunks.keep = True
    for delta in deltas:
        chunks.add({**CREATED, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    assert CHAT_ADAPTER.reading.output(chunks.result()) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "hello"},
                {"type": "blob", "modality": "audio", "content": PICTURE},
            ],
        }
    ]


def test_a_picture_that_a_hook_answers_with() -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond({"role": "assistant", "parts": [BLOB]}))
    with recorder(hooks), OpenAIServer() as server, sync_client(server.url) as client:
        made: Any = client.responses.create(model="m", input="draw")
        assert server.requests == []
    assert [(item.type, item.result) for item in made.output] == [("image_generation_call", PICTURE)]


def test_no_reason_is_made_up() -> None:
    body = {**CREATED, "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}}]}
    assert "finish_reason" not in output(body, ask_chat)[0]


# ----------------------------------------------------------------------------------------------- rewriting

ADDED = [
    {"type": "uri", "modality": "image", "uri": "https://example.com/b.png"},
    {"type": "blob", "modality": "image", "mime_type": "image/jpeg", "content": PICTURE},
    {"type": "file", "modality": "document", "file_id": "file-9"},
]
JPEG, OTHER = f"data:image/jpeg;base64,{PICTURE}", "https://example.com/b.png"
WRITTEN: dict[str, tuple[str, list[Part]]] = {
    "openai chat": (
        "messages",
        [
            {"type": "image_url", "image_url": {"url": OTHER}},
            {"type": "image_url", "image_url": {"url": JPEG}},
            {"type": "file", "file": {"file_id": "file-9"}},
        ],
    ),
    "openai responses": (
        "input",
        [
            {"type": "input_image", "image_url": OTHER},
            {"type": "input_image", "image_url": JPEG},
            {"type": "input_file", "file_id": "file-9"},
        ],
    ),
    "anthropic": (
        "messages",
        [
            {"type": "image", "source": {"type": "url", "url": OTHER}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": PICTURE}},
            {"type": "document", "source": {"type": "file", "file_id": "file-9"}},
        ],
    ),
    "langchain": (
        "messages",
        [
            {"type": "image_url", "image_url": {"url": OTHER}},
            {"type": "image_url", "image_url": {"url": JPEG}},
            {"type": "file", "file": {"file_id": "file-9"}},
        ],
    ),
}


def sent(library: str, change: Callable[[list[Part]], Any]) -> list[Any]:
    """What the server gets once a hook has changed the messages, and before: of the message with parts."""
    hooks = Hooks()
    field = WRITTEN[library][0]
    ask, kind, *_ = LIBRARIES[library]

    @hooks.before("llm.call", timeout=60.0)
    def changing(op: Operation) -> None:
        messages = op.request.messages
        change(next(one["parts"] for one in messages if len(one["parts"]) > 2))
        op.replace(messages=messages)

    found: list[Any] = []
    with kind() as server:
        ask(server.url, False)
        with recorder(hooks):
            ask(server.url, False)
        for request in server.requests:
            several = (one["content"] for one in request.body[field] if isinstance(one.get("content"), list))
            found.append(next(content for content in several if len(content) > 2))
    return found


@pytest.mark.parametrize("library", WRITTEN)
def test_parts_that_a_hook_adds_are_written_in_the_providers_form(library: str) -> None:
    before, after = sent(library, lambda parts: parts.extend(ADDED))
    assert after == [*before, *WRITTEN[library][1]]


@pytest.mark.parametrize("library", WRITTEN)
def test_parts_beside_one_that_is_changed_go_out_as_they_came(library: str) -> None:
    def shorten(parts: list[Part]) -> None:
        parts[0]["content"] = "Do not look."
        del parts[2]

    before, after = sent(library, shorten)
    assert after == [{**before[0], "text": "Do not look."}, *before[1:2], *before[3:]]


def test_a_document_of_text_is_read_and_changed_as_text() -> None:
    def mask(parts: list[Part]) -> None:
        parts[5]["content"] = "Masked."

    before, after = sent("anthropic", mask)
    source = {**before[5]["source"], "data": "Masked."}
    assert after == [*before[:5], {**before[5], "source": source}]


if find_spec("langchain_anthropic") is not None:  # which is not installed with the oldest versions

    @pytest.mark.parametrize("form", ["Anthropic", "LangChain"])
    def test_a_document_of_text_does_not_hide_that_a_call_is_the_same(form: str) -> None:
        from langchain_anthropic import ChatAnthropic

        document = BLOCKS[0]["content"][5] if form == "Anthropic" else {"type": "text-plain", "text": "Words."}
        kind: Any = ChatAnthropic
        with AnthropicServer() as server, recorder() as seen, anthropic_ways.sync_client(server.url) as client:
            model = kind(model="m", max_tokens=9, base_url=server.url, api_key="test", max_retries=0)
            model.__dict__["_client"] = client
            model.invoke([HumanMessage([{"type": "text", "text": "Look."}, document])])
        assert len(seen.spans) == 1


def test_a_note_beside_the_result_of_a_tool() -> None:
    hooks = Hooks()
    note = {"type": "text", "content": "Beware."}

    @hooks.before("llm.call", timeout=60.0)
    def changing(op: Operation) -> None:
        messages = op.request.messages
        messages[-1]["parts"].append(note)
        op.replace(messages=messages)

    with AnthropicServer() as server, recorder(hooks):
        ask_anthropic(server.url, False)
    last = server.requests[0].body["messages"][-1]
    assert last == {"role": "user", "content": [*BLOCKS[-1]["content"], {"type": "text", "text": "Beware."}]}


@pytest.mark.parametrize("role", ["tool", "user"])
def test_results_of_tools_may_be_given_with_either_role(role: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=60.0)
    def changing(op: Operation) -> None:
        messages = op.request.messages
        messages[-1] = {"role": role, "parts": [answered("other")]}
        op.replace(messages=messages)

    with AnthropicServer() as server, recorder(hooks):
        ask_anthropic(server.url, False)
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "other"}
    assert server.requests[0].body["messages"][-1] == {"role": "user", "content": [result]}


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("library", "part"),
    [
        ("anthropic", SOUND),
        ("openai chat", {"type": "uri", "modality": "document", "uri": URL}),
        ("openai responses", {"type": "blob", "modality": "image", "content": PICTURE}),
        ("anthropic", {**BLOB, "detail": "low"}),
    ],
)
def test_what_cannot_be_said_fails_the_hook_and_not_in_silence(library: str, part: Part) -> None:
    def add(parts: list[Part]) -> None:
        parts.append(part)

    with pytest.raises(Reject) as caught:
        sent(library, add)
    assert isinstance(caught.value.__cause__, ValueError | HookError)


@pytest.mark.parametrize("library", WRITTEN)
def test_a_picture_that_is_changed_keeps_what_a_part_cannot_say(library: str) -> None:
    def other(parts: list[Part]) -> None:
        parts[1]["uri"] = OTHER

    before, after = sent(library, other)
    assert json.dumps(after) == json.dumps(before).replace(URL, OTHER)


def test_a_function_message_stays_one() -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=60.0)
    def changing(op: Operation) -> None:
        messages = op.request.messages
        messages[-1]["parts"][0]["response"] = "other"
        op.replace(messages=messages)

    with OpenAIServer() as server, recorder(hooks):
        with chat_openai(server.url) as model:
            model.invoke([HumanMessage("hi"), FunctionMessage(content="found", name="look_up")])
        ask_chat(server.url, False)
    last = [request.body["messages"][-1] for request in server.requests]
    assert last == [{"role": "function", "name": "look_up", "content": "other"}] * 2


def test_own_code_gets_parts_in_its_own_form() -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def changing(op: Operation) -> None:
        messages = op.request.messages
        several = next(one["parts"] for one in messages if len(one["parts"]) > 2)
        several[0]["content"] = "Do not look."
        several.extend(ADDED[:1])
        op.replace(messages=messages)

    got: list[Any] = []
    with recorder(hooks):
        for messages in (CHAT, BLOCKS):
            with spanhook.operation("llm.call", "m", provider="acme", request={"messages": messages}) as op:
                got.append(op.request.messages)
    written = (WRITTEN["openai chat"][1][0], WRITTEN["anthropic"][1][0])
    for messages, new, added in zip((CHAT, BLOCKS), got, written, strict=True):
        at = next(index for index, one in enumerate(messages) if isinstance(one["content"], list))
        told = messages[at]["content"]
        assert new[at]["content"] == [{"type": "text", "text": "Do not look."}, *told[1:], added]
        assert [*new[:at], *new[at + 1 :]] == [*messages[:at], *messages[at + 1 :]]
