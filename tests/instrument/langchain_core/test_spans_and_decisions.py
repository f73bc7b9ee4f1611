"""LangChain: what spans say, and what hooks may read, rewrite, answer and replace."""

import asyncio
import copy
import json
import pickle
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest
from inline_snapshot import snapshot
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, Tool, create_retriever_tool, tool

import spanhook
from spanhook import HookError, Hooks, Operation, Reject, Settings
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat, ScriptedRetriever, ScriptedText
from spanhook.cli.conformance.subject import Body
from spanhook.instrument.langchain_core.results import usage_of
from spanhook.testing import recorder
from tests.conformance.everything import HERE


@tool
def refund(amount: int, currency: str = "EUR") -> str:
    """Refund an amount."""
    return f"refunded {amount} {currency}"


CALL: dict[str, Any] = {"type": "tool_call", "id": "c1", "name": "refund", "args": {"amount": 50}}


# ------------------------------------------------------------------------------------------------ spans


def test_a_chat_span() -> None:
    with recorder() as seen:
        ScriptedChat(body=Body()).bind(temperature=0.2, stop=["END"]).invoke("hi")
    assert seen.tree() == snapshot(
        [
            {
                "name": "chat gpt-4o-mini",
                "status": "UNSET",
                "attributes": {
                    "gen_ai.provider.name": "scripted",
                    "gen_ai.request.model": "gpt-4o-mini",
                    "gen_ai.request.temperature": 0.2,
                    "gen_ai.request.stop_sequences": ("END",),
                    "gen_ai.operation.name": "chat",
                    "spanhook.kind": "llm.call",
                    "spanhook.status": "success",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
                    "gen_ai.response.finish_reasons": ("stop",),
                    "gen_ai.usage.input_tokens": 20,
                    "gen_ai.usage.output_tokens": 8,
                    "gen_ai.usage.cache_read.input_tokens": 5,
                    "spanhook.cost.usd": 7.425e-06,
                },
                "events": [],
                "children": [],
            }
        ]
    )


def test_a_stream_span() -> None:
    with recorder() as seen:
        list(ScriptedChat(body=Body()).stream("hi"))
    assert seen.tree()[0]["attributes"] == snapshot(
        {
            "gen_ai.provider.name": "scripted",
            "gen_ai.request.model": "gpt-4o-mini",
            "gen_ai.operation.name": "chat",
            "gen_ai.request.stream": True,
            "spanhook.kind": "llm.call",
            "spanhook.status": "success",
            "spanhook.run.id": "00000000000000000000000000000001",
            "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
            "gen_ai.response.finish_reasons": ("stop",),
            "gen_ai.response.time_to_first_chunk": 0.001,
            "gen_ai.usage.input_tokens": 20,
            "gen_ai.usage.output_tokens": 8,
            "gen_ai.usage.cache_read.input_tokens": 5,
            "spanhook.cost.usd": 7.425e-06,
        }
    )


def test_a_rejected_tool_span() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"refund"})
    def paying_only(op: Operation) -> None:
        raise Reject("An active subscription is required", status_code=402)

    with recorder(hooks) as seen:
        result = refund.invoke(CALL)
    assert isinstance(result, ToolMessage)
    assert (result.status, result.tool_call_id, result.name) == ("error", "c1", "refund")
    assert result.content == "Tool call rejected: An active subscription is required"
    assert seen.tree() == snapshot(
        [
            {
                "name": "execute_tool refund",
                "status": "ERROR",
                "attributes": {
                    "gen_ai.tool.name": "refund",
                    "gen_ai.tool.type": "function",
                    "gen_ai.tool.call.id": "c1",
                    "gen_ai.tool.description": "Refund an amount.",
                    "gen_ai.operation.name": "execute_tool",
                    "spanhook.kind": "tool.execute",
                    "spanhook.status": "rejected",
                    "spanhook.run.id": "00000000000000000000000000000001",
                    "spanhook.coverage": "enforced",
                    "spanhook.decision": "reject",
                    "spanhook.decision.hook": "paying_only",
                    "spanhook.decision.reason": "An active subscription is required",
                    "error.type": "spanhook.Reject",
                },
                "events": [
                    {
                        "name": "spanhook.decision",
                        "spanhook.hook": "paying_only",
                        "spanhook.event": "tool.execute.pre",
                        "spanhook.decision": "reject",
                        "spanhook.decision.reason": "An active subscription is required",
                        "spanhook.fail_mode": "closed",
                        "spanhook.hook.elapsed": 0.001,
                        "spanhook.status_code": 402,
                    }
                ],
                "children": [],
            }
        ]
    )


class Base(ScriptedRetriever):
    """A retriever that searches what its provider has an id for."""

    knowledge_base_id: str = "KB1"


def test_a_retriever_is_known_by_its_name_and_its_source_by_an_id_of_its_own() -> None:
    heard: list[str] = []
    hooks = Hooks()
    hooks.before("retrieval.query", names={"Base", "Plain"})(lambda op: heard.append(op.name))
    with recorder(hooks) as seen:
        Base(body=Body()).invoke("hi")
        ScriptedRetriever(body=Body(), name="Plain").invoke("hi")
        ScriptedRetriever(body=Body()).invoke("hi")
    assert heard == ["Base", "Plain"]
    assert [span.name for span in seen.spans] == ["retrieval KB1", "retrieval", "retrieval"]
    names = ("spanhook.retriever.name", "gen_ai.data_source.id")
    told = [tuple((span.attributes or {}).get(name) for name in names) for span in seen.spans]
    assert told == [("Base", "KB1"), ("Plain", None), ("ScriptedRetriever", None)]


def test_a_tool_that_retrieves_says_so() -> None:
    made = create_retriever_tool(ScriptedRetriever(body=Body()), "policies", "Finds policies.")
    with recorder() as seen:
        made.invoke({"query": "x"})
        refund.invoke({"amount": 1})
    types = {span.name: (span.attributes or {}).get("gen_ai.tool.type") for span in seen.spans}
    assert types == {"retrieval": None, "execute_tool policies": "datastore", "execute_tool refund": "function"}


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"finish_reason": "stop"}, "stop"),
        ({"stop_reason": "end_turn"}, "end_turn"),
        ({"done_reason": "length"}, "length"),
        ({"stopReason": "tool_use"}, "tool_use"),
        ({"object": "response", "status": "completed"}, "stop"),
        ({"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"object": "response", "status": "in_progress"}, None),
        ({"finish_reason": ["stop"]}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_why_the_model_stopped_in_each_providers_words(told: Any, reason: str | None) -> None:
    class Told(ScriptedChat):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            message = AIMessage("hi", response_metadata=told)
            return ChatResult(generations=[ChatGeneration(message=message)])

    with recorder(settings=Settings(content="SPAN_ONLY")) as seen:
        Told(body=Body()).invoke("hi")
    attributes = seen.spans[0].attributes or {}
    assert attributes.get("gen_ai.response.finish_reasons") == (reason and (reason,))
    [message] = json.loads(str(attributes["gen_ai.output.messages"]))
    assert message.get("finish_reason") == reason


def test_thoughts_in_providers_own_blocks_are_kept_or_left_out() -> None:
    blocks: Any = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "So."}]},
        {"type": "text", "text": "done"},
    ]
    asked: list[Any] = []

    class Asked(ScriptedChat):
        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
            asked.append(messages[0].content)
            return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])

    def change(op: Operation) -> None:
        messages = op.request.messages
        assert [part["content"] for part in messages[0]["parts"]] == ["Hm.", "So.", "done"]
        messages[0]["parts"][2]["content"] = "changed"
        op.replace(messages=messages)
        messages[0]["parts"][0]["content"] = "Aha."
        with pytest.raises(HookError, match="reasoning"):
            op.replace(messages=messages)

    hooks = Hooks()
    hooks.before("llm.call", timeout=60.0)(change)
    with recorder(hooks):
        Asked(body=Body()).invoke([AIMessage(blocks)])
    assert asked == [[*blocks[:2], {"type": "text", "text": "changed"}]]


def test_text_retriever_and_embeddings_spans() -> None:
    with recorder() as seen:
        ScriptedText(body=Body()).invoke("hi")
        ScriptedRetriever(body=Body()).invoke("hi")
        HERE[6].make(Body()).embed_query("hi")
    told = [
        {key: value for key, value in (span.attributes or {}).items() if key.startswith("gen_ai")}
        for span in seen.spans
    ]
    assert [span.name for span in seen.spans] == snapshot(
        [
            "text_completion gpt-3.5-turbo-instruct",
            "retrieval",
            "embeddings text-embedding-3-small",
        ]
    )
    assert told == snapshot(
        [
            {
                "gen_ai.provider.name": "scriptedtext",
                "gen_ai.request.model": "gpt-3.5-turbo-instruct",
                "gen_ai.operation.name": "text_completion",
                "gen_ai.response.model": "gpt-3.5-turbo-instruct",
                "gen_ai.usage.input_tokens": 4,
                "gen_ai.usage.output_tokens": 3,
            },
            {"gen_ai.operation.name": "retrieval"},
            {
                "gen_ai.provider.name": "scripted",
                "gen_ai.request.model": "text-embedding-3-small",
                "gen_ai.operation.name": "embeddings",
            },
        ]
    )


# ------------------------------------------------------------------------------------------------ content


def test_content_is_off_unless_asked_for() -> None:
    with recorder() as seen:
        ScriptedChat(body=Body()).invoke("a secret")
        refund.invoke({"amount": 5})
    assert "secret" not in str([(span.attributes, span.events) for span in seen.spans]) + str(seen.events)
    assert "refunded" not in str([span.attributes for span in seen.spans])


@pytest.mark.parametrize("mode", ["SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"])
def test_content_goes_where_it_was_asked_for(mode: Any) -> None:
    with recorder(settings=Settings(content=mode)) as seen:
        ScriptedChat(body=Body()).invoke([SystemMessage("be kind"), HumanMessage("hi")])
        refund.invoke({"amount": 5})
        ScriptedRetriever(body=Body()).invoke("what?")
    on_spans = [
        {
            key: value
            for key, value in (span.attributes or {}).items()
            if "messages" in key or "call." in key or "query" in key
        }
        for span in seen.spans
    ]
    told = [one["attributes"] for one in seen.events if one["name"] == "gen_ai.client.inference.operation.details"]
    if mode == "EVENT_ONLY":
        assert on_spans == [{}, {}, {}]
    else:
        assert on_spans == snapshot(
            [
                {
                    "gen_ai.input.messages": '[{"role": "system", "parts": [{"type": "text", "content": "be kind"}]}, {"role": "user", "parts": [{"type": "text", "content": "hi"}]}]',
                    "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "hello there friend"}], "finish_reason": "stop"}]',
                },
                {"gen_ai.tool.call.arguments": '{"amount": 5}', "gen_ai.tool.call.result": "refunded 5 EUR"},
                {"gen_ai.retrieval.query.text": "what?"},
            ]
        )
    if mode == "SPAN_ONLY":
        assert told == []
    else:
        (details,) = told  # of the model alone
        assert details["gen_ai.output.messages"] == (
            {
                "role": "assistant",
                "parts": ({"type": "text", "content": "hello there friend"},),
                "finish_reason": "stop",
            },
        )
        assert details["gen_ai.request.model"] == "gpt-4o-mini"
        assert details["gen_ai.usage.output_tokens"] > 0


# ------------------------------------------------------------------------------------------------ chat


@pytest.mark.every_value
@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream", "batch", "generate"])
def test_rewriting_a_chat_request(way: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def redact(op: Operation) -> None:
        messages = op.request.messages
        for message in messages:
            for part in message["parts"]:
                part["content"] = part["content"].replace("hi", "[redacted]").replace("ho", "[redacted]")
        many = way == "generate"
        op.replace(messages=[[one] for one in messages] if many else messages, system="be kind", model="gpt-4o")

    body = Body()
    with recorder(hooks) as seen:
        from spanhook.cli.conformance.libraries.langchain_core import CHAT_WAYS
        from spanhook.cli.conformance.subject import settle

        settle(CHAT_WAYS[way](ScriptedChat(body=body)))
    for prompt in body.seen:
        assert [message.content for message in prompt] == ["be kind", "[redacted]"]
    assert {op._record.decided.modified for op in seen.operations} == {("messages", "system", "model")}
    assert all(op._record.kwargs["model"] == "gpt-4o" for op in seen.operations)


def test_a_batch_takes_a_list_of_messages_for_each_prompt() -> None:
    hooks = Hooks()

    @hooks.before("llm.call", priority=10)
    def wrong(op: Operation) -> None:
        op.replace(messages=[op.request.messages[0]])

    with recorder(hooks), pytest.raises(Reject, match="ValueError"):
        ScriptedChat(body=Body()).generate([[HumanMessage("a")], [HumanMessage("b")]])


def test_the_request_as_a_hook_sees_it() -> None:
    hooks = Hooks()
    seen_requests: list[Any] = []
    hooks.before("llm.call")(lambda op: seen_requests.append(op.request))
    model = ScriptedChat(body=Body()).bind(
        tools=[{"type": "function", "function": {"name": "search"}}, {"name": "calc"}]
    )
    with recorder(hooks):
        model.invoke([SystemMessage("be kind"), HumanMessage("hi")])
    (request,) = seen_requests
    assert (request.system, request.model, request.tools) == ("be kind", "gpt-4o-mini", ["search", "calc"])
    assert [message["role"] for message in request.messages] == ["system", "user"]


@pytest.mark.every_value
@pytest.mark.parametrize(
    "answer", ["text", AIMessage("text"), {"role": "assistant", "parts": [{"type": "text", "content": "text"}]}]
)
def test_answering_for_a_chat_model(answer: Any) -> None:
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond(answer))
    body = Body()
    with recorder(hooks):
        model = ScriptedChat(body=body)
        assert model.invoke("hi").content == "text"
        assert asyncio.run(model.ainvoke("hi")).content == "text"
        assert [chunk.content for chunk in model.stream("hi")] == ["text"]
        assert [one.content for one in model.batch(["a", "b"])] == ["text", "text"]
        assert len(model.generate([[HumanMessage("a")], [HumanMessage("b")]]).generations) == 2
    assert body.runs == 0


def test_replacing_what_a_chat_model_said() -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def redact(op: Operation) -> None:
        op.respond(op.response.text.replace("friend", "[redacted]"))

    with recorder(hooks) as seen:
        assert ScriptedChat(body=Body()).invoke("hi").content == "hello there [redacted]"
    assert seen.operations[0].usage.total_tokens == 28


def test_text_models_may_be_rewritten_and_answered() -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def change(op: Operation) -> None:
        if op.request.messages[0]["parts"][0]["content"] == "answer me":
            op.respond("answered")
        else:
            op.replace(messages=["rewritten"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]

    body = Body()
    with recorder(hooks):
        model = ScriptedText(body=body)
        assert model.invoke("answer me") == "answered"
        assert list(model.stream("answer me")) == ["answered"]
        model.invoke("hi")
        list(model.stream("hi"))
    assert body.seen == [["rewritten"], "rewritten"]


# ------------------------------------------------------------------------------------------------ tools


def test_arguments_by_name_however_the_tool_is_called() -> None:
    hooks = Hooks()
    asked: list[dict[str, Any]] = []
    hooks.before("tool.execute")(lambda op: asked.append(op.request.arguments))

    @tool
    def search(query: str) -> str:
        """Search."""
        return query

    simple = Tool(name="simple", func=lambda text: text, description="One string in.")
    with recorder(hooks):
        search.invoke("x")
        search.invoke({"query": "x"})
        search.run("x")
        search.invoke({"type": "tool_call", "id": "c1", "name": "search", "args": {"query": "x"}})
        simple.invoke("x")
    assert asked == [{"query": "x"}] * 4 + [{"tool_input": "x"}]


def test_rewriting_arguments() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def cap(op: Operation) -> None:
        op.replace(arguments={**op.request.arguments, "amount": 10})

    with recorder(hooks):
        assert refund.invoke({"amount": 500, "currency": "USD"}) == "refunded 10 USD"
        assert refund.invoke({**CALL, "args": {"amount": 500}}).content == "refunded 10 EUR"
        assert asyncio.run(refund.ainvoke({"amount": 500})) == "refunded 10 EUR"


def test_what_the_framework_injects_is_neither_shown_nor_lost() -> None:
    @tool
    def look(query: str, session: Annotated[Any, InjectedToolArg], call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Look."""
        return f"{query} in {session}"

    hooks = Hooks()
    asked: list[dict[str, Any]] = []

    @hooks.before("tool.execute")
    def upper(op: Operation) -> None:
        asked.append(op.request.arguments)
        op.replace(arguments={"query": op.request.arguments["query"].upper()})

    call: dict[str, Any] = {"type": "tool_call", "id": "c1", "name": "look", "args": {"query": "x", "session": "s1"}}
    with recorder(hooks):
        assert look.invoke(call).content == "X in s1"
    assert asked == [{"query": "x"}]


def test_a_cached_result_gets_the_id_of_the_call_it_answers() -> None:
    cache: dict[Any, Any] = {}
    hooks = Hooks()

    @hooks.around("tool.execute", names={"refund"})
    def cached(op: Operation) -> Any:
        key = op.request.arguments["amount"]
        if key in cache:
            return cache[key]
        cache[key] = yield

    with recorder(hooks) as seen:
        first = refund.invoke(CALL)
        second = refund.invoke({**CALL, "id": "c2"})
        third = refund.invoke({"amount": 50})
    assert (first.tool_call_id, second.tool_call_id) == ("c1", "c2")
    assert first.content == second.content == "refunded 50 EUR"
    assert third == cache[50]
    assert third is not cache[50]
    assert [[one.decision for one in op.decisions] for op in seen.operations] == [[], ["replace"], ["replace"]]


@pytest.mark.parametrize(
    "value", ["text", {"a": 1}, [{"type": "text", "text": "x"}], 7, ToolMessage("x", tool_call_id="old")]
)
def test_answers_in_an_agents_loop_are_tool_messages(value: Any) -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.respond(value))
    with recorder(hooks):
        result = refund.invoke(CALL)
        assert isinstance(result, ToolMessage)
        assert result.tool_call_id == "c1"
        assert refund.invoke({"amount": 1}) == value


def test_a_result_withheld_in_an_agents_loop_is_an_error_result() -> None:
    hooks = Hooks()

    @hooks.after("tool.execute", priority=20)
    def guard(op: Operation) -> None:
        raise Reject("not to be told")

    with recorder(hooks):
        result = refund.invoke(CALL)
        assert (result.status, result.content) == ("error", "Tool call rejected: not to be told")
        with pytest.raises(Reject):
            refund.invoke({"amount": 1})


def test_a_gate_with_around_may_time_a_tool() -> None:
    hooks = Hooks()
    seen_results: list[Any] = []

    @hooks.around("tool.execute")
    def watch(op: Operation) -> Iterator[None]:
        result = yield
        seen_results.append(result)  # pyright: ignore[reportUnknownArgumentType]

    with recorder(hooks):
        refund.invoke({"amount": 1})
    assert seen_results == ["refunded 1 EUR"]


def test_answering_for_a_retriever() -> None:
    hooks = Hooks()
    hooks.before("retrieval.query")(lambda op: op.respond(["one", Document(page_content="two")]))
    body = Body()
    with recorder(hooks):
        found = ScriptedRetriever(body=body).invoke("x")
    assert [document.page_content for document in found] == ["one", "two"]
    assert body.runs == 0


def test_read_only_kinds_say_so() -> None:
    hooks = Hooks()

    @hooks.after("retrieval.query", priority=10)
    def change(op: Operation) -> None:
        op.respond([])

    with recorder(hooks), pytest.raises(Reject, match="HookError"):
        ScriptedRetriever(body=Body()).invoke("x")


# ------------------------------------------------------------------------------------------------ ways around


def refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("*")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    return hooks


class Client:
    """Has the methods of embeddings without being any."""

    asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += 1
        return [[0.5] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked += 1
        return [0.5]


class MixedIn(Client, Embeddings):
    pass


def test_methods_from_a_mixin_are_gated_in_the_class_that_inherits_them() -> None:
    client = MixedIn()
    with recorder(refusing()):
        with pytest.raises(Reject):
            client.embed_query("x")
        with pytest.raises(Reject):
            client.embed_documents(["x"])
        assert Client().embed_query("x") == [0.5]
    assert client.asked == 0
    assert "embed_query" not in vars(MixedIn)


class Eager(ScriptedChat):
    """Asks at the call, and returns an iterator of what came."""

    def stream(self, input: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        self.body.run("hi")
        return iter([AIMessageChunk(content="eager")])

    def astream(self, input: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        self.body.run("hi")

        async def steps() -> AsyncIterator[Any]:
            yield AIMessageChunk(content="eager")

        return steps()


async def _said(model: Any) -> list[str]:
    return [chunk.content async for chunk in model.astream("hi")]


def test_streams_of_plain_functions_are_gated_before_they_are_called() -> None:
    body = Body()
    with recorder(refusing()):
        with pytest.raises(Reject):
            list(Eager(body=body).stream("hi"))
        with pytest.raises(Reject):
            asyncio.run(_said(Eager(body=body)))
    assert body.runs == 0
    with recorder() as seen:
        assert [chunk.content for chunk in Eager(body=body).stream("hi")] == ["eager"]
        assert asyncio.run(_said(Eager(body=body))) == ["eager"]
    assert [op.status for op in seen.operations] == ["success", "success"]


def test_methods_taken_while_instrumented_are_gated_when_it_is_again() -> None:
    body = Body()
    spanhook.instrument()
    invoke = ScriptedRetriever(body=body).invoke
    spanhook.uninstrument()
    with recorder(refusing()), pytest.raises(Reject):
        invoke("x")
    assert body.runs == 0
    invoke("x")
    assert body.runs == 1


def test_methods_are_copied_and_pickled_as_without() -> None:
    with recorder(refusing()):
        client = MixedIn()
        kept: dict[str, Any] = {"client": client, "query": client.embed_query}
        copied = copy.deepcopy(kept)
        assert copied["query"].__self__ is copied["client"]
        again = pickle.loads(pickle.dumps(client.embed_query))
        unbound = pickle.loads(pickle.dumps(MixedIn.embed_documents))
        for function in (copied["query"], copy.copy(client.embed_query), again):
            with pytest.raises(Reject):
                function("x")
        with pytest.raises(Reject):
            unbound(client, ["x"])


def test_tokens_that_an_integration_counts_apart_make_nothing_negative() -> None:
    read = usage_of({"input_tokens": 10, "output_tokens": 5, "input_token_details": {"cache_read": 100}})
    assert read is not None
    assert dict(read.buckets()) == {"input": 10, "cache_read": 100, "output": 5}
    thought = usage_of(
        {"input_tokens": 10, "output_tokens": 12, "total_tokens": 322, "output_token_details": {"reasoning": 300}}
    )
    assert thought is not None
    assert dict(thought.buckets()) == {"input": 10, "output": 12, "reasoning": 300}
