"""Hooks that change OpenAI's calls: requests rewritten, answers given instead, results replaced."""

import asyncio
import copy
import json
from collections import OrderedDict, deque
from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AzureOpenAI
from openai.types import CreateEmbeddingResponse
from openai.types.chat import ChatCompletion

from spanhook import HookError, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_ways import (
    CHAT,
    EMBEDDINGS,
    MESSAGES,
    RESPONSES,
    TEXT,
    WAYS,
    Answer,
    Way,
    async_client,
    collected,
    named,
    sync_client,
)
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply
from spanhook.instrument.formats.openai import items, messages
from spanhook.testing import recorder
from tests.thinning import a_fifth


def text(content: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def before(change: Callable[[Operation], Any]) -> Hooks:
    hooks = Hooks()
    hooks.before("llm.call", "embeddings.create", name="change")(change)
    return hooks


def after(change: Callable[[Operation], Any], **settings: Any) -> Hooks:
    hooks = Hooks()
    hooks.after("llm.call", name="change", priority=100, **settings)(change)
    return hooks


# ----------------------------------------------------------------------------------------------- requests

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"query":  "x"}'}, "x": 1}
CUSTOM = {"id": "call_2", "type": "custom", "custom": {"name": "run", "input": "ls"}}
LONG: Any = [
    {"role": "developer", "content": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]},
    {"role": "user", "name": "ann", "content": [{"type": "text", "text": "my secret"}, IMAGE]},
    {"role": "assistant", "content": None, "tool_calls": [CALL, CUSTOM], "reasoning_content": "hm"},
    {"role": "tool", "tool_call_id": "call_1", "content": "a secret"},
    {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "files"}]},
    {"role": "assistant", "content": "done", "refusal": None, "annotations": []},
]


def test_a_request_in_common_terms(server: OpenAIServer) -> None:
    seen: dict[str, Any] = {}

    def look(op: Operation) -> None:
        seen.update(
            messages=op.request.messages,
            system=op.request.system,
            tools=op.request.tools,
            model=op.request.model,
            inputs=op.request.inputs,
        )

    tools: Any = [
        {"type": "function", "function": {"name": "look_up", "parameters": {}}},
        {"type": "custom", "custom": {"name": "run"}},
    ]
    with recorder(before(look)), sync_client(server.url) as client:
        client.chat.completions.create(model="gpt-4o-mini", messages=LONG, tools=tools)
    assert seen["system"] == "Be brief."
    assert seen["tools"] == ["look_up", "run"]
    assert seen["model"] == "gpt-4o-mini"
    assert seen["inputs"] == LONG
    assert seen["messages"] == [
        text("Be brief.", "developer"),
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "my secret"},
                {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAAA"},
            ],
            "name": "ann",
        },
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "x"}},
                {"type": "tool_call", "id": "call_2", "name": "run", "arguments": "ls"},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "a secret"}]},
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "call_2", "response": [{"type": "text", "text": "files"}]}],
        },
        text("done", "assistant"),
    ]


def masked(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("secret", "***")
    if isinstance(value, list):
        return [masked(one) for one in value]
    if isinstance(value, dict):
        return {key: masked(one) for key, one in value.items()}
    return value


def test_messages_that_a_hook_changes_and_those_it_leaves_alone(server: OpenAIServer) -> None:
    original = copy.deepcopy(LONG)
    hooks = before(lambda op: op.replace(messages=masked(op.request.messages)))
    with recorder(hooks) as seen, sync_client(server.url) as client:
        client.chat.completions.create(model="gpt-4o-mini", messages=LONG)
    assert original == LONG
    [request] = server.requests
    assert request.body["messages"] == masked(LONG)
    assert request.body["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"query":  "x"}'
    assert seen.operations[0]._record.decided.modified == ("messages",)


def test_what_a_changed_message_keeps(server: OpenAIServer) -> None:
    def change(op: Operation) -> None:
        changed = op.request.messages
        changed[2]["parts"][1]["arguments"] = {"query": "y"}
        changed[2]["parts"][2]["arguments"] = "pwd"
        op.replace(messages=changed)

    with recorder(before(change)), sync_client(server.url) as client:
        client.chat.completions.create(model="gpt-4o-mini", messages=LONG)
    sent = server.requests[0].body["messages"]
    assert sent[:2] == LONG[:2]
    assert sent[3:] == LONG[3:]
    assert sent[2] == {
        **LONG[2],
        "tool_calls": [
            {**CALL, "function": {"name": "look_up", "arguments": '{"query": "y"}'}},
            {**CUSTOM, "custom": {"name": "run", "input": "pwd"}},
        ],
    }


def test_messages_added_and_taken_away(server: OpenAIServer) -> None:
    hooks = before(
        lambda op: op.replace(messages=[*op.request.messages[1:], text("and be kind"), {"role": "x", "y": 1}])
    )
    with recorder(hooks), sync_client(server.url) as client:
        client.chat.completions.create(**CHAT)
    sent = server.requests[0].body["messages"]
    assert sent == [MESSAGES[1], {"role": "user", "content": "and be kind"}, {"role": "x", "y": 1}]


def test_system_model_and_inputs(server: OpenAIServer) -> None:
    hooks = before(lambda op: op.replace(system="Be long.", model="gpt-4o"))
    with recorder(hooks) as seen, sync_client(server.url) as client:
        client.chat.completions.create(**CHAT)
        client.chat.completions.create(model="gpt-4o-mini", messages=MESSAGES[1:])
        client.responses.create(**RESPONSES)
    bodies = [request.body for request in server.requests]
    assert bodies[0]["messages"] == [{"role": "system", "content": "Be long."}, MESSAGES[1]]
    assert bodies[1]["messages"] == [{"role": "system", "content": "Be long."}, MESSAGES[1]]
    assert bodies[2]["instructions"] == "Be long."
    assert {body["model"] for body in bodies} == {"gpt-4o"}
    assert list(seen.operations[0].usage_by_model) == ["gpt-4o-2024-07-18"]
    assert {span.name for span in seen.spans} == {"chat gpt-4o"}

    hooks = before(lambda op: op.replace(inputs=[{"role": "user", "content": "other"}]))
    with recorder(hooks), sync_client(server.url) as client:
        client.chat.completions.create(**CHAT)
        client.responses.create(**RESPONSES)
    assert server.requests[3].body["messages"] == server.requests[4].body["input"]
    assert server.requests[3].body["messages"] == [{"role": "user", "content": "other"}]


@pytest.mark.every_value
@pytest.mark.parametrize("deployment", [None, "mine"])
def test_the_model_of_azures_deployments(deployment: str | None, server: OpenAIServer) -> None:
    """A client of one deployment calls no other, whatever the request says; but not all paths are its deployment's."""
    options: dict[str, Any] = {"azure_endpoint": server.origin, "api_key": "test", "api_version": "2025-03-01-preview"}
    hooks = before(lambda op: op.replace(model="gpt-4o"))
    with recorder(hooks), AzureOpenAI(**options, azure_deployment=deployment) as client:
        if deployment is None:
            client.chat.completions.create(**CHAT)
            assert server.requests[0].path.startswith("/openai/deployments/gpt-4o/")
        else:
            with pytest.raises(Reject, match="change") as refused:
                client.chat.completions.create(**CHAT)
            assert "always calls its deployment 'mine'" in str(refused.value.__cause__)
            assert server.requests == []
        client.responses.create(**RESPONSES)
    assert server.requests[-1].path.startswith("/openai/responses")
    assert server.requests[-1].body["model"] == "gpt-4o"


def test_what_extra_body_overrides_is_seen_and_rewritten(server: OpenAIServer) -> None:
    """``extra_body`` wins over the arguments, so a gate must judge and change that."""

    def change(op: Operation) -> None:
        assert op.request.messages == [text("smuggled")]
        assert op.model == "gpt-4o"
        op.replace(messages=[text("harmless")])

    smuggled = {"messages": [{"role": "user", "content": "smuggled"}], "model": "gpt-4o", "top_k": 3}
    with recorder(before(change)), sync_client(server.url) as client:
        client.chat.completions.create(**CHAT, extra_body=smuggled)
    [request] = server.requests
    assert request.body == {"model": "gpt-4o", "top_k": 3, "messages": [{"role": "user", "content": "harmless"}]}
    assert smuggled["messages"] == [{"role": "user", "content": "smuggled"}]


def test_bytes_given_to_the_transport_are_read(server: OpenAIServer) -> None:
    def change(op: Operation) -> None:
        assert op.name == "gpt-4o-mini"
        op.replace(messages=[text("harmless")])

    with recorder(before(change)), sync_client(server.url) as client:
        if "content" not in signature(client.post).parameters:
            return  # this version of openai sends JSON alone
        client.post("/chat/completions", cast_to=ChatCompletion, content=json.dumps(CHAT).encode())
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "harmless"}]


@pytest.mark.every_value
@pytest.mark.parametrize("given", [tuple, iter, deque, lambda said: [OrderedDict(one) for one in said]])
def test_what_is_asked_may_be_of_any_type(given: Any, server: OpenAIServer) -> None:
    """Hooks see what is sent, although some can be read only once."""
    seen: list[Any] = []
    said = [{"role": "user", "content": "secret"}]

    with sync_client(server.url) as client, recorder(before(lambda op: seen.append(op.request.messages))):
        client.chat.completions.create(model="gpt-4o-mini", messages=given(said))
        client.responses.create(model="gpt-4o-mini", input=given(said))
        client.chat.completions.create(model="gpt-4o-mini", messages=[], extra_body={"messages": given(said)})
        client.post("/chat/completions", cast_to=ChatCompletion, body={"model": "gpt-4o", "messages": given(said)})
    assert seen == [[text("secret")]] * 4
    assert [request.body.get("messages", request.body.get("input")) for request in server.requests] == [said] * 4


ITEMS: Any = [
    {"role": "developer", "content": "Be brief."},
    {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "my secret"}, {"type": "input_image", "image_url": "https://x/y.png"}],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look_up", "arguments": '{"query":  "x"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "a secret"},
    {"type": "custom_tool_call", "call_id": "call_2", "name": "run", "input": "ls"},
    {"type": "custom_tool_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "files"}]},
    {"type": "item_reference", "id": "msg_9"},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
        {"type": "output_text", "text": "done", "annotations": []}, {"type": "refusal", "refusal": "no"}]},
]  # fmt: skip


def test_items_in_common_terms(server: OpenAIServer) -> None:
    seen: list[Any] = []
    with recorder(before(lambda op: seen.extend(op.request.messages))), sync_client(server.url) as client:
        client.responses.create(model="gpt-4o-mini", input=ITEMS)
    assert seen == [
        text("Be brief.", "developer"),
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "my secret"},
                {"type": "uri", "modality": "image", "uri": "https://x/y.png"},
            ],
        },
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "x"}}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "a secret"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_2", "name": "run", "arguments": "ls"}]},
        {
            "role": "tool",
            "parts": [
                {"type": "tool_call_response", "id": "call_2", "response": [{"type": "input_text", "text": "files"}]}
            ],
        },
        {"role": "assistant", "parts": [{"type": "item_reference", "id": "msg_9"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "done"}, {"type": "refusal", "content": "no"}]},
    ]


def test_items_that_a_hook_changes_and_those_it_leaves_alone(server: OpenAIServer) -> None:
    hooks = before(lambda op: op.replace(messages=masked(op.request.messages)))
    with recorder(hooks), sync_client(server.url) as client:
        client.responses.create(model="gpt-4o-mini", input=ITEMS)
        client.responses.create(model="gpt-4o-mini", input="a secret")
        client.responses.create(model="gpt-4o-mini", input="nothing")
    assert [request.body["input"] for request in server.requests] == [masked(ITEMS), "a ***", "nothing"]


def test_items_added(server: OpenAIServer) -> None:
    def add(op: Operation) -> None:
        call = {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "x"}}
        said = {"role": "assistant", "parts": [{"type": "text", "content": "let me see"}, call]}
        found = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": {"found": 1}}]}
        op.replace(messages=[*op.request.messages, said, found])

    with recorder(before(add)), sync_client(server.url) as client:
        client.responses.create(**RESPONSES)
    assert server.requests[0].body["input"] == [
        {"role": "user", "content": "Say hello."},
        {"role": "assistant", "content": "let me see"},
        {"type": "function_call", "call_id": "call_1", "name": "look_up", "arguments": '{"query": "x"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": '{"found": 1}'},
    ]


def test_prompts(server: OpenAIServer) -> None:
    hooks = before(lambda op: op.replace(messages=masked(op.request.messages), model="davinci-002"))
    with recorder(hooks), sync_client(server.url) as client:
        client.completions.create(model="x", prompt="a secret")
        client.completions.create(model="x", prompt=["a secret", "nothing"])
        client.completions.create(model="x", prompt=[1, 2, 3])
    assert [request.body["prompt"] for request in server.requests] == ["a ***", ["a ***", "nothing"], [1, 2, 3]]
    assert {request.body["model"] for request in server.requests} == {"davinci-002"}


@pytest.mark.every_value
@pytest.mark.parametrize("way", a_fifth(way for way in WAYS if way.kind == "llm.call"), ids=named)
def test_every_way_is_rewritten(way: Way, server: OpenAIServer) -> None:
    server.script(way.text)
    with recorder(before(lambda op: op.replace(messages=[text("other")]))):
        way(server.url)
    body = server.requests[0].body
    assert body.get("messages", body.get("input", body.get("prompt"))) in (
        [{"role": "user", "content": "other"}],
        "other",
    )


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda op: op.replace(arguments={"x": 1}), "was given arguments="),
        (lambda op: op.replace(messages=[[text("a")], [text("b")]]), "one prompt"),
    ],
)
def test_changes_that_make_no_sense(change: Callable[[Operation], Any], words: str, server: OpenAIServer) -> None:
    with recorder(before(change)) as seen, sync_client(server.url) as client:
        for ask in (
            lambda: client.chat.completions.create(**CHAT),
            lambda: client.responses.create(**RESPONSES),
        ):
            with pytest.raises(Reject, match="change"):
                ask()
    assert server.requests == []
    for op in seen.operations:
        assert words in str(op.decisions[0].reason) or words in str(getattr(op.error, "__cause__", ""))


def test_embeddings(server: OpenAIServer) -> None:
    hooks = before(lambda op: op.replace(inputs=["x", "two"], model="text-embedding-3-large"))
    with recorder(hooks) as seen, sync_client(server.url) as client:
        client.embeddings.create(**EMBEDDINGS, dimensions=8)
    body = server.requests[0].body
    assert (body["input"], body["model"], body["dimensions"]) == (["x", "two"], "text-embedding-3-large", 8)
    assert seen.operations[0]._record.decided.modified == ("inputs", "model")
    hooks = before(lambda op: op.replace(messages=[text("x")]))
    with recorder(hooks), sync_client(server.url) as client, pytest.raises(Reject) as caught:
        client.embeddings.create(**EMBEDDINGS)
    assert isinstance(caught.value.__cause__, HookError)


# Parts as the SDK types them, and whatever a provider may add.
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
extra = st.dictionaries(st.sampled_from(["x", "cache_control", "annotations"]), json_values, max_size=2)
part = st.one_of(
    st.builds(lambda said, more: {**more, "type": "text", "text": said}, st.text(max_size=5), extra),
    st.builds(lambda said: {"type": "refusal", "refusal": said}, st.text(max_size=5)),
    st.builds(lambda url, more: {**more, "type": "image_url", "image_url": {"url": url}}, st.text(max_size=5), extra),
)
tool_call = st.builds(
    lambda key, arguments: {"id": key, "type": "function", "function": {"name": "f", "arguments": arguments}},
    st.text(min_size=1, max_size=3),
    st.sampled_from(["{}", '{"a": 1}', "not json", "[1]", '{"a":1}']),
)
wire_message = st.one_of(
    st.builds(
        lambda role, content, more: {**more, "role": role, "content": content},
        st.sampled_from(["user", "system", "developer", "assistant"]),
        st.text(max_size=5) | st.lists(part, max_size=3),
        extra,
    ),
    st.builds(
        lambda calls, more: {**more, "role": "assistant", "content": None, "tool_calls": calls},
        st.lists(tool_call, min_size=1, max_size=2),
        extra,
    ),
    st.builds(
        lambda content: {"role": "tool", "tool_call_id": "call_1", "content": content},
        st.text(max_size=5) | st.lists(part, max_size=2),
    ),
)


@given(st.lists(wire_message, max_size=4), st.integers(0, 3))
def test_what_a_hook_leaves_alone_goes_out_as_it_came(wire: list[Any], changed: int) -> None:
    new = [messages.to_message(one) for one in wire]
    assert messages.rewrite(wire, new) == wire
    if changed < len(wire):
        new[changed] = text("changed")
        rewritten = messages.rewrite(wire, new)
        assert [one for index, one in enumerate(rewritten) if index != changed] == [
            one for index, one in enumerate(wire) if index != changed
        ]
        assert messages.to_message(rewritten[changed]) == {**text("changed"), **_kept_name(rewritten[changed])}


def _kept_name(message: dict[str, Any]) -> dict[str, Any]:
    return {"name": message["name"]} if "name" in message else {}


@given(st.lists(wire_message, max_size=4))
def test_items_that_a_hook_leaves_alone_go_out_as_they_came(wire: list[Any]) -> None:
    assert items.rewrite(wire, [items.to_message(one) for one in wire]) == wire


# ----------------------------------------------------------------------------------------------- answers

ANSWERED = [way for way in WAYS if way.kind == "llm.call" and "decisions" not in way.name]


def kinds(found: Any) -> Any:
    """The types in some facts, without what was said."""
    if isinstance(found, list):
        return {kinds(one) for one in found}
    if isinstance(found, tuple) and len(found) == 2:
        return found[0] if isinstance(found[0], str) else [kinds(one) for one in found]
    return found if isinstance(found, tuple) else type(found).__name__


@pytest.mark.parametrize("way", a_fifth(ANSWERED), ids=named)
def test_every_way_is_answered_in_its_own_type(way: Way, server: OpenAIServer) -> None:
    server.script(way.text)
    expected = way(server.url)
    with recorder(before(lambda op: op.respond(way.text))) as seen:
        answered = way(server.url)
    assert len(server.requests) == 1
    assert kinds(answered) == kinds(expected)
    [op] = seen.operations
    assert (op.status, op._record.called, op.usage.total_tokens) == ("success", False, 0)
    assert op.decisions[0].decision == "replace"


def chat_answers() -> dict[str, Any]:
    whole = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}]}
    return {
        "text": "hi",
        "dict": whole,
        "message": text("hi", "assistant"),
        "messages": [text("hi", "assistant")],
        "completion": ChatCompletion.model_validate({**whole, "id": "1", "created": 1, "model": "m", "object": "chat.completion"}),
    }  # fmt: skip


@pytest.mark.parametrize("given", chat_answers())
@pytest.mark.parametrize("streamed", [False, True])
def test_what_a_chat_completion_may_be_answered_with(given: str, streamed: bool, server: OpenAIServer) -> None:
    value = chat_answers()[given]
    with recorder(before(lambda op: op.respond(value))), sync_client(server.url) as client:
        if streamed:
            chunks = list(client.chat.completions.create(**CHAT, stream=True))
            assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "hi"
            assert chunks[-1].choices[0].finish_reason == "stop"
        else:
            made = client.chat.completions.create(**CHAT)
            assert made.choices[0].message.content == "hi"
            assert made.usage is None
            assert made is not value  # what the hook keeps is its own
            assert (made == value) is (given == "completion")


def test_a_tool_call_as_the_answer(server: OpenAIServer) -> None:
    call = {"type": "tool_call", "id": "call_9", "name": "look_up", "arguments": {"query": "x"}}
    hooks = before(lambda op: op.respond({"role": "assistant", "parts": [call]}))
    with recorder(hooks), sync_client(server.url) as client:
        [choice] = client.chat.completions.create(**CHAT).choices
        assert choice.finish_reason == "tool_calls"
        assert choice.message.tool_calls is not None
        made: Any = choice.message.tool_calls[0]
        assert (made.id, made.function.name, made.function.arguments) == ("call_9", "look_up", '{"query": "x"}')
        with client.chat.completions.stream(**CHAT) as stream:
            final = stream.get_final_completion()
            assert final.choices[0].message.tool_calls is not None
        output: Any = client.responses.create(**RESPONSES).output[0]
        assert (output.type, output.call_id, output.arguments) == ("function_call", "call_9", '{"query": "x"}')
        with client.responses.stream(**RESPONSES) as events:
            last: Any = events.get_final_response().output[0]
            assert (last.type, last.call_id, last.arguments) == ("function_call", "call_9", '{"query": "x"}')
    assert server.requests == []


def test_a_cache_in_an_around_hook(server: OpenAIServer) -> None:
    kept: dict[str, Any] = {}
    hooks = Hooks()

    @hooks.around("llm.call")
    def cached(op: Operation) -> Any:
        key = f"{op._record.args[1].url} {op._record.kwargs.get('stream')}"
        if key in kept:
            return kept[key]
        kept[key] = yield
        return None

    with recorder(hooks) as seen, sync_client(server.url) as client:
        first = client.chat.completions.create(**CHAT)
        assert client.chat.completions.create(**CHAT) == first
        parsed_first = client.responses.create(**RESPONSES)
        assert client.responses.create(**RESPONSES) == parsed_first
        raw = client.chat.completions.with_raw_response.create(**CHAT)
        assert raw.parse() == first
        chunks = list(client.chat.completions.create(**CHAT, stream=True))
        again = list(client.chat.completions.create(**CHAT, stream=True))
    assert len(server.requests) == 3
    for read in (chunks, again):
        assert "".join(chunk.choices[0].delta.content or "" for chunk in read) == "hello there friend"
    assert [op._record.called for op in seen.operations] == [True, False, True, False, False, True, False]


def test_a_parsed_answer_is_parsed_anew(server: OpenAIServer) -> None:
    server.script('{"greeting": "hello"}', '{"greeting": "hello"}')
    kept: list[Any] = []
    with recorder(after(lambda op: kept.append(op.result))), sync_client(server.url) as client:
        client.chat.completions.parse(**CHAT, response_format=Answer)
        client.responses.parse(**RESPONSES, text_format=Answer)
    hooks = before(lambda op: op.respond(kept["chat" not in op._record.args[1].url]))
    with recorder(hooks), sync_client(server.url) as client:
        [choice] = client.chat.completions.parse(**CHAT, response_format=Answer).choices
        assert choice.message.parsed == Answer(greeting="hello")
        assert client.responses.parse(**RESPONSES, text_format=Answer).output_parsed == Answer(greeting="hello")
        assert type(client.chat.completions.create(**CHAT)).__name__ == "ChatCompletion"
        assert type(client.responses.create(**RESPONSES)).__name__ == "Response"
    assert len(server.requests) == 2


def test_an_answer_that_does_not_fit_fails_closed(server: OpenAIServer) -> None:
    with recorder(before(lambda op: op.respond(42))), sync_client(server.url) as client:
        for ask in (
            lambda: client.chat.completions.create(**CHAT),
            lambda: client.responses.create(**RESPONSES),
            lambda: client.completions.create(**TEXT),
            lambda: client.embeddings.create(**EMBEDDINGS),
        ):
            with pytest.raises(Reject) as caught:
                ask()
            assert "int" in str(caught.value.__cause__)
    assert server.requests == []


def test_embeddings_answered(server: OpenAIServer) -> None:
    with sync_client(server.url) as client:
        real = client.embeddings.create(**EMBEDDINGS)
    for value in ([[0.5, 1.0, 1.5], [0.5, 1.0, 1.5]], real):
        with recorder(before(lambda op, value=value: op.respond(value))) as seen, sync_client(server.url) as client:
            made = client.embeddings.create(**EMBEDDINGS)
            assert isinstance(made, CreateEmbeddingResponse)
            assert [one.embedding for one in made.data] == [one.embedding for one in real.data]
            raw: Any = client.embeddings.create(**EMBEDDINGS, encoding_format="base64")
            assert isinstance(raw.data[0].embedding, str)
        assert [op.usage.total_tokens for op in seen.operations] == [0, 0]

    async def main() -> None:
        async with async_client(server.url) as client:
            made = await client.embeddings.create(**EMBEDDINGS)
            assert made.data[1].embedding == [0.5, 1.0, 1.5]

    with recorder(before(lambda op: op.respond(real))):
        asyncio.run(main())
    assert len(server.requests) == 1


# ----------------------------------------------------------------------------------------------- results

UNSTREAMED = [way for way in ANSWERED if not way.streamed and "streaming" not in way.name]


@pytest.mark.parametrize("way", UNSTREAMED, ids=named)
def test_results_are_replaced(way: Way, server: OpenAIServer) -> None:
    other = way.text.replace("hello", "goodbye")
    server.script(way.text)
    expected = way(server.url)
    server.script(way.text)

    def change(op: Operation) -> None:
        assert op.response.text == way.text
        op.respond(op.response.text.replace("hello", "goodbye"))
        op.state["changed"] = True

    with recorder(after(change)) as seen:
        replaced = way(server.url)
    assert kinds(replaced) == kinds(expected)
    assert "goodbye" in str(replaced)
    assert other.split(" ")[0] in str(replaced)
    [op] = seen.operations
    assert op.response.text == other
    assert op.usage.input_tokens == 20


@pytest.mark.parametrize("way", [way for way in WAYS if way.streamed], ids=named)
def test_streams_held_back_are_replaced(way: Way, server: OpenAIServer) -> None:
    server.script(way.text)
    expected = way(server.url)
    server.script(way.text)
    hooks = after(lambda op: op.respond(op.response.text.replace("hello", "goodbye")), stream="buffer")
    with recorder(hooks) as seen:
        replaced = way(server.url)
    assert "goodbye" in str(replaced)
    assert "hello" not in str(replaced)
    assert kinds(replaced) == kinds(expected)
    assert [op.decisions[0].decision for op in seen.operations] == ["replace"]


@pytest.mark.parametrize("way", [way for way in WAYS if way.streamed], ids=named)
def test_streams_held_back_and_left_alone(way: Way, server: OpenAIServer) -> None:
    server.script(way.text)
    expected = way(server.url)
    server.script(way.text)
    with recorder(after(lambda op: None, stream="buffer")) as seen:
        assert way(server.url) == expected
    assert [op.status for op in seen.operations] == ["success"]


@pytest.mark.every_value
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_body_held_back_is_replaced(encoding: str, server: OpenAIServer) -> None:
    server.script(Reply(encoding=encoding), Reply(encoding=encoding))
    hooks = after(lambda op: op.respond(op.response.text.replace("hello", "goodbye")), stream="buffer")
    with recorder(hooks) as seen, sync_client(server.url) as client:
        with client.chat.completions.with_streaming_response.create(**CHAT) as response:
            made: Any = response.parse()
            assert made.choices[0].message.content == "goodbye there friend"
        with client.chat.completions.with_streaming_response.create(**CHAT, stream=True) as response:
            lines = [line for line in response.iter_lines() if line]
            assert "goodbye" in lines[0]
            assert lines[-1] == "data: [DONE]"
    assert [op.usage.input_tokens for op in seen.operations] == [20, 5]


def test_output_in_common_terms(server: OpenAIServer) -> None:
    said: list[Any] = []
    calls = (Call("look_up", {"query": "x"}), Call("look_up", {"query": "y"}, id="call_2"))
    parts = [
        {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "x"}},
        {"type": "tool_call", "id": "call_2", "name": "look_up", "arguments": {"query": "y"}},
    ]
    with recorder(after(lambda op: said.append(op.response.messages))), sync_client(server.url) as client:
        server.reply = Reply(calls=calls)
        client.chat.completions.create(**CHAT)
        list(client.chat.completions.create(**CHAT, stream=True))
        client.chat.completions.with_raw_response.create(**CHAT)
        client.responses.create(**RESPONSES)
        list(client.responses.create(**RESPONSES, stream=True))
    assert said == [[{"role": "assistant", "parts": parts, "finish_reason": "tool_calls"}]] * 5


@pytest.mark.parametrize("form", ["def", "async"])
def test_around_hooks_on_async_calls(form: str, server: OpenAIServer) -> None:
    hooks = Hooks()
    if form == "def":

        @hooks.around("llm.call")
        def louder(op: Operation) -> Any:
            result = yield
            return result.choices[0].message.content.upper()

    else:

        @hooks.around("llm.call", timeout=60.0)
        async def louder_later(op: Operation, call_next: Callable[[], Any]) -> Any:
            await call_next()
            return op.response.text.upper()

    async def main() -> None:
        async with async_client(server.url) as client:
            made = await client.chat.completions.create(**CHAT)
            assert made.choices[0].message.content == "HELLO THERE FRIEND"

    with recorder(hooks):
        asyncio.run(main())


def test_an_async_around_hook_on_an_async_stream(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", timeout=60.0)
    async def wrapping(op: Operation, call_next: Callable[[], Any]) -> None:
        await call_next()
        op.state["said"] = op.response.text

    async def main() -> None:
        async with async_client(server.url) as client:
            stream = await client.chat.completions.create(**CHAT, stream=True)
            assert len(await collected(stream)) == 5

    with recorder(hooks) as seen:
        asyncio.run(main())
    [op] = seen.operations
    assert op.state["said"] == "hello there friend"
    assert op.usage.estimated
