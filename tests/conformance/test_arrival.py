"""What a hook asked for is what the server gets, or the hook fails and the server gets the request as it was."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langchain_openai import OpenAI as TextOpenAI
from langgraph.store.memory import InMemoryStore
from openai import AzureOpenAI, DefaultHttpxClient, OpenAI

from spanhook import HookError, Hooks, Operation, Reject, operation
from spanhook.cli.conformance.libraries.langgraph import make_graph
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.conformance.everything import SUBJECTS

Change = Callable[[Operation], Any]


class Loopback(OpenAIServer):
    """A server with one client for all connections to it."""

    def __enter__(self) -> Any:
        self.http = DefaultHttpxClient(verify=False)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        self.http.close()
        super().__exit__(*error)


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def _options(server: Loopback) -> dict[str, Any]:
    return {"base_url": server.url, "api_key": "test", "max_retries": 0, "http_client": server.http}


def _client(server: Loopback) -> OpenAI:
    return OpenAI(**_options(server))


def _model(server: Loopback, **more: Any) -> ChatOpenAI:
    return ChatOpenAI(model="gpt-4o-mini", **_options(server), **more)


def text(content: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


# ----------------------------------------------------------------------------------------------- whatever is drawn

TOKEN = re.compile(r"t\d+x")
Parts = list[dict[str, Any]]


class Asker:
    """One way of asking a model over HTTP, with a hook that changes what is asked as it is told."""

    def __init__(self, server: Loopback, ask: Callable[[list[Any]], Any]) -> None:
        self.server, self.ask = server, ask
        self.change: Change = lambda op: None
        self.refused = ""
        self.hooks = Hooks()

        @self.hooks.before("llm.call", timeout=60.0)
        def change(op: Operation) -> None:
            try:
                self.change(op)
            except HookError as error:
                self.refused = str(error)

    def __call__(self, given: list[Any], change: Change) -> tuple[Any, str]:
        """The body that the server got, and why the change was refused."""
        self.change, self.refused = change, ""
        self.server.requests.clear()
        self.ask(given)
        [request] = self.server.requests
        return request.body, self.refused


def _openai_chat(tokens: Iterator[str]) -> list[st.SearchStrategy[Any]]:
    def call(_: Any) -> Any:
        function = {"name": next(tokens), "arguments": json.dumps({"q": next(tokens)})}
        return {"id": next(tokens), "type": "function", "function": function}

    none = st.none()
    image = none.map(lambda _: {"type": "image_url", "image_url": {"url": f"data:{next(tokens)}"}})
    piece: Any = none.map(lambda _: {"type": "text", "text": next(tokens)})
    return [
        none.map(lambda _: {"role": "system", "content": next(tokens)}),
        none.map(lambda _: {"role": "user", "content": next(tokens), "name": next(tokens)}),
        st.lists(st.one_of(piece, image), min_size=1, max_size=3).map(
            lambda content: {"role": "user", "content": content}
        ),
        st.lists(none.map(call), min_size=1, max_size=2).map(
            lambda calls: {"role": "assistant", "content": next(tokens), "tool_calls": calls}
        ),
        none.map(
            lambda _: {"role": "assistant", "content": None, "function_call": {"name": next(tokens), "arguments": "{}"}}
        ),
        none.map(lambda _: {"role": "assistant", "content": next(tokens), "reasoning_content": next(tokens)}),
        none.map(lambda _: {"role": "assistant", "content": None, "refusal": next(tokens)}),
        none.map(lambda _: {"role": "tool", "tool_call_id": next(tokens), "content": next(tokens)}),
    ]


def _openai_responses(tokens: Iterator[str]) -> list[st.SearchStrategy[Any]]:
    none = st.none()
    return [
        none.map(lambda _: {"role": "user", "content": next(tokens)}),
        none.map(lambda _: {"role": "user", "content": [{"type": "input_text", "text": next(tokens)}]}),
        none.map(
            lambda _: {
                "type": "function_call",
                "call_id": next(tokens),
                "name": next(tokens),
                "arguments": json.dumps({"q": next(tokens)}),
            }
        ),
        none.map(lambda _: {"type": "function_call_output", "call_id": next(tokens), "output": next(tokens)}),
        none.map(
            lambda _: {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": next(tokens)}],
            }
        ),
        none.map(lambda _: {"type": "web_search_call", "id": "ws_1", "action": {"query": next(tokens)}}),
    ]


def _langchain(tokens: Iterator[str]) -> list[st.SearchStrategy[Any]]:
    def call(_: Any) -> Any:
        return {"name": next(tokens), "args": {"q": next(tokens)}, "id": next(tokens), "type": "tool_call"}

    def broken(_: Any) -> Any:
        invalid = {"name": next(tokens), "args": next(tokens), "id": next(tokens), "error": None}
        return AIMessage("", invalid_tool_calls=[{**invalid, "type": "invalid_tool_call"}])

    def raw(_: Any) -> Any:
        function = {"name": next(tokens), "arguments": json.dumps({"q": next(tokens)})}
        return AIMessage(
            "", additional_kwargs={"tool_calls": [{"id": next(tokens), "type": "function", "function": function}]}
        )

    def legacy(_: Any) -> Any:
        return AIMessage("", additional_kwargs={"function_call": {"name": next(tokens), "arguments": "{}"}})

    def with_blocks(calls: Any) -> Any:
        blocks: Any = [
            {"type": "tool_use", "id": one["id"], "name": one["name"], "input": one["args"]} for one in calls
        ]
        return AIMessage([{"type": "text", "text": next(tokens)}, *blocks], tool_calls=calls)

    none = st.none()
    image = none.map(lambda _: {"type": "image_url", "image_url": {"url": f"data:{next(tokens)}"}})
    piece: Any = none.map(lambda _: {"type": "text", "text": next(tokens)})
    calls = st.lists(none.map(call), min_size=1, max_size=2)
    return [
        none.map(lambda _: SystemMessage(next(tokens))),
        none.map(lambda _: HumanMessage(next(tokens), name=next(tokens))),
        st.lists(st.one_of(piece, image), min_size=1, max_size=3).map(HumanMessage),
        calls.map(lambda made: AIMessage(next(tokens), tool_calls=made, id="m1")),
        calls.map(with_blocks),
        none.map(broken),
        none.map(raw),
        none.map(legacy),
        none.map(lambda _: ToolMessage(next(tokens), tool_call_id=next(tokens))),
    ]


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where tokens stand in messages, as containers and keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(pairs):
        if isinstance(one, str):
            if TOKEN.search(one):
                yield value, key
        else:
            yield from _leaves(one)


def _edit(data: st.DataObject, messages: list[Any], tokens: Iterator[str]) -> dict[str, Any]:
    """Draw what a hook does to messages, and what else it asks for."""
    more: dict[str, Any] = {}
    for what in data.draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=3), label="edits"):
        which = data.draw(st.integers(0, len(messages) - 1)) if messages else None
        leaves = list(_leaves(messages))
        if what == "leaf" and leaves:
            container, key = data.draw(st.sampled_from(leaves), label="leaf")
            container[key] = TOKEN.sub(next(tokens), container[key])
        elif what == "drop" and which is not None:
            del messages[which]
        elif what == "part" and which is not None and messages[which].get("parts"):
            del messages[which]["parts"][data.draw(st.integers(0, len(messages[which]["parts"]) - 1))]
        elif what == "no name" and which is not None:
            messages[which].pop("name", None)
        elif what == "name" and which is not None and messages[which]["role"] != "tool":  # whose ChatOpenAI leaves out
            messages[which]["name"] = next(tokens)
        elif what == "say":
            messages.insert(which or 0, text(next(tokens), data.draw(st.sampled_from(["user", "assistant"]))))
        elif what == "say plainly":
            messages.append({"role": "user", "content": next(tokens)})
        elif what == "call":
            part = {"type": "tool_call", "id": next(tokens), "name": next(tokens), "arguments": {"q": next(tokens)}}
            messages.append({"role": "assistant", "parts": [part]})
        elif what == "result":
            part = {"type": "tool_call_response", "id": next(tokens), "response": {"found": next(tokens)}}
            messages.append({"role": "tool", "parts": [part]})
        elif what == "one more part" and which is not None and messages[which].get("parts") is not None:
            messages[which]["parts"].append({"type": "text", "content": next(tokens)})
        elif what == "system":
            more["system"] = next(tokens)
        elif what == "model":
            more["model"] = next(tokens)
    return more


EDITS = (
    *("leaf", "leaf", "leaf", "drop", "part", "part", "no name", "name", "say", "say plainly", "call", "result"),
    *("one more part", "system", "model"),
)


def _chat(server: Loopback) -> Callable[[list[Any]], Any]:
    client = _client(server)
    return lambda given: client.chat.completions.create(model="gpt-4o-mini", messages=given)


def _responses(server: Loopback) -> Callable[[list[Any]], Any]:
    client = _client(server)
    return lambda given: client.responses.create(model="gpt-4o-mini", input=given)


def _streamed(server: Loopback) -> Callable[[list[Any]], Any]:
    model = _model(server)
    return lambda given: list(model.stream(given))


APIS: dict[str, tuple[Callable[..., Any], Callable[[Loopback], Callable[[list[Any]], Any]]]] = {
    "openai chat": (_openai_chat, _chat),
    "openai responses": (_openai_responses, _responses),
    "ChatOpenAI": (_langchain, lambda server: _model(server).invoke),
    "ChatOpenAI stream": (_langchain, _streamed),
}


@pytest.mark.every_value
@pytest.mark.parametrize("api", APIS)
def test_what_is_drawn(api: str, server: Loopback) -> None:
    draws, ask = APIS[api]
    tokens = (f"t{number}x" for number in count())
    asker = Asker(server, ask(server))
    given_messages = st.lists(st.one_of(draws(tokens)), min_size=1, max_size=4)
    refusals: list[str] = []

    examples = settings().max_examples * 3 // 5

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow], database=None)
    @given(given_messages, st.data())
    def holds(natives: list[Any], data: st.DataObject) -> None:
        seen: dict[str, Any] = {}

        def change(op: Operation) -> None:
            messages = op.request.messages
            seen["before"] = set(TOKEN.findall(json.dumps(messages)))
            more = _edit(data, messages, tokens)
            kept = (
                messages
                if "system" not in more
                else [one for one in messages if one["role"] not in ("system", "developer")]
            )
            seen["asked"] = set(TOKEN.findall(json.dumps([kept, more])))
            seen["gone"] = {one["name"] for one in messages if one not in kept and "name" in one}  # or they may stay
            op.replace(messages=messages, **more)

        body, refused = asker(natives, change)
        sent = set(TOKEN.findall(json.dumps(body)))
        if refused:
            refusals.append(refused)
            assert sent == seen["before"], refused
        else:
            assert sent - seen["gone"] == seen["asked"]

    with recorder(asker.hooks):
        holds()


# ----------------------------------------------------------------------------------------------- one by one


def changing(kind: Any, change: Change, told: list[str] | None = None) -> Hooks:
    """A hook that changes what is asked, and keeps why it could not."""
    hooks = Hooks()

    def hook(op: Operation) -> None:
        try:
            change(op)
        except (HookError, ValueError) as error:
            if told is None:
                raise
            told.append(str(error))

    hooks.before(kind, timeout=60.0, name="change")(hook)
    return hooks


RAW = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
LEGACY = {"name": "pay", "arguments": '{"n": 1}'}
INVALID: Any = {"name": "pay", "args": '{"n": ', "id": "c1", "error": None, "type": "invalid_tool_call"}


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        (AIMessage("", additional_kwargs={"tool_calls": [RAW]}), {"n": 1}),
        (AIMessage("", additional_kwargs={"function_call": LEGACY}), {"n": 1}),
        (AIMessage("", invalid_tool_calls=[INVALID]), '{"n": '),
    ],
    ids=["as the provider said", "function_call", "invalid"],
)
def test_every_tool_call_that_is_sent_is_shown_and_can_be_taken_out(
    message: AIMessage, arguments: Any, server: Loopback
) -> None:
    shown: list[Any] = []

    def take_out(op: Operation) -> None:
        messages = op.request.messages
        shown.extend(messages[0]["parts"])
        messages[0]["parts"] = [{"type": "text", "content": "nothing"}]
        op.replace(messages=messages)

    server.requests.clear()
    with recorder(changing("llm.call", take_out)):
        _model(server).invoke([message])
    assert [(part["name"], part["arguments"]) for part in shown] == [("pay", arguments)]
    assert server.requests[0].body["messages"] == [{"role": "assistant", "content": "nothing"}]


def test_a_name_that_is_changed_or_taken_away(server: Loopback) -> None:
    def rename(op: Operation) -> None:
        messages = op.request.messages
        messages[0]["name"] = "bob"
        del messages[1]["name"]
        op.replace(messages=messages)

    server.requests.clear()
    with recorder(changing("llm.call", rename)):
        _model(server).invoke([HumanMessage("a", name="ann"), HumanMessage("b", name="ann")])
        messages: Any = [{"role": "user", "content": one, "name": "ann"} for one in "ab"]
        _client(server).chat.completions.create(model="gpt-4o-mini", messages=messages)
    expected = [{"role": "user", "content": "a", "name": "bob"}, {"role": "user", "content": "b"}]
    assert [request.body["messages"] for request in server.requests] == [expected, expected]


def test_reasoning_that_the_provider_has_signed(server: Loopback) -> None:
    told: list[str] = []

    def mask(op: Operation) -> None:
        messages = op.request.messages
        messages[0]["parts"][0]["content"] = "***"
        op.replace(messages=messages)

    item: Any = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "secret"}]}
    server.requests.clear()
    with recorder(changing("llm.call", mask, told)):
        _client(server).responses.create(model="gpt-4o-mini", input=[item])
    [said] = told
    assert said.startswith("messages[0], part 0 (reasoning) in messages= of op.replace() would not arrive")
    assert server.requests[0].body["input"] == [item]
    with recorder(changing("llm.call", mask)), pytest.raises(Reject, match="HookError"):
        _client(server).responses.create(model="gpt-4o-mini", input=[item])
    with recorder(changing("llm.call", lambda op: op.replace(messages=[text("go on")]))):
        _client(server).responses.create(model="gpt-4o-mini", input=[item])
    assert [request.body["input"] for request in server.requests[1:]] == [[{"role": "user", "content": "go on"}]]


PLAIN: Any = [{"role": "user", "content": "plainly"}]


def test_messages_in_the_form_that_everybody_knows(server: Loopback) -> None:
    def plainly(op: Operation) -> None:
        op.replace(messages=PLAIN)

    client = _client(server)
    text_model = TextOpenAI(model="gpt-3.5-turbo-instruct", **_options(server))
    server.requests.clear()
    with recorder(changing("llm.call", plainly)):
        _model(server).invoke("x")
        list(_model(server).stream("x"))
        text_model.invoke("x")
        list(text_model.stream("x"))
        client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "x"}])
        client.responses.create(model="gpt-4o-mini", input="x")
        client.completions.create(model="gpt-3.5-turbo-instruct", prompt="x")
    said = [
        body.get("messages", body.get("input", body.get("prompt"))) for body in (one.body for one in server.requests)
    ]
    assert said == [PLAIN, PLAIN, ["plainly"], "plainly", PLAIN, PLAIN, "plainly"]


@pytest.mark.every_value
@pytest.mark.parametrize("message", [{"role": "user"}, {"role": "user", "text": "x"}, 7], ids=repr)
def test_messages_that_say_nothing_are_refused(message: Any, server: Loopback) -> None:
    told: list[str] = []
    server.requests.clear()
    with recorder(changing("llm.call", lambda op: op.replace(messages=[message]), told)):
        if isinstance(message, dict):
            _model(server).invoke("x")
            assert server.requests[0].body["messages"] == [{"role": "user", "content": "x"}]
    assert len(told) == (1 if isinstance(message, dict) else 0)


def test_content_blocks_follow_their_calls(server: Loopback) -> None:
    calls: Any = [{"name": name, "args": {"n": 1}, "id": name, "type": "tool_call"} for name in ("pay", "ask")]
    blocks: Any = [{"type": "tool_use", "id": one["id"], "name": one["name"], "input": one["args"]} for one in calls]
    message = AIMessage([{"type": "text", "text": "so"}, *blocks], tool_calls=calls)
    seen: list[Any] = []

    def change(op: Operation) -> None:
        messages = op.request.messages
        parts = messages[0]["parts"]
        assert [part["type"] for part in parts] == ["text", "tool_call", "tool_call"]
        parts[1]["arguments"]["n"] = 2
        del parts[2]
        op.replace(messages=messages)

    hooks = changing("llm.call", change)
    hooks.before("llm.call", priority=90)(lambda op: seen.append(op._record.args[0][0][0]))
    with recorder(hooks):
        _model(server).invoke([message])
    assert seen[0].content == [
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "pay", "name": "pay", "input": {"n": 2}},
    ]
    assert seen[0].tool_calls == [{"name": "pay", "args": {"n": 2}, "id": "pay", "type": "tool_call"}]
    assert message.tool_calls == calls


def test_system_stands_for_all_instructions(server: Loopback) -> None:
    shown: list[str] = []

    def change(op: Operation) -> None:
        shown.append(op.request.system)
        op.replace(system="Be brief.")

    server.requests.clear()
    with recorder(changing("llm.call", change)):
        _model(server).invoke([SystemMessage("one"), HumanMessage("hi"), SystemMessage("two")])
        messages: Any = [{"role": "developer", "content": "one"}, {"role": "system", "content": "two"}]
        _client(server).chat.completions.create(model="gpt-4o-mini", messages=messages)
        _model(server).batch([[SystemMessage("one"), SystemMessage("two")]])
    assert shown == ["one\ntwo"] * 3
    assert [one.body["messages"] for one in server.requests] == [
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        [{"role": "developer", "content": "Be brief."}],
        [{"role": "system", "content": "Be brief."}],
    ]


def test_a_model_that_the_address_names(server: Loopback) -> None:
    told: list[str] = []
    azure = AzureOpenAI(
        azure_endpoint=server.origin,
        azure_deployment="mine",
        api_version="2024-10-21",
        api_key="test",
        http_client=server.http,
    )
    with recorder(changing("llm.call", lambda op: op.replace(model="other"), told)) as seen:
        azure.chat.completions.create(model="mine", messages=PLAIN)
    assert "its deployment 'mine'" in told[0]
    assert seen.operations[0].model == "mine"


@tool
def charge(amount: int, currency: str = "EUR") -> str:
    """Charge something."""
    return f"{amount} {currency}"


def test_arguments_of_tools(server: Loopback) -> None:
    told: list[str] = []
    asked: dict[str, Any] = {}
    with recorder(changing("tool.execute", lambda op: op.replace(arguments=asked), told)):
        for given, expected in (({"amount": 2}, "2 EUR"), ({"amount": 3, "curency": "USD"}, "1 USD")):
            asked.clear()
            asked.update(given)
            assert charge.invoke({"amount": 1, "currency": "USD"}) == expected
    assert told == ["the tool 'charge' has no argument ['curency']"]


def test_inputs_and_messages_of_graphs(server: Loopback) -> None:
    told: list[str] = []
    body = Body()
    graph = make_graph(body)
    with recorder(changing("agent.invoke", lambda op: op.replace(inputs={"value": "y"}))):
        graph.invoke({"value": "x"})
    with recorder(changing("agent.invoke", lambda op: op.replace(messages=PLAIN), told)):
        graph.invoke({"value": "x"})
    assert body.seen == [{"value": "y"}, {"value": "x"}]
    assert "has no messages" in told[0]


def test_what_is_written_to_stores() -> None:
    store, told = InMemoryStore(), list[str]()
    asked: dict[str, Any] = {}
    with recorder(changing("memory.store", lambda op: op.replace(arguments=asked), told)):
        for change in (
            {"key": "other"},
            {"index": False},
            {"kye": "x"},
            {"namespace": "flat"},
            {"namespace": ["a", "b"]},
        ):
            asked.clear()
            asked.update(change)
            store.put(("notes",), "k", {"what": "tea"})
    assert [(one.namespace, one.key) for one in store.search(())] == [
        (("notes",), "other"),
        (("notes",), "k"),
        (("a", "b"), "k"),
    ]
    assert ["a write has no ['kye']" in told[0], told[1].startswith("part of arguments= of op.replace()")] == [True] * 2
    asked.clear()
    asked["value"] = {"what": "coffee"}
    with recorder(changing("memory.store", lambda op: op.replace(arguments=asked), told)):
        store.delete(("notes",), "k")
    assert "a write has no ['value']" in told[2]
    assert store.get(("notes",), "k") is None


@pytest.mark.parametrize("kind", ["retrieval.query", "embeddings.create"])
def test_queries_and_texts_to_embed(kind: Any) -> None:
    subject = next(one for one in SUBJECTS if one.kind == kind)
    asked: list[Any] = []

    def change(op: Operation) -> None:
        op.replace(inputs=["y"] * len(op.request.inputs) if isinstance(op.request.inputs, list) else "y")
        asked.append(op.request.inputs)

    told: list[str] = []
    for way in subject.ways.values():
        with recorder(changing(kind, change, told)):
            collected = way(subject.make(Body()))
            if hasattr(collected, "__await__"):
                asyncio.run(collected)
    assert told == []
    assert {one if isinstance(one, str) else one[0] for one in asked} == {"y"}


def test_what_cannot_be_rewritten_says_so() -> None:
    told: list[str] = []
    with recorder(changing("iteration", lambda op: op.replace(inputs="y"), told)), operation("iteration"):
        pass
    assert "cannot rewrite" in told[0]


def test_nothing_is_read_again_where_nothing_is_rewritten(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: Any) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr("spanhook.model._rewriting.check", broken)
    with recorder(changing("llm.call", lambda op: op.request.messages.clear())):
        _model(server).invoke("hi")
