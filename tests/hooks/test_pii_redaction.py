"""What is planted in requests and results reaches no model, tool, caller, span, log or event, however it is called."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, Settings, operation
from spanhook.cli.conformance.libraries.anthropic_ways import WAYS as ANTHROPIC_WAYS
from spanhook.cli.conformance.libraries.anthropic_ways import sync_client as anthropic_client
from spanhook.cli.conformance.libraries.openai_ways import WAYS as OPENAI_WAYS
from spanhook.cli.conformance.libraries.openai_ways import async_client, named, sync_client
from spanhook.cli.conformance.libraries.stainless_ways import Way
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_replies import Call
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.config import load_file
from spanhook.gating import find, make
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.testing import Recorder, recorder
from tests.hooks.pii_redaction.planted import ENCODINGS, VALUES
from tests.thinning import a_fifth

IN_FULL = Settings(content="SPAN_AND_EVENT", input_output_values=True)
EMAIL, CARD, KEY = VALUES["EMAIL"], VALUES["CREDIT_CARD"], VALUES["AWS_KEY"]
ALL = " | ".join(VALUES.values())


def recorded(seen: Recorder) -> str:
    """Everything that left the process."""
    spans = [span.to_json() for span in seen.spans]
    return "\n".join([*spans, repr(seen.events), repr(seen.metrics())])


def planted_in(text: str, *values: str) -> list[str]:
    """The planted values that a text has."""
    return [value for value in values or VALUES.values() if value in text or json.dumps(value)[1:-1] in text]


def text(content: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def planting(content: str) -> Callable[[Operation], None]:
    """A hook before the redaction, which adds a message."""

    def plant(op: Operation) -> None:
        op.replace(messages=[*op.request.messages[:-1], text(content)])

    return plant


# ------------------------------------------------------------------------------------- libraries over HTTP

_SPEAKING = [way for way in OPENAI_WAYS if way.kind == "llm.call" and "decisions" not in way.name]
_TALKING = [way for way in ANTHROPIC_WAYS if way.name != "messages raw parse" and "batches" not in way.name]


streams = pytest.mark.parametrize("stream", ["buffer", "window"])


@streams
@pytest.mark.parametrize("way", a_fifth(_SPEAKING), ids=named)
def test_every_way_of_calling_openai(way: Way, stream: Any) -> None:
    with OpenAIServer() as server:
        _check(way, server, stream)


@streams
@pytest.mark.parametrize("way", a_fifth(_TALKING), ids=named)
def test_every_way_of_calling_anthropic(way: Way, stream: Any) -> None:
    with AnthropicServer() as server:
        _check(way, server, stream)


def _check(way: Way, server: OpenAIServer | AnthropicServer, stream: Any) -> None:
    hooks = Hooks(PIIRedaction(stream=stream))
    hooks.before("llm.call", priority=60)(planting(f"about {ALL} please"))
    said = way.text.replace("hello", f"hello {EMAIL} and {CARD}")
    with recorder(hooks, settings=IN_FULL) as seen:
        server.script(Reply(text=said))
        result = repr(way(server.url))
    sent = json.dumps([request.body for request in server.requests])
    assert "about [EMAIL] | [PHONE] | [CREDIT_CARD]" in sent
    assert planted_in(sent) == []
    assert planted_in(result) == []
    assert planted_in(recorded(seen)) == []
    assert ("hello" in result) == ("[EMAIL] and [CREDIT_CARD]" in result.replace("', '", "").replace('", "', ""))


ARGUMENTS = json.dumps({"keys": {EMAIL: [KEY]}})
CONVERSATION: Any = [
    {"role": "system", "content": f"Answer {EMAIL}"},
    {"role": "user", "name": "ann", "content": [{"type": "text", "text": f"it is {CARD}"}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": ARGUMENTS}},
        {"id": "call_2", "type": "custom", "custom": {"name": "run", "input": f"mail {EMAIL}"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": json.dumps({"card": 4111111111111111, "to": [EMAIL]})},
    {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": f"sent to {EMAIL}"}]},
    {"role": "assistant", "content": "nothing here"},
]  # fmt: skip


def test_every_part_of_a_conversation() -> None:
    with OpenAIServer() as server, recorder(Hooks(PIIRedaction())), sync_client(server.url) as client:
        client.chat.completions.create(model="gpt-4o-mini", messages=CONVERSATION)
    sent = server.requests[0].body["messages"]
    assert sent[0] == {"role": "system", "content": "Answer [EMAIL]"}
    assert sent[1] == {"role": "user", "name": "ann", "content": [{"type": "text", "text": "it is [CREDIT_CARD]"}]}
    calls = sent[2]["tool_calls"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"keys": {"[EMAIL]": ["[AWS_KEY]"]}}
    assert calls[1]["custom"] == {"name": "run", "input": "mail [EMAIL]"}
    assert json.loads(sent[3]["content"]) == {"card": "[CREDIT_CARD]", "to": ["[EMAIL]"]}
    assert sent[4]["content"] == [{"type": "text", "text": "sent to [EMAIL]"}]
    assert sent[5] == CONVERSATION[5]


@pytest.mark.parametrize("stream", [None, "buffer", "window"])
def test_tool_calls_that_a_model_makes(stream: Any) -> None:
    reply = Reply(text="", calls=(Call("send", {"to": EMAIL, "card": 4111111111111111}),))
    hook = PIIRedaction(stream=stream or "buffer")
    with OpenAIServer() as server, recorder(Hooks(hook)), sync_client(server.url) as client:
        server.script(reply)
        asked: Any = client.chat.completions.create(
            model="gpt-4o-mini", messages=[{"role": "user", "content": "go"}], stream=stream is not None
        )
        if stream:
            calls = [c for chunk in asked for choice in chunk.choices for c in choice.delta.tool_calls or ()]
            arguments = "".join(call.function.arguments or "" for call in calls)
        else:
            arguments = asked.choices[0].message.tool_calls[0].function.arguments
    assert json.loads(arguments) == {"to": "[EMAIL]", "card": "[CREDIT_CARD]"}


def test_prompts_embeddings_and_items() -> None:
    with OpenAIServer() as server, recorder(Hooks(PIIRedaction())) as seen, sync_client(server.url) as client:
        client.completions.create(model="x", prompt=[f"to {EMAIL}", "nothing"])
        client.embeddings.create(model="e", input=[f"to {EMAIL}", "nothing"])
        client.responses.create(
            model="gpt-4o-mini",
            instructions=f"for {EMAIL}",
            input=[
                {"role": "user", "content": [{"type": "input_text", "text": CARD}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": json.dumps({"to": EMAIL})},
                {"type": "function_call_output", "call_id": "c", "output": EMAIL},
            ],
        )
    bodies = [request.body for request in server.requests]
    assert bodies[0]["prompt"] == bodies[1]["input"] == ["to [EMAIL]", "nothing"]
    assert bodies[2]["instructions"] == "for [EMAIL]"
    assert planted_in(json.dumps(bodies)) == []
    assert [op.decisions[0].reason for op in seen.operations] == [
        "redacted EMAIL x1",
        "redacted EMAIL x1",
        "redacted CREDIT_CARD x1, EMAIL x3",
    ]


def test_errors_that_quote_the_request() -> None:
    with OpenAIServer() as server, recorder(Hooks(PIIRedaction()), settings=IN_FULL) as seen:
        server.script(Reply(status=400, message=f"cannot read {EMAIL} and {CARD}"))
        with sync_client(server.url) as client, pytest.raises(Exception, match="cannot read"):
            client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "hi"}])
    assert "cannot read [EMAIL]" in recorded(seen)
    assert planted_in(recorded(seen)) == []


# ----------------------------------------------------------------------------------- LangChain and LangGraph


@contextmanager
def chat_model(server: OpenAIServer) -> Generator[Any]:
    from langchain_openai import ChatOpenAI

    options: Any = {"base_url": server.url, "api_key": "test", "model": "gpt-4o-mini", "max_retries": 0}
    later = async_client(server.url)
    with sync_client(server.url) as client:
        yield ChatOpenAI(**options, http_client=client._client, http_async_client=later._client)


@pytest.mark.every_value
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "generate", "stream", "astream", "events"])
def test_langchain(how: str) -> None:
    from langchain_core.messages import HumanMessage, SystemMessage

    asked = [SystemMessage(f"you are {EMAIL}"), HumanMessage([{"type": "text", "text": f"pay {CARD}"}])]
    with (
        OpenAIServer() as server,
        recorder(Hooks(PIIRedaction()), settings=IN_FULL) as seen,
        chat_model(server) as model,
    ):
        server.reply = Reply(text=f"mail {EMAIL} now")

        async def asynchronous() -> Any:
            try:
                if how == "ainvoke":
                    return await model.ainvoke(asked)
                if how == "events":
                    return [event async for event in model.astream_events(asked, version="v2")]
                return [chunk async for chunk in model.astream(asked)]
            finally:
                await model.http_async_client.aclose()

        ways: dict[str, Callable[[], Any]] = {
            "invoke": lambda: model.invoke(asked),
            "batch": lambda: model.batch([asked, asked]),
            "generate": lambda: model.generate([asked, asked]),
            "stream": lambda: list(model.stream(asked)),
        }
        result = ways[how]() if how in ways else asyncio.run(asynchronous())
    sent = json.dumps([request.body for request in server.requests])
    assert "you are [EMAIL]" in sent
    assert "pay [CREDIT_CARD]" in sent
    assert planted_in(sent) == []
    if how != "events":  # which begin with what the application itself has given
        assert planted_in(repr(result)) == []
    assert planted_in(recorded(seen)) == []


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "stream messages", "events"])
@pytest.mark.parametrize("action", ["mask", "placeholder"])
def test_an_agent_with_a_tool(action: str, how: str) -> None:
    from langchain_core.tools import tool

    from spanhook.cli.conformance.libraries.langchain import Turns, consume, create

    got: list[Any] = []

    @tool
    def look_up(who: str) -> str:
        """Look up a customer."""
        got.append(who)
        return f"{who} pays with {CARD}"

    models: list[Any] = []

    class Model(Turns):
        def _message(self, messages: list[Any]) -> Any:
            models.append(repr(messages))
            return super()._message(messages)

    token = "[EMAIL]" if action == "mask" else "<EMAIL_1>"
    turns: list[Any] = [[("look_up", {"who": token})], f"Done for {token}."]
    hooks = Hooks(PIIRedaction(action=action))  # type: ignore[arg-type]
    ask: Any = {"messages": [{"role": "user", "content": f"I am {EMAIL}"}]}
    with recorder(hooks, settings=IN_FULL) as seen:
        result = consume(create(Model(turns=turns, asked=[]), tools=[look_up], name="desk"), how, ask)
        result = asyncio.run(result) if hasattr(result, "__await__") else result
    assert len(models) == 2
    assert planted_in("".join(models)) == []
    assert got == ["[EMAIL]" if action == "mask" else EMAIL]
    assert planted_in(recorded(seen)) == []
    said = repr(result)
    assert CARD not in said
    if how == "invoke":
        assert result["messages"][-1].content == ("Done for [EMAIL]." if action == "mask" else f"Done for {EMAIL}.")


def test_memory_and_retrieval() -> None:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langgraph.store.base import PutOp
    from langgraph.store.memory import InMemoryStore

    asked: list[Any] = []

    class Found(BaseRetriever):
        def _get_relevant_documents(self, query: str, **more: Any) -> list[Document]:
            asked.append(query)
            return []

    class Vectors(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            asked.extend(texts)
            return [[0.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            asked.append(text)
            return [0.0]

    store = InMemoryStore()
    with recorder(Hooks(PIIRedaction()), settings=IN_FULL) as seen:
        store.put(("users", "ann"), "mail", {"address": EMAIL, "n": 4111111111111111})
        store.batch([PutOp(("users",), "other", {"address": [EMAIL]}), PutOp(("users",), "none", None)])
        with pytest.raises(Reject, match="iterator"):
            store.batch(iter([PutOp(("users",), "third", {"address": EMAIL})]))
        Found().invoke(f"who is {EMAIL}")
        Vectors().embed_documents([EMAIL, "x"])
        Vectors().embed_query(f"see {EMAIL}")
    kept = {item.key: item.value for item in store.search(("users",))}
    assert kept == {"mail": {"address": "[EMAIL]", "n": "[CREDIT_CARD]"}, "other": {"address": ["[EMAIL]"]}}
    assert asked == ["who is [EMAIL]", "[EMAIL]", "x", "see [EMAIL]"]
    assert planted_in(recorded(seen)) == []


# ------------------------------------------------------------------------------------------------ own code


@dataclass(frozen=True)
class Customer:
    mail: str
    cards: tuple[int, ...]


class Order(BaseModel):
    customer: Customer
    notes: dict[str, list[str]]


def test_arguments_and_results_keep_their_types() -> None:
    got: list[Any] = []

    @spanhook.tool
    def ship(order: Order, *, to: set[str], raw: bytes) -> Any:
        got.append((order, to, raw))
        return order

    order = Order(customer=Customer(EMAIL, (4111111111111111, 7)), notes={EMAIL: ["ok", f"call {VALUES['PHONE']}"]})
    with recorder(Hooks(PIIRedaction())):
        result = ship(order, to={EMAIL}, raw=EMAIL.encode())
    masked = Order.model_construct(
        customer=Customer("[EMAIL]", ("[CREDIT_CARD]", 7)),  # type: ignore[arg-type]
        notes={"[EMAIL]": ["ok", "call [PHONE]"]},
    )
    assert got == [(masked, {"[EMAIL]"}, b"[EMAIL]")]
    assert result == masked
    assert order.customer.mail == EMAIL


@streams
def test_streams_of_own_code_sync_and_async(stream: Any) -> None:
    @spanhook.tool
    def words(to: str) -> Any:
        yield from (to, " is jane.d", "oe+bills@mail.exa", "mple.co.uk", " today")

    @spanhook.tool
    async def later(to: str) -> AsyncIterator[str]:
        for word in (to, " is jane.d", "oe+bills@mail.exa", "mple.co.uk", " today"):
            yield word

    async def collect() -> str:
        return "".join([word async for word in later(EMAIL)])

    with recorder(Hooks(PIIRedaction(stream=stream)), settings=IN_FULL) as seen:
        assert "".join(words(EMAIL)) == "[EMAIL] is [EMAIL] today"
        assert asyncio.run(collect()) == "[EMAIL] is [EMAIL] today"
    assert planted_in(recorded(seen)) == []


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return inner | st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", EMAIL]), inner, max_size=3)


leaves: st.SearchStrategy[Any] = st.sampled_from([*VALUES.values(), "ordinary", "", 7, 4111111111111111, None, True])
json_values = nested(nested(leaves))


@given(json_values, st.sampled_from(sorted(ENCODINGS)), st.sampled_from(sorted(VALUES)))
def test_nothing_planted_is_left_in_any_part(value: Any, how: str, entity: str) -> None:
    hook = PIIRedaction()
    written = ENCODINGS[how](VALUES[entity])
    parts: list[dict[str, Any]] = [
        {"type": "text", "content": f"see {written}"},
        {"type": "tool_call", "id": "1", "name": "f", "arguments": {"given": value, "text": written}},
        {"type": "tool_call_response", "id": "1", "response": value},
    ]
    given = {"messages": [{"role": "user", "parts": parts}], "system": f"be {written}"}
    seen_by_model: list[Any] = []
    with recorder(Hooks(hook), settings=IN_FULL) as seen:
        with operation("llm.call", "m", provider="acme", request=given) as op:
            seen_by_model += op.request.messages, op.request.system
            op.result_of({"role": "assistant", "parts": parts})
        with operation("tool.execute", "f", request={"arguments": {"given": value, "text": written}}) as op:
            seen_by_model.append(op.request.arguments)
            op.result_of(value)
    for said in (repr(seen_by_model), recorded(seen)):
        assert planted_in(said) == []
        assert "4111111111111111" not in said
        assert written not in said


# ------------------------------------------------------------------------------------------------ settings


def test_what_a_window_lets_out_is_counted_once() -> None:
    hook = PIIRedaction(stream="window")
    with OpenAIServer() as server, recorder(Hooks(hook)) as seen, sync_client(server.url) as client:
        server.script(Reply(text=f"write to {EMAIL} or {EMAIL} if you like to, {'and so on ' * 20}"))
        events: Any = client.responses.create(model="gpt-4o-mini", input="go", stream=True)
        said = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(said).startswith("write to [EMAIL] or [EMAIL] if you like to, and so on and so on")
    assert len([one for one in said if one]) > 1
    assert [one.reason for one in seen.operations[0].decisions] == ["redacted EMAIL x2"]
    assert [value for _, value in seen.metrics()["spanhook.redaction.findings"]] == [2]


def test_a_window_closes_on_what_is_refused() -> None:
    hook = PIIRedaction(stream="window", action="reject")
    got: list[str] = []
    refused = pytest.raises(Reject, match="The result contains EMAIL x1")
    with recorder(Hooks(hook)), refused, operation("llm.call", "m") as op:
        got.extend(op.stream(iter(["all is well and ", "good " * 30, EMAIL, " " * 200])))
    assert planted_in("".join(got)) == []


def test_reject() -> None:
    hook = PIIRedaction(action="reject")
    ran: list[str] = []

    @spanhook.tool
    def send(to: str) -> str:
        ran.append(to)
        return f"card {CARD}" if to == "card" else "sent"

    with recorder(Hooks(hook), settings=IN_FULL) as seen:
        with pytest.raises(Reject) as caught:
            send(EMAIL)
        assert (caught.value.reason, caught.value.status_code) == ("The request contains EMAIL x1", 422)
        with pytest.raises(Reject, match="The result contains CREDIT_CARD x1"):
            send("card")
        assert send("bob") == "sent"
    assert ran == ["card", "bob"]
    assert planted_in(recorded(seen)) == []
    assert [value for _, value in seen.metrics()["spanhook.redaction.findings"]] == [1, 1]


def test_placeholders_of_one_run() -> None:
    hook = PIIRedaction(action="placeholder")
    heard: list[Any] = []

    def ask(messages: list[Any], answer: Callable[[Any], Any]) -> Any:
        with operation("llm.call", "m", provider="acme", request={"messages": messages}) as op:
            heard.append(op.request.messages[-1]["parts"][0]["content"])
            return op.result_of(answer(heard[-1]))

    @spanhook.tool
    def look_up(who: str, note: dict[str, Any]) -> Any:
        heard.append((who, note))
        return {"mail": who, "card": CARD}

    @spanhook.agent("desk")
    def desk() -> Any:
        first = ask([text(f"{EMAIL} or ann@example.org, {EMAIL}; not <EMAIL_3>")], lambda said: f"hello {said}")
        found = look_up("<EMAIL_2>", {"<EMAIL_1>": ["<EMAIL_9>"]})
        last = ask([text(json.dumps(found))], lambda said: f"paid <CREDIT_CARD_1> for eve@example.net {said}")
        return first, found, last

    with recorder(Hooks(hook), settings=IN_FULL) as seen:
        first, found, last = desk()
        desk()
    assert heard[0] == "<EMAIL_1> or <EMAIL_2>, <EMAIL_1>; not <EMAIL_3>"
    assert first == f"hello {EMAIL} or ann@example.org, {EMAIL}; not <EMAIL_3>"
    assert heard[1] == ("ann@example.org", {EMAIL: ["<EMAIL_9>"]})
    assert found == {"mail": "<EMAIL_2>", "card": "<CREDIT_CARD_1>"}
    assert heard[2] == json.dumps(found)
    assert last == f"paid {CARD} for [EMAIL] " + json.dumps({"mail": "ann@example.org", "card": CARD})
    assert heard[3] == heard[0]  # the next run counts from one
    assert planted_in(recorded(seen)) == []
    assert "ann@example.org" not in recorded(seen)


def test_placeholders_of_earlier_runs_are_never_taken_for_new_values() -> None:
    given = {"messages": [text(f"{EMAIL} asks"), text("as <EMAIL_1> did")]}
    with recorder(Hooks(PIIRedaction(action="placeholder"))), operation("llm.call", "m", request=given) as op:
        said = [message["parts"][0]["content"] for message in op.request.messages]
        assert said == ["<EMAIL_2> asks", "as <EMAIL_1> did"]
        assert op.result_of("<EMAIL_1> or <EMAIL_2>") == f"<EMAIL_1> or {EMAIL}"


def test_a_reloaded_policy_knows_the_placeholders_of_the_run() -> None:
    hooks = Hooks(PIIRedaction(action="placeholder"))
    with recorder(hooks), operation("agent.invoke", "desk") as desk:
        with operation("llm.call", "m", request={"messages": [text(EMAIL)]}) as op:
            op.result_of("ok")
        hooks.remove(PIIRedaction)
        hooks.add(PIIRedaction(action="placeholder"))
        with operation("llm.call", "m", request={"messages": [text("again")]}) as op:
            assert op.result_of("to <EMAIL_1>") == f"to {EMAIL}"
        desk.result_of("done")


def test_from_a_configuration_file(tmp_path: Path) -> None:
    path = tmp_path / "spanhook.yaml"
    path.write_text("version: 1\npolicies: [{use: pii_redaction, id: pii, with: {entities: [EMAIL]}}]\n")
    hooks, request = load_file(str(path)).registry(), {"arguments": {"to": f"{EMAIL} {CARD}"}}
    with recorder(hooks) as seen, operation("tool.execute", "t", request=request) as op:
        assert op.request.arguments == {"to": f"[EMAIL] {CARD}"}
    assert seen.operations[0].decisions[0].hook == "pii"
    assert seen.metrics()["spanhook.redaction.findings"][0][0]["spanhook.hook"] == "pii"


def test_only_requests() -> None:
    hooks = Hooks(PIIRedaction(apply_to=["request"]))
    assert not any(one.buffers for one in hooks.bound)
    with recorder(hooks), operation("tool.execute", "t", request={"arguments": {"to": EMAIL}}) as op:
        assert op.request.arguments == {"to": "[EMAIL]"}
        assert op.result_of(EMAIL) == EMAIL


def test_only_results() -> None:
    hooks = Hooks(PIIRedaction(apply_to=["result"]))
    with recorder(hooks), operation("tool.execute", "t", request={"arguments": {"to": EMAIL}}) as op:
        assert op.request.arguments == {"to": EMAIL}
        assert op.result_of(EMAIL) == "[EMAIL]"


def test_media() -> None:
    image = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAAA"}
    request = {"messages": [{"role": "user", "parts": [{"type": "text", "content": EMAIL}, image]}]}
    with recorder(Hooks(PIIRedaction())), operation("llm.call", "m", request=request) as op:
        assert op.request.messages == [{"role": "user", "parts": [{"type": "text", "content": "[EMAIL]"}, image]}]
    refusing = recorder(Hooks(PIIRedaction(media="reject")))
    with refusing, pytest.raises(Reject, match="cannot be redacted"), operation("llm.call", "m", request=request):
        pass


def test_shadow_mode_says_what_it_would_have_done() -> None:
    with recorder(Hooks(PIIRedaction()), settings=Settings(mode="shadow", content="SPAN_AND_EVENT")) as seen:
        with operation("tool.execute", "t", request={"arguments": {"to": EMAIL}}) as op:
            assert op.request.arguments == {"to": EMAIL}
            assert op.result_of(EMAIL) == EMAIL
        events = seen.events
    assert [one.reason for one in seen.operations[0].shadow_decisions] == ["redacted EMAIL x1", "redacted EMAIL x1"]
    assert seen.operations[0].decisions == ()
    assert all(EMAIL not in repr(one) for one in events if one["name"] == "spanhook.decision")
    assert {told["spanhook.mode"] for told, _ in seen.metrics()["spanhook.redaction.findings"]} == {"shadow"}


def test_a_rewrite_by_a_later_hook_is_redacted_too() -> None:
    hooks = Hooks(PIIRedaction())
    hooks.before("tool.execute", priority=90)(lambda op: op.replace(arguments={"to": EMAIL}))
    with recorder(hooks), operation("tool.execute", "t", request={"arguments": {"to": "x"}}) as op:
        assert op.request.arguments == {"to": "[EMAIL]"}


def test_what_cannot_be_rewritten_is_refused() -> None:
    deep: Any = EMAIL
    for _ in range(5000):
        deep = [deep]
    request = {"arguments": {"to": deep}}
    refusing = recorder(Hooks(PIIRedaction()))
    with refusing, pytest.raises(Reject, match="pii_redaction"), operation("tool.execute", "t", request=request):
        pass


def test_telemetry_can_be_left_alone() -> None:
    hooks, request = Hooks(PIIRedaction(telemetry=False, kinds=["llm.call"])), {"arguments": {"to": EMAIL}}
    with recorder(hooks, settings=IN_FULL) as seen, operation("tool.execute", "t", request=request):
        pass
    assert EMAIL in recorded(seen)


def test_by_its_short_name() -> None:
    hook = make(
        find("pii_redaction"), {"entities": ["EMAIL"], "patterns": {"BADGE": r"B-\d{4}"}, "allow": ["example.org"]}
    )

    with (
        recorder(Hooks(hook)),
        operation("tool.execute", "t", request={"arguments": {"a": f"B-1234 {EMAIL} a@example.org {CARD}"}}) as op,
    ):
        assert op.request.arguments == {"a": f"[BADGE] [EMAIL] a@example.org {CARD}"}
    assert {(one.form, one.closed, one.priority) for one in Hooks(hook).bound} == {
        ("before", True, 0),
        ("after", True, 0),
    }


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"entities": ["EMIAL"]}, "entities.0='EMIAL': unknown; known are EMAIL, PHONE"),
        ({"entities": []}, "an empty list would redact nothing"),
        ({"patterns": {"badge": "x"}}, "patterns.badge"),
        ({"patterns": {"BADGE": "x*"}}, "patterns.BADGE='x*': it matches the empty text"),
        ({"patterns": {"BADGE": "(?=x)y"}}, "not a regular expression that RE2 takes: invalid perl operator"),
        (
            {"patterns": {"EMAIL": "x"}},
            "patterns.EMAIL='x': EMAIL is the name of an entity of spanhook; give the pattern another name",
        ),
        ({"kinds": ["iteration"]}, "kinds.0='iteration': cannot be rewritten; expected some of agent.invoke"),
        ({"action": "hide"}, "action='hide'"),
        ({"action": "placeholder", "keep_last": 4}, "keep_last is for masks"),
        ({"stream": "window", "action": "placeholder"}, "placeholders are restored in whole results; use stream"),
        ({"stream": "window", "apply_to": ["request"]}, "stream is about results, and apply_to leaves them out"),
        ({"detector": "presidio"}, 'pip install "spanhook[presidio]"'),
    ],
)
def test_mistakes_are_named(config: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(PIIRedaction, config)
    assert expected in str(caught.value)


def test_every_part_of_a_conversation_with_anthropic() -> None:
    messages: Any = [
        {"role": "user", "content": [{"type": "text", "text": f"it is {CARD}"}]},
        {"role": "assistant", "content": [
            {"type": "text", "text": f"let me see {EMAIL}"},
            {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"keys": {EMAIL: [KEY, 4111111111111111]}}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": f"sent to {EMAIL}"}]}]},
    ]  # fmt: skip
    given: Any = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": messages}
    system: Any = [{"type": "text", "text": f"for {EMAIL}"}]
    with AnthropicServer() as server, recorder(Hooks(PIIRedaction())), anthropic_client(server.url) as client:
        client.messages.create(**given, system=system)
        client.messages.batches.create(requests=[{"custom_id": one, "params": given} for one in ("a", "b")])
    single, batch = (request.body for request in server.requests)
    assert single["system"] in ("for [EMAIL]", [{"type": "text", "text": "for [EMAIL]"}])
    for sent in (single, *(one["params"] for one in batch["requests"])):
        assert planted_in(json.dumps(sent)) == []
        assert sent["messages"][0]["content"] == [{"type": "text", "text": "it is [CREDIT_CARD]"}]
        assert sent["messages"][1]["content"][1]["input"] == {"keys": {"[EMAIL]": ["[AWS_KEY]", "[CREDIT_CARD]"]}}
        assert "sent to [EMAIL]" in json.dumps(sent["messages"][2])
