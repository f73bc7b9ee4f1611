"""What servers report that is no count, no name, no reason: it never reaches the application, nor costs telemetry."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, StateGraph
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.langchain_core import CHAT_WAYS, ScriptedChat
from spanhook.cli.conformance.libraries.langgraph import State
from spanhook.cli.conformance.libraries.openai_ways import WAYS, Way, named
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.subject import Body, settle
from spanhook.diagnostics import internal
from spanhook.engine.foreign import usage_of
from spanhook.model import MOST_TOKENS, Usage
from spanhook.testing import Recorder, recorder
from tests.conformance.test_usage import by_bucket, run_events, total

COUNTED: dict[str, tuple[Any, int]] = {
    "float": (20.0, 20),
    "fraction": (19.6, 20),
    "text": ("20", 20),
    "text of a float": ("20.0", 20),
    "zero": (0, 0),
    "the most": (MOST_TOKENS, MOST_TOKENS),
}
ODD: dict[str, Any] = {
    "negative": -5,
    "negative float": -0.5,
    "NaN": math.nan,
    "infinite": math.inf,
    "huge": 10**19,
    "larger than a float": 10**400,
    "true": True,
    "words": "many",
    "list": [20],
    "dict": {"text": 20},
}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def exported(seen: Recorder) -> None:
    """Everything that was recorded goes over the wire."""
    encode_spans(seen.spans).SerializeToString()
    encode_logs(list(seen._logs.get_finished_logs())).SerializeToString()
    data = seen._reader.get_metrics_data()
    assert data is not None
    encode_metrics(data).SerializeToString()


class OddChat(ScriptedChat):
    """A chat model over a server that reports odd things, which nothing has looked at on their way here."""

    used: Any
    told: Any = {}

    def _message(self, kind: type[Any] = AIMessage) -> Any:
        message = kind(content="hello there friend")
        message.usage_metadata, message.response_metadata = self.used, dict(self.told)
        return message

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._message())])

    def _stream(self, *args: Any, **kwargs: Any) -> Any:
        yield ChatGenerationChunk(message=self._message(AIMessageChunk))


def _reported(value: Any) -> dict[str, Any]:
    return {
        "input_tokens": value,
        "output_tokens": value,
        "total_tokens": value,
        "input_token_details": {"cache_read": value, "cache_creation": value},
        "output_token_details": {"reasoning": value},
    }


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream", "events"])
def test_langchain(way: str, odd: str) -> None:
    with recorder() as seen:
        settle(CHAT_WAYS[way](OddChat(body=Body(), used=_reported(ODD[odd]))))
        assert total(seen) == 0
        assert [value for _, value in seen.metrics()["spanhook.usage.uncounted_calls"]] == [1]
        assert "gen_ai.client.token.usage" not in seen.metrics()
        exported(seen)
    [event] = run_events(seen)
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    assert event["spanhook.usage.uncounted"] == names == seen.operations[0].usage.uncounted
    assert event["spanhook.llm_calls"] == 1
    [span] = seen.spans
    assert span.attributes is not None
    assert span.attributes["spanhook.usage.uncounted"] == names
    assert "spanhook.cost.usd" not in span.attributes


@pytest.mark.parametrize("good", COUNTED)
@pytest.mark.parametrize("way", ["invoke", "astream"])
def test_langchain_counts_what_is_one(way: str, good: str) -> None:
    given, expected = COUNTED[good]
    with recorder() as seen:
        settle(CHAT_WAYS[way](OddChat(body=Body(), used={"input_tokens": given, "output_tokens": given})))
        assert total(seen) == 2 * expected
        assert "spanhook.usage.uncounted_calls" not in seen.metrics()
        exported(seen)
    used = seen.operations[0].usage
    assert (used.input_tokens, used.output_tokens, used.uncounted) == (expected, expected, ())
    assert type(used.input_tokens) is int


@pytest.mark.parametrize("odd", ["words", [20], [{"input_tokens": 20}], 20])
def test_usage_that_is_no_mapping(odd: Any) -> None:
    with recorder() as seen:
        settle(CHAT_WAYS["ainvoke"](OddChat(body=Body(), used=odd)))
        assert total(seen) == 0
        exported(seen)
    assert seen.operations[0].usage.uncounted == ("usage",)


NAMES: dict[str, Any] = {"list": ["gpt"], "number": 4, "dict": {"a": 1}, "true": True, "half a character": "gpt\ud800"}


@pytest.mark.parametrize("odd", NAMES)
@pytest.mark.parametrize("way", ["invoke", "astream"])
def test_names_ids_and_reasons(way: str, odd: str) -> None:
    told = dict.fromkeys(("model_name", "model", "id", "finish_reason", "stop_reason"), NAMES[odd])
    used = {"input_tokens": 20, "output_tokens": 8, "total_tokens": 28}
    with recorder() as seen:
        settle(CHAT_WAYS[way](OddChat(body=Body(), used=used, told=told)))
        assert total(seen) == 28
        exported(seen)
    attributes = seen.spans[0].attributes or {}
    model = "gpt\ufffd" if isinstance(NAMES[odd], str) else None
    assert attributes.get("gen_ai.response.model") == attributes.get("gen_ai.response.id") == model
    assert attributes.get("gen_ai.response.finish_reasons") == (None if model is None else (model,))


def _asks(*names: str) -> list[Way]:
    return [way for way in WAYS if way.name in names]


HTTP = _asks("chat create", "chat stream", "async responses stream", "embeddings create")


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd != "true"])  # which the SDK itself makes a 1 of
@pytest.mark.parametrize("way", HTTP, ids=named)
def test_over_http(way: Way, odd: str, server: OpenAIServer) -> None:
    value = ODD[odd]
    server.reply = Reply(tokens=Tokens(value, value, value, value, value, cost=value), usage="always")
    expected = way(server.url)
    with recorder() as seen:
        assert repr(way(server.url)) == repr(expected)
        assert total(seen) == 0
        assert [value for _, value in seen.metrics()["spanhook.usage.uncounted_calls"]] == [1]
        exported(seen)
    assert "input_tokens" in seen.operations[0].usage.uncounted


@pytest.mark.parametrize("good", COUNTED)
@pytest.mark.parametrize("way", HTTP, ids=named)
def test_over_http_counts_what_is_one(way: Way, good: str, server: OpenAIServer) -> None:
    given, expected = COUNTED[good]
    server.reply = Reply(tokens=Tokens(given, given), usage="always")
    with recorder() as seen:
        way(server.url)
        exported(seen)
    if good == "zero" and way.streamed:  # not believed, since text has arrived
        assert seen.operations[0].usage.estimated
        assert total(seen) > 0
    else:
        assert not seen.operations[0].usage.estimated
        assert total(seen) == expected * (1 if way.kind == "embeddings.create" else 2)


ODD_FIELDS = [
    {"id": "1", "model": "gpt-4o-mini", "choices": [], "output": [], "data": [], name: odd}
    for name in ("model", "id", "usage", "choices", "output", "object")
    for odd in (["gpt"], 4, {"a": [1]}, True, None)
]


@pytest.mark.parametrize(
    "way", _asks("chat create", "responses raw", "async text streaming json", "embeddings create"), ids=named
)
def test_bodies_with_odd_fields(way: Way, server: OpenAIServer) -> None:
    def ask(body: dict[str, Any]) -> str:
        server.reply = Reply(body=body)
        try:
            return repr(way(server.url))
        except Exception as error:
            return repr(error)

    expected = [ask(body) for body in ODD_FIELDS]
    with recorder() as seen:
        assert [ask(body) for body in ODD_FIELDS] == expected
        exported(seen)


def test_costs_that_are_none(server: OpenAIServer) -> None:
    way = HTTP[0]
    for cost, source, nano in (
        ("0.25", "provider", 250_000_000),
        (0, "provider", 0),
        (-1.0, "price list", 7_800),
        (math.nan, "price list", 7_800),
        (10**30, "price list", 7_800),
        ("cheap", "price list", 7_800),
    ):
        server.reply = Reply(tokens=Tokens(cost=cost))
        with recorder() as seen:
            way(server.url)
            exported(seen)
        used = seen.operations[0].usage
        assert (used.cost_source, used.cost_nano) == (source, nano), cost


def test_an_agent_names_what_is_missing_in_its_totals() -> None:
    model = OddChat(body=Body(), used={"input_tokens": 3.0, "output_tokens": "?"})
    with recorder() as seen:
        builder: Any = StateGraph(State)
        builder.add_node("ask", lambda _state: {"value": model.invoke("hi").content})
        builder.add_edge(START, "ask")
        builder.compile(name="odd").invoke({})
        assert by_bucket(seen) == {"input": 3}
        exported(seen)
    whole = seen.operations[-1]
    assert (whole.kind, whole.usage.input_tokens, whole.usage.uncounted) == ("agent.invoke", 3, ("output_tokens",))
    assert [span.attributes["spanhook.usage.uncounted"] for span in seen.spans if span.attributes] == [
        ("output_tokens",)
    ] * 2


def test_spans_of_others() -> None:
    used = usage_of({"gen_ai.usage.input_tokens": 20.0, "gen_ai.usage.cache_read.input_tokens": 30})
    assert used is not None
    assert (used.input_tokens, used.cache_read_tokens) == (20, 20)
    used = usage_of({"gen_ai.usage.input_tokens": "many", "gen_ai.usage.output_tokens": -3})
    assert used is not None
    assert (used.total_tokens, used.uncounted) == (0, ("input_tokens", "output_tokens"))
    assert all(amount >= 0 for _, amount in used.buckets())


def test_an_error_in_accounting_stays_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    def allow(op: Operation) -> None:
        op.state["seen"] = True

    async def watch(op: Operation) -> None:
        op.usage  # noqa: B018

    counted: Callable[[str], int] = lambda name: internal.counts[name]  # noqa: E731
    hooks = Hooks()
    hooks.before("llm.call")(allow)
    hooks.after("llm.call")(watch)
    before = counted("accounting")
    with recorder(hooks):
        internal.fatal = False
        monkeypatch.setattr("spanhook.telemetry.accounting.counts", None)
        for way in ("invoke", "ainvoke", "stream", "astream"):
            settle(CHAT_WAYS[way](ScriptedChat(body=Body())))
    assert counted("accounting") > before
    internal.renew()


def test_what_a_usage_adds_up() -> None:
    whole, one = Usage(), Usage()
    one.count("?", "input_tokens")
    one.count("?", "input_tokens")
    whole.add(one)
    whole.add(one)
    assert whole.uncounted == ("input_tokens",)
    assert whole.incomplete
