"""Usage equals what the models reported, in every way of running them, and is the same however it is looked at."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, LLMResult
from langgraph.graph import START, StateGraph
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler, TraceIdRatioBased

from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.langchain import WAYS, Calls, agent, consume
from spanhook.cli.conformance.libraries.langchain_core import CHAT_WAYS, TEXT_WAYS, ScriptedChat, ScriptedText
from spanhook.cli.conformance.subject import Body, settle
from spanhook.testing import Recorder, recorder
from tests.conformance.everything import HERE
from tests.conformance.test_denied import often

Used = dict[str, Any]


def total(seen: Recorder, name: str = "spanhook.usage.tokens") -> int:
    return sum(value for _, value in seen.metrics().get(name, ()))


def by_bucket(seen: Recorder) -> dict[str, int]:
    found: dict[str, int] = {}
    for attributes, value in seen.metrics().get("spanhook.usage.tokens", ()):
        bucket = attributes["spanhook.token.bucket"]
        found[bucket] = found.get(bucket, 0) + value
    return found


def run_events(seen: Recorder) -> list[dict[str, Any]]:
    return [event["attributes"] for event in seen.events if event["name"] == "spanhook.run"]


@pytest.mark.parametrize("way", CHAT_WAYS)
def test_chat_models(way: str) -> None:
    body = Body()
    with recorder() as seen:
        settle(CHAT_WAYS[way](ScriptedChat(body=body)))
        assert by_bucket(seen) == {"input": 15 * body.runs, "cache_read": 5 * body.runs, "output": 8 * body.runs}
        assert sum(event["spanhook.usage.input_tokens"] for event in run_events(seen)) == 20 * body.runs


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch", "abatch"])
def test_text_models(way: str) -> None:
    with recorder() as seen:
        settle(TEXT_WAYS[way](ScriptedText(body=Body())))
        prompts = 2 if "batch" in way else 1
        assert by_bucket(seen) == {"input": 4 * prompts, "output": 3 * prompts}


SAMPLERS: dict[str, Sampler] = {
    "on": ALWAYS_ON,
    "off": ALWAYS_OFF,
    "parent off": ParentBased(ALWAYS_OFF),
    "1%": ParentBased(TraceIdRatioBased(0.01)),
    "half": TraceIdRatioBased(0.5),
}


@pytest.mark.parametrize("sampler", often(SAMPLERS, "off", "half"))
@pytest.mark.parametrize("way", WAYS)
def test_agents_at_every_sampling_ratio(way: str, sampler: str) -> None:
    hooks = Hooks()
    told: list[Used] = []
    hooks.after("agent.invoke")(lambda op: told.append(op.extras["usage_metadata"]))
    with recorder(hooks, sampler=SAMPLERS[sampler]) as seen:
        for _ in range(3):
            settle(consume(agent(Calls()), way))
        assert by_bucket(seen) == {"input": 9 * 23, "output": 9 * 11}
        events = run_events(seen)
    assert [(e["spanhook.usage.input_tokens"], e["spanhook.llm_calls"], e["spanhook.tool_calls"]) for e in events] == [
        (69, 3, 2)
    ] * 3
    assert [list(one) for one in told] == [["gpt-4o-mini"]] * 3
    assert told[0]["gpt-4o-mini"]["total_tokens"] == 102


class State(TypedDict, total=False):
    value: str


def _graph(*nodes: Callable[..., Any], name: str = "made") -> Any:
    builder = StateGraph(State)
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
        builder.add_edge(START, f"n{number}")
    return builder.compile(name=name)


def test_two_models_in_one_run_and_nested_graphs() -> None:
    small, large = ScriptedChat(body=Body()), ScriptedChat(body=Body(), model_name="o3")

    class Named(ScriptedChat):
        def _message(self) -> AIMessage:
            message = super()._message()
            message.response_metadata["model_name"] = "o3-2025"
            return message

    other = Named(body=Body())
    inner = _graph(lambda state: (large.invoke("hi"), {})[1], lambda state: (other.invoke("hi"), {})[1], name="inner")
    outer = _graph(lambda state: (small.invoke("hi"), {})[1], lambda state: (inner.invoke(state), {})[1], name="outer")
    hooks = Hooks()
    told: dict[str, Used] = {}

    @hooks.after("agent.invoke")
    def bill(op: Operation) -> None:
        told[op.name] = op.extras["usage_metadata"]

    with recorder(hooks) as seen:
        outer.invoke({"value": "x"})
        assert total(seen) == 3 * 28
    assert {model: used["total_tokens"] for model, used in told["outer"].items()} == {
        "gpt-4o-mini-2024-07-18": 56,
        "o3-2025": 28,
    }
    assert {model: used["total_tokens"] for model, used in told["inner"].items()} == {
        "gpt-4o-mini-2024-07-18": 28,
        "o3-2025": 28,
    }
    spans = {span.name: dict(span.attributes or {}) for span in seen.spans}
    assert spans["invoke_agent outer"]["spanhook.usage.input_tokens"] == 60
    assert "gen_ai.usage.input_tokens" not in spans["invoke_agent outer"]
    model_spans = [span for span in seen.spans if span.name.startswith("chat")]
    assert sum((span.attributes or {})["gen_ai.usage.input_tokens"] for span in model_spans) == 60  # type: ignore[misc]


@pytest.mark.parametrize("is_async", [False, True])
def test_cache_hits_are_not_counted(is_async: bool) -> None:
    body = Body()
    model = ScriptedChat(body=body, cache=InMemoryCache())
    with recorder() as seen:
        for _ in range(3):
            asyncio.run(model.ainvoke("hi")) if is_async else model.invoke("hi")
        assert body.runs == 1
        assert total(seen) == 28
    assert [op.usage.total_tokens for op in seen.operations] == [28, 0, 0]


def test_text_cache_hits_are_not_counted() -> None:
    body = Body()
    model = ScriptedText(body=body, cache=InMemoryCache())
    with recorder() as seen:
        for _ in range(3):
            model.invoke("hi")
        assert total(seen) == 7


class Editing(BaseCallbackHandler):
    """A callback that takes apart what it is told, as some exporters have done."""

    def on_llm_end(self, response: LLMResult, **_kwargs: Any) -> None:
        (response.llm_output or {}).clear()
        for generations in response.generations:
            for one in generations:
                (getattr(getattr(one, "message", None), "usage_metadata", None) or {}).clear()


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "batch"])
@pytest.mark.parametrize("make", [ScriptedChat, ScriptedText])
def test_what_callbacks_make_of_an_answer_is_not_counted(make: Any, way: str) -> None:
    def used(*callbacks: BaseCallbackHandler) -> dict[str, int]:
        model, config = make(body=Body()), {"callbacks": [*callbacks]} if callbacks else {}
        with recorder() as seen:
            if way == "ainvoke":
                asyncio.run(model.ainvoke("hi", config))
            else:
                getattr(model, way)(["hi", "ho"] if way == "batch" else "hi", config)
            return by_bucket(seen)

    assert used(Editing()) == used() != {}


class Completing(BaseCallbackHandler):
    """A callback that knows what was used, where the model has not reported it."""

    def on_llm_end(self, response: LLMResult, **_kwargs: Any) -> None:
        answer: Any = response.generations[0][0]
        answer.message.usage_metadata = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


def test_what_only_callbacks_know_is_counted() -> None:
    class Silent(ScriptedChat):
        def _message(self) -> AIMessage:
            return super()._message().model_copy(update={"usage_metadata": None})

    with recorder() as seen:
        Silent(body=Body()).invoke("hi", {"callbacks": [Completing()]})
        assert by_bucket(seen) == {"input": 3, "output": 2}


class Halfway(ScriptedChat):
    """A chat model that reports what the prompt cost first, as some do, and then breaks."""

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        used: Any = {"input_tokens": 20, "output_tokens": 0, "total_tokens": 20}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=used))
        yield ChatGenerationChunk(message=AIMessageChunk(content="he"))
        raise ConnectionError("cut")


def test_errors_half_way() -> None:
    with recorder() as seen:
        with pytest.raises(ConnectionError):
            list(Halfway(body=Body()).stream("hi"))
        assert by_bucket(seen) == {"input": 20}
    assert (seen.spans[0].attributes or {})["gen_ai.usage.input_tokens"] == 20


class Thinking(ScriptedChat):
    """A chat model that reports every bucket there is."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        used: Any = {
            "input_tokens": 100,
            "output_tokens": 50,
            "total_tokens": 150,
            "input_token_details": {"cache_read": 30, "cache_creation": 20},
            "output_token_details": {"reasoning": 40},
        }
        message = AIMessage(content="x", usage_metadata=used, response_metadata={"model_name": "house-model"})
        return ChatResult(generations=[ChatGeneration(message=message)])

    _stream = BaseChatModel._stream


def test_every_bucket_once_and_disjoint() -> None:
    with recorder() as seen:
        Thinking(body=Body()).invoke("hi")
        assert by_bucket(seen) == {"input": 50, "cache_read": 30, "cache_write": 20, "output": 10, "reasoning": 40}
        assert total(seen) == 150
        assert total(seen, "spanhook.usage.unpriced") == 150
        assert total(seen, "spanhook.usage.cost") == 0
    attributes = seen.spans[0].attributes or {}
    assert attributes["gen_ai.usage.input_tokens"] == 100
    assert attributes["gen_ai.usage.cache_read.input_tokens"] == 30
    assert attributes["gen_ai.usage.cache_write.input_tokens"] == 20
    assert attributes["gen_ai.usage.output_tokens"] == 50
    assert attributes["gen_ai.usage.reasoning.output_tokens"] == 40
    assert "spanhook.cost.usd" not in attributes  # unknown, never 0
    assert seen.operations[0].usage.cost_usd is None


def test_50_concurrent_runs_in_one_loop() -> None:
    async def main() -> None:
        await asyncio.gather(*(consume(agent(Calls()), "ainvoke") for _ in range(50)))

    with recorder() as seen:
        asyncio.run(main())
        assert total(seen) == 50 * 102
        assert {event["spanhook.usage.input_tokens"] for event in run_events(seen)} == {69}
        assert len(run_events(seen)) == 50


@pytest.mark.slow
def test_50_concurrent_runs_in_threads() -> None:
    with recorder() as seen:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda _index: consume(agent(Calls()), "invoke"), range(50)))
        assert total(seen) == 50 * 102
        assert {event["spanhook.usage.input_tokens"] for event in run_events(seen)} == {69}


def test_threads_with_a_copied_context_belong_to_the_run_and_others_do_not() -> None:
    model = ScriptedChat(body=Body())

    def fan_out(state: State) -> State:
        with ThreadPoolExecutor(2) as pool:
            pool.submit(contextvars.copy_context().run, model.invoke, "hi").result()
            pool.submit(model.invoke, "hi").result()
        return {}

    with recorder() as seen:
        _graph(fan_out).invoke({"value": "x"})
        assert total(seen) == 56
    runs = {event["spanhook.target"]: event["spanhook.usage.input_tokens"] for event in run_events(seen)}
    assert runs == {"made": 20, "gpt-4o-mini": 20}


def test_embeddings_report_nothing_and_count_nothing() -> None:
    embeddings = next(subject for subject in HERE if subject.name == "embeddings")
    with recorder() as seen:
        embeddings.ways["query"](embeddings.make(Body()))
        assert total(seen) == 0


def test_a_rejected_call_uses_nothing() -> None:
    from spanhook import Reject

    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks) as seen:
        with pytest.raises(Reject):
            ScriptedChat(body=Body()).invoke("hi")
        assert total(seen) == 0
        assert run_events(seen)[0]["spanhook.llm_calls"] == 0


FORKED = """
import json
import spanhook
from opentelemetry.sdk.metrics import MeterProvider
from spanhook.cli.conformance.libraries.langchain import Calls, agent, consume
from tests.telemetry.test_metrics import in_a_fork, reader, tokens

def counted(delta):
    metric_reader = reader(delta=delta)
    spanhook.instrument(meter_provider=MeterProvider([metric_reader]))
    consume(agent(Calls()), "invoke")

    def worker(calls):
        for _ in range(calls):
            consume(agent(Calls()), "invoke")
        return tokens(metric_reader)

    told = [in_a_fork(worker, calls) for calls in (1, 2, 3)]
    return [tokens(metric_reader), *told]

print(json.dumps([in_a_fork(counted, delta) for delta in (False, True)]))
"""


@pytest.mark.slow
def test_over_forked_workers() -> None:
    from tests.telemetry.test_metrics import run_apart

    assert run_apart(FORKED) == [[102, 102, 204, 306]] * 2


def test_cost_of_an_agent_is_the_sum_of_its_calls() -> None:
    with recorder() as seen:
        consume(agent(Calls()), "invoke")
        found = seen.metrics()["spanhook.usage.cost"]
    root = seen.operations[-1]
    calls = [op for op in seen.operations if op.kind == "llm.call"]
    assert root.usage.cost_nano == sum(op.usage.cost_nano or 0 for op in calls) == 3 * (23 * 150 + 11 * 600)
    assert sum(value for _, value in found) == pytest.approx(root.usage.cost_usd, abs=1e-9)
    assert run_events(seen)[0]["spanhook.cost.usd"] == root.usage.cost_usd
    assert {attributes.get("gen_ai.agent.name") for attributes, _ in found} == {"helper"}


class Waiting(ScriptedChat):
    """A chat model that answers once it may."""

    begun: Any = None
    may: Any = None

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.begun.set()
        assert self.may.wait(60)
        return super()._generate(messages, *args, **kwargs)


class Abandoning(ScriptedChat):
    """A chat model that does not wait for the one it calls."""

    inner: Any = None
    threads: list[Any] = []

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        context = contextvars.copy_context()
        self.threads.append(threading.Thread(target=lambda: context.run(self.inner.invoke, "another question")))
        self.threads[-1].start()
        assert self.inner.begun.wait(60)
        return super()._generate(messages, *args, **kwargs)


def test_a_call_that_outlives_the_call_it_was_made_in_is_counted() -> None:
    inside = Waiting(body=Body(), begun=threading.Event(), may=threading.Event())
    around = Abandoning(body=Body(), inner=inside)
    with recorder() as seen:
        around.invoke("hi")
        inside.may.set()
        around.threads[-1].join(60)
    inner = [op for op in seen.operations if op.parent is not None]
    assert [op.usage.total_tokens for op in inner] == [28]
