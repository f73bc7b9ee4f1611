"""What is recorded on histograms: of which calls, under which attributes."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openai import DefaultHttpxClient
from pydantic import SecretStr

from spanhook import Hooks, Operation, Reject, Settings, semconv
from spanhook.cli.conformance.libraries.langchain import Calls, agent, consume
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply
from spanhook.model import clock
from spanhook.testing import Recorder, recorder

ASK: dict[str, Any] = {"model": "gpt-4o-mini", "messages": CHAT["messages"]}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def series(seen: Recorder, metric: str) -> list[tuple[dict[str, Any], int]]:
    """The attributes of each series of a histogram, and how many records it has."""
    return [(attributes, count) for attributes, (_, count) in seen.metrics().get(metric, [])]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("how", ["answer", "refuse"])
def test_what_never_reached_the_provider_has_no_duration(how: str, streamed: bool, server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def gate(op: Operation) -> None:
        if how == "refuse":
            raise Reject("no")
        op.respond("from the hook")

    with recorder(hooks) as seen, sync_client(server.url) as client:
        try:
            made = client.chat.completions.create(**ASK, stream=streamed)
            list(made) if streamed else None
        except Reject:
            assert how == "refuse"
        assert seen.operations
        assert series(seen, semconv.METRIC_CLIENT_DURATION) == []
        assert series(seen, semconv.METRIC_TIME_TO_FIRST_CHUNK) == []
        assert series(seen, semconv.METRIC_CLIENT_TOKENS) == []
    assert server.requests == []


def test_what_is_refused_afterwards_was_made_and_has_not_failed(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def gate(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks) as seen, sync_client(server.url) as client:
        with pytest.raises(Reject):
            client.chat.completions.create(**ASK)
        ((attributes, count),) = series(seen, semconv.METRIC_CLIENT_DURATION)
    assert count == 1
    assert semconv.ERROR_TYPE not in attributes
    assert attributes[semconv.GEN_AI_RESPONSE_MODEL]


def test_what_fails_says_with_what(server: OpenAIServer) -> None:
    server.reply = Reply(status=500)
    with recorder() as seen, sync_client(server.url) as client:
        with pytest.raises(Exception, match="500"):
            client.chat.completions.create(**ASK)
        ((attributes, _),) = series(seen, semconv.METRIC_CLIENT_DURATION)
    assert "InternalServerError" in attributes[semconv.ERROR_TYPE]


@pytest.mark.parametrize(
    ("opt_in", "names"),
    [
        ("", {semconv.METRIC_TIME_PER_OUTPUT_CHUNK}),
        (semconv.OPT_IN_NEWEST, {semconv.METRIC_INFERENCE_TIME_PER_OUTPUT_CHUNK}),
        (
            semconv.OPT_IN_BOTH,
            {semconv.METRIC_TIME_PER_OUTPUT_CHUNK, semconv.METRIC_INFERENCE_TIME_PER_OUTPUT_CHUNK},
        ),
    ],
)
def test_each_chunk_but_the_first_has_a_time(
    opt_in: str, names: set[str], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(semconv.OPT_IN, opt_in)
    with recorder() as seen, sync_client(server.url) as client:
        chunks = list(client.chat.completions.create(**ASK, stream=True))
        found = {name: series(seen, name) for name in seen.metrics() if name.endswith("time_per_output_chunk")}
    assert found.keys() == names
    assert all(count == len(chunks) - 1 > 0 for ((_, count),) in found.values())


def test_times_of_chunks_can_be_left_out(server: OpenAIServer) -> None:
    with recorder(settings=Settings(chunk_times=False)) as seen, sync_client(server.url) as client:
        list(client.chat.completions.create(**ASK, stream=True))
        assert series(seen, semconv.METRIC_TIME_PER_OUTPUT_CHUNK) == []
        assert len(series(seen, semconv.METRIC_TIME_TO_FIRST_CHUNK)) == 1


def test_agents_and_their_tools() -> None:
    with recorder() as seen:
        consume(agent(Calls()), "invoke")
        tools = [attributes for attributes, _ in series(seen, semconv.METRIC_TOOL_DURATION)]
        ((whose, _),) = series(seen, semconv.METRIC_AGENT_TOOL_CALLS)
        calls = {
            name: seen.metrics()[name][0][1][0]
            for name in (semconv.METRIC_AGENT_INFERENCE_CALLS, semconv.METRIC_AGENT_TOOL_CALLS)
        }
        spans = [one.attributes or {} for one in seen.spans]
    [run] = [op for op in seen.operations if op.kind == "agent.invoke"]
    assert {one[semconv.GEN_AI_TOOL_TYPE] for one in tools} == {"function"}
    assert {one[semconv.GEN_AI_AGENT_NAME] for one in tools} == {run.name}
    assert whose == {semconv.GEN_AI_AGENT_NAME: run.name}
    told = {str(one[semconv.GEN_AI_AGENT_NAME]) for one in spans if one[semconv.KIND] == "tool.execute"}
    assert told == {run.name}
    assert list(calls.values()) == [run.usage.llm_calls, run.usage.tool_calls]
    assert run.usage.llm_calls > 1


@pytest.mark.parametrize("way", ["invoke", "stream"])
def test_a_frameworks_call_has_what_its_client_knows(way: str, server: OpenAIServer) -> None:
    with recorder() as seen, DefaultHttpxClient(verify=False) as http:
        model = ChatOpenAI(model="gpt-4o-mini", api_key=SecretStr("x"), http_client=http, max_retries=0)
        model.root_client.base_url = server.url  # where LangChain does not look
        answer = model.invoke("hi") if way == "invoke" else next(iter(list(model.stream("hi"))))
        assert isinstance(answer, AIMessage)
        [span] = seen.spans
        ((duration, _),) = series(seen, semconv.METRIC_CLIENT_DURATION)
    attributes = span.attributes or {}
    assert attributes[semconv.SERVER_PORT] == duration[semconv.SERVER_PORT] == server.port
    assert attributes[semconv.SERVER_ADDRESS] == duration[semconv.SERVER_ADDRESS] == "127.0.0.1"
    assert attributes[semconv.OPENAI_API_TYPE] == "chat_completions"
    assert attributes[semconv.GEN_AI_RESPONSE_ID]
    assert attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS]


def test_the_time_to_the_first_chunk_is_not_that_of_the_gates(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", timeout=60.0)
    def slow(op: Operation) -> None:
        for _ in range(1000):
            clock.now()  # which goes on by a millisecond each time

    with recorder(hooks) as seen, sync_client(server.url) as client:
        list(client.chat.completions.create(**ASK, stream=True))
        [(_, (waited, _))] = seen.metrics()[semconv.METRIC_TIME_TO_FIRST_CHUNK]
        [(_, (whole, _))] = seen.metrics()[semconv.METRIC_CLIENT_DURATION]
        [span] = seen.spans
    assert waited < 0.1 < 1 < whole
    assert (span.attributes or {})[semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] == waited


@pytest.mark.parametrize("stream", ["buffer", "observe"])
def test_a_stream_that_is_held_back_waits_from_its_first_chunk_on(stream: Any, server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", stream=stream, timeout=60.0)
    def slow(op: Operation) -> None:
        for _ in range(1000):
            clock.now()  # which goes on by a millisecond each time

    with recorder(hooks) as seen, sync_client(server.url) as client:
        list(client.chat.completions.create(**ASK, stream=True))
        found = seen.metrics().get(semconv.METRIC_STREAM_HELD, [])
    if stream == "observe":
        assert found == []
        return
    [(attributes, (held, count))] = found
    assert attributes == {
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.GEN_AI_PROVIDER_NAME: "openai",
        semconv.GEN_AI_REQUEST_MODEL: "gpt-4o-mini",
    }
    assert count == 1
    assert held > 1


def test_what_is_no_stream_has_no_first_chunk(server: OpenAIServer) -> None:
    with recorder() as seen, sync_client(server.url) as client:
        with client.embeddings.with_streaming_response.create(model="e", input="x") as read:
            read.read()
        with client.chat.completions.with_streaming_response.create(**ASK) as read:
            read.read()
        assert len(series(seen, semconv.METRIC_CLIENT_DURATION)) == 2
        assert series(seen, semconv.METRIC_TIME_TO_FIRST_CHUNK) == []
        assert not any(semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK in (span.attributes or {}) for span in seen.spans)


def test_a_stream_that_breaks_off_is_in_the_same_series_of_first_chunks(server: OpenAIServer) -> None:
    server.reply = Reply(cut=3)
    with recorder() as seen, sync_client(server.url) as client:
        with pytest.raises(Exception, match=r".+"):
            list(client.chat.completions.create(**ASK, stream=True))
        ((duration, _),) = series(seen, semconv.METRIC_CLIENT_DURATION)
        ((first, _),) = series(seen, semconv.METRIC_TIME_TO_FIRST_CHUNK)
    assert semconv.ERROR_TYPE in duration
    assert semconv.ERROR_TYPE not in first


def test_estimates_are_in_no_figure_of_the_conventions(server: OpenAIServer) -> None:
    server.reply = Reply(usage="never")
    with recorder() as seen, sync_client(server.url) as client:
        list(client.chat.completions.create(**ASK, stream=True))
        assert seen.operations[0].usage.estimated
        assert semconv.METRIC_CLIENT_TOKENS not in seen.metrics()
        assert {one[semconv.USAGE_ESTIMATED] for one, _ in seen.metrics()[semconv.METRIC_TOKENS]} == {True}


def test_calls_that_generate_nothing_are_no_inference(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(semconv.OPT_IN, semconv.OPT_IN_NEWEST)
    with recorder(settings=Settings(content="EVENT_ONLY")) as seen, sync_client(server.url) as client:
        client.moderations.create(model="m", input="x")
        client.chat.completions.create(**ASK)
        assert [one[semconv.GEN_AI_OPERATION_NAME] for one, _ in series(seen, semconv.METRIC_CLIENT_DURATION)] == [
            "moderation"
        ]
        assert [one[semconv.GEN_AI_OPERATION_NAME] for one, _ in series(seen, semconv.METRIC_INFERENCE_DURATION)] == [
            "chat"
        ]
        details = [one["attributes"] for one in seen.events if one["name"] == semconv.EVENT_INFERENCE_DETAILS]
    assert [one[semconv.GEN_AI_OPERATION_NAME] for one in details] == ["chat"]


def test_openais_metrics_tell_of_the_tier(server: OpenAIServer) -> None:
    with recorder() as seen, sync_client(server.url) as client:
        client.chat.completions.create(**ASK)
        found = [*series(seen, semconv.METRIC_CLIENT_DURATION), *series(seen, semconv.METRIC_CLIENT_TOKENS)]
    assert len(found) == 3
    for attributes, _ in found:
        assert attributes[semconv.OPENAI_RESPONSE_SERVICE_TIER] == "default"
        assert semconv.OPENAI_RESPONSE_SYSTEM_FINGERPRINT not in attributes  # which is bounded by nothing


@pytest.mark.parametrize("opt_in", [semconv.OPT_IN_NEWEST, semconv.OPT_IN_BOTH])
def test_counters_of_tokens_have_a_modality(opt_in: str, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(semconv.OPT_IN, opt_in)
    with recorder() as seen, sync_client(server.url) as client:
        client.chat.completions.create(**ASK)
        [(counted, tokens)] = seen.metrics()[semconv.METRIC_INFERENCE_USAGE_INPUT]
        ((told, _),) = series(seen, semconv.METRIC_INFERENCE_INPUT_TOKENS)
    assert tokens == 20
    assert counted == {**told, semconv.GEN_AI_TOKEN_MODALITY: "unknown"}


class Hidden(BaseChatModel):
    """A model of somebody's own, which does not show the client that it has."""

    model: str = "gpt-4o-mini"
    url: str

    @property
    def _llm_type(self) -> str:
        return "hidden"

    def _generate(self, messages: list[BaseMessage], *rest: Any, **more: Any) -> ChatResult:
        with sync_client(self.url) as client:
            told: Any = [{"role": "user", "content": messages[-1].content}]
            answer = client.chat.completions.create(model=self.model, messages=told)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer.choices[0].message.content or ""))])


def test_what_only_the_client_knows_is_told_in_the_end(server: OpenAIServer) -> None:
    with recorder() as seen:
        Hidden(url=server.url).invoke("hi")
        [span] = seen.spans
        ((duration, _),) = series(seen, semconv.METRIC_CLIENT_DURATION)
    attributes = span.attributes or {}
    assert attributes[semconv.SERVER_PORT] == duration[semconv.SERVER_PORT] == server.port
    assert attributes[semconv.OPENAI_API_TYPE] == "chat_completions"
    assert attributes[semconv.GEN_AI_RESPONSE_ID] == "chatcmpl-1"
    assert attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] == ("stop",)


def test_a_frameworks_embeddings_have_the_formats_of_their_client(server: OpenAIServer) -> None:
    with recorder() as seen, DefaultHttpxClient(verify=False) as http:
        model = OpenAIEmbeddings(
            model="e", api_key=SecretStr("x"), base_url=server.url, http_client=http, check_embedding_ctx_length=False
        )
        model.embed_query("hi")
        [span] = seen.spans
    assert (span.attributes or {})[semconv.GEN_AI_REQUEST_ENCODING_FORMATS] == ("base64",)
