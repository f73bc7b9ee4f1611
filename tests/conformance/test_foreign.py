"""Spans of others: transport of the operation directly around them, or operations that are gated as far as they let."""

import gc
import inspect
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypedDict

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from opentelemetry.trace import Span, StatusCode, Tracer

from spanhook import Hooks, Operation, Reject, testing
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.subject import settle
from spanhook.testing import Recorder

#: Without Anthropic's client, whose SDK stands for those that trace themselves and are not bound.
recorder = partial(testing.recorder, only=("langchain_core", "langgraph", "openai"))

INPUT, OUTPUT = Tokens().input, Tokens().output
EACH = INPUT + OUTPUT
MODEL = "claude-opus-4-5"
SOMEBODY = "opentelemetry.instrumentation.somebody"
OPENINFERENCE = "openinference.instrumentation.anthropic"
ASKED: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")


class SubState(TypedDict):
    depth: int


@pytest.fixture
def server() -> Iterator[AnthropicServer]:
    """What Anthropic's SDK calls here, as far as it traces itself."""
    if "open_telemetry" not in inspect.signature(Anthropic).parameters:
        pytest.skip("this version of anthropic does not trace itself")
    with AnthropicServer() as running:
        yield running


_clients: list[Anthropic] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while _clients:
        _clients.pop().close()


def client(server: AnthropicServer, seen: Recorder) -> Anthropic:
    """A client of Anthropic's own SDK, which traces itself."""
    made = Anthropic(base_url=server.url, api_key="test", max_retries=0, open_telemetry=tracing(seen))
    _clients.append(made)
    return made


def tracing(seen: Recorder) -> Any:
    return {"tracer_provider": seen.tracer_provider}


class Claude(BaseChatModel):
    """A chat model over Anthropic's SDK, as LangChain's own: one request, streamed or not."""

    sdk: Any
    model: str = MODEL
    scopes: tuple[Tracer, ...] = ()
    reports: bool = True
    tries: int = 1

    @property
    def _llm_type(self) -> str:
        return "anthropic"

    def _get_ls_params(self, stop: Any = None, **_kwargs: Any) -> Any:
        return {"ls_provider": "anthropic", "ls_model_name": self.model, "ls_model_type": "chat"}

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        for left in reversed(range(self.tries)):
            try:
                told = self._ask(messages)
                break
            except anthropic.APIError:
                if not left:
                    raise
        used = {"input_tokens": INPUT, "output_tokens": OUTPUT, "total_tokens": EACH} if self.reports else None
        message = AIMessage(told.content[0].text, usage_metadata=used)  # pyright: ignore[reportPossiblyUnboundVariable, reportArgumentType]
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _ask(self, messages: list[BaseMessage]) -> Any:
        asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": self.model}
        if not self.scopes:
            return self.sdk.messages.create(
                **{**ASKED, "messages": [{"role": "user", "content": messages[-1].content}]}
            )
        tracer, *inner = self.scopes
        with tracer.start_as_current_span("theirs", attributes=asked) as span:
            told = self.model_copy(update={"scopes": tuple(inner)})._ask(messages)
            span.set_attributes({"gen_ai.usage.input_tokens": INPUT, "gen_ai.usage.output_tokens": OUTPUT})
            return told

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        with self.sdk.messages.stream(**ASKED) as stream:
            for text in stream.text_stream:
                yield ChatGenerationChunk(message=AIMessageChunk(content=text))


WAYS: dict[str, Callable[[Any], Any]] = {
    "invoke": lambda model: model.invoke("hi"),
    "ainvoke": lambda model: model.ainvoke("hi"),
    "stream": lambda model: list(model.stream("hi")),
    "batch": lambda model: model.batch(["a", "b"]),
    "several prompts": lambda model: model.generate([[HumanMessage("a")], [HumanMessage("b")]]),
}


def total(seen: Recorder) -> int:
    return sum(value for _, value in seen.metrics().get("spanhook.usage.tokens", ()))


def looking() -> tuple[Hooks, list[str]]:
    """Hooks that read what they are asked about, and what that was."""
    hooks, asked = Hooks(), list[str]()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        asked.append(op.request.messages[-1]["parts"][0]["content"])

    return hooks, asked


def rejecting(*kinds: str) -> Hooks:
    hooks = Hooks()

    @hooks.before(*(kinds or ("llm.call",)), name="no")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    return hooks


# ---------------------------------------------------------------------------------------- transport


@pytest.mark.every_value
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reports", [True, False])
def test_an_sdk_that_traces_itself_under_a_model(way: str, reports: bool, server: AnthropicServer) -> None:
    hooks, asked = looking()
    with recorder(hooks) as seen:
        settle(WAYS[way](Claude(sdk=client(server, seen), reports=reports)))
        assert total(seen) == EACH * len(server.requests)
    assert not [op for op in seen.operations if op._record.foreign]
    assert len(asked) == len(seen.operations) == (2 if way == "batch" else 1)
    assert sum(op.usage.llm_calls for op in seen.operations) == len(seen.operations)


@pytest.mark.parametrize("reports", [True, False])
def test_several_instrumentations_beside_it(reports: bool, server: AnthropicServer) -> None:
    hooks, asked = looking()
    with recorder(hooks) as seen:
        scopes = tuple(seen.tracer_provider.get_tracer(scope) for scope in (OPENINFERENCE, SOMEBODY))
        Claude(sdk=client(server, seen), scopes=scopes, reports=reports).invoke("hi")
        assert total(seen) == EACH
    assert (asked, len(seen.operations), len(seen.spans)) == (["hi"], 1, 4)


def test_a_retry_after_a_failed_one(server: AnthropicServer) -> None:
    server.script(Reply(status=500))
    hooks, asked = looking()
    with recorder(hooks) as seen:
        Claude(sdk=client(server, seen), tries=2).invoke("hi")
        assert total(seen) == EACH
    assert (asked, len(seen.operations), len(server.requests)) == (["hi"], 1, 2)


def test_platforms_have_scopes_of_their_own(server: AnthropicServer) -> None:
    with recorder(rejecting()) as seen:
        tracer = seen.tracer_provider.get_tracer("com.anthropic.sdk.python.bedrock")
        with tracer.start_as_current_span("theirs", attributes={"gen_ai.operation.name": "chat"}) as span:
            assert span.is_recording()
    assert [(op.status, op.usage.llm_calls) for op in seen.operations] == [("success", 1)]


OTHERS: dict[str, dict[str, Any]] = {
    "another model": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"},
    "another provider": {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": MODEL,
        "gen_ai.provider.name": "openai",
    },
    "a tool": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"},
    "an agent": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": MODEL},
}


class Opening(Claude):
    """A model that opens a span itself, and does nothing else."""

    tracer: Any
    attributes: Any
    times: int = 1

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        for _ in range(self.times):
            with self.tracer.start_as_current_span("theirs", attributes=self.attributes):
                pass
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])


@pytest.mark.every_value
@pytest.mark.parametrize("other", OTHERS)
def test_what_is_not_for_the_same_call_is_an_operation(other: str) -> None:
    with recorder() as seen:
        tracer = seen.tracer_provider.get_tracer(SOMEBODY)
        Opening(sdk=None, tracer=tracer, attributes=OTHERS[other]).invoke("hi")
    assert [op._record.foreign for op in seen.operations] == [True, False]


def test_the_second_of_one_scope_is_an_operation() -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": MODEL}
    with recorder() as seen:
        tracer = seen.tracer_provider.get_tracer(SOMEBODY)
        Opening(sdk=None, tracer=tracer, attributes=attributes, times=2).invoke("hi")
    assert [op._record.foreign for op in seen.operations] == [True, False]


def test_what_callbacks_call_is_an_operation(server: AnthropicServer) -> None:
    class Asking(BaseCallbackHandler):
        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            sdk.messages.create(**ASKED)

    with recorder() as seen:
        sdk = client(server, seen)
        Claude(sdk=sdk).invoke("hi", {"callbacks": [Asking()]})
        assert total(seen) == 2 * EACH
    assert [op._record.foreign for op in seen.operations] == [True, False]
    assert seen.operations[-1].usage.llm_calls == 2


@pytest.mark.every_value
@pytest.mark.parametrize("place", ["agent", "step", "tool", "other tool", "hook"])
def test_inside_of_other_operations(place: str, server: AnthropicServer) -> None:
    hooks, attributes = Hooks(), {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "act"}

    with recorder(hooks) as seen:
        sdk, tracer = client(server, seen), seen.tracer_provider.get_tracer(SOMEBODY)

        @tool
        def act(what: str) -> str:
            """Act."""
            if what == "model":
                sdk.messages.create(**ASKED)
            else:
                with tracer.start_as_current_span("theirs", attributes={**attributes, "gen_ai.tool.name": what}):
                    pass
            return what

        def node(state: SubState) -> SubState:
            sdk.messages.create(**ASKED)
            return state

        if place in ("agent", "step"):
            if place == "step":
                hooks.before("workflow.step")(lambda op: None)
            builder = StateGraph(SubState)
            builder.add_node("node", node)
            builder.add_edge(START, "node")
            builder.compile().invoke({"depth": 1})
        elif place == "hook":
            hooks.before("tool.execute", timeout=60.0)(lambda op: sdk.messages.create(**ASKED) and None)
            act.invoke({"what": "act"})
        else:
            act.invoke({"what": "act" if place == "tool" else "search"})
    foreign = [op for op in seen.operations if op._record.foreign]
    assert len(foreign) == (0 if place == "tool" else 1)
    assert [op.in_hook for op in foreign] == [place == "hook"] * len(foreign)


# ---------------------------------------------------------------------------------------- operations


async def _async(server: AnthropicServer, seen: Recorder) -> None:
    async with AsyncAnthropic(base_url=server.url, api_key="test", open_telemetry=tracing(seen)) as sdk:
        await sdk.messages.create(**ASKED)


DIRECT: dict[str, Callable[[AnthropicServer, Recorder], Any]] = {
    "create": lambda server, seen: client(server, seen).messages.create(**ASKED),
    "stream": lambda server, seen: list(client(server, seen).messages.create(**ASKED, stream=True)),
    "raw": lambda server, seen: client(server, seen).messages.with_raw_response.create(**ASKED),
    "async": _async,
}


@pytest.mark.parametrize("scope", ["operation", "run"])
@pytest.mark.parametrize("way", DIRECT)
def test_a_refusal_that_is_swallowed_is_attempted(way: str, scope: Any, server: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", name="no")
    def refuse(op: Operation) -> None:
        raise Reject("no", scope=scope)

    with recorder(hooks) as seen:
        settle(DIRECT[way](server, seen))
        assert total(seen) == EACH
        [told] = [event["attributes"] for event in seen.events if event["name"] == "spanhook.run"]
        [decided] = [event["attributes"] for event in seen.events if event["name"] == "spanhook.decision"]
    [op] = seen.operations
    assert len(server.requests) == 1
    assert (op.status, op.usage.llm_calls, op.usage.total_tokens) == ("success", 1, EACH)
    assert (told["spanhook.status"], told["spanhook.llm_calls"]) == ("success", 1)
    assert decided["spanhook.decision"] == "attempted"
    [span] = seen.spans
    attributes = span.attributes or {}
    assert (attributes["spanhook.decision"], attributes["spanhook.coverage"]) == ("attempted", "best_effort")
    assert attributes["gen_ai.usage.output_tokens"] == OUTPUT
    assert span.status.status_code is StatusCode.OK


class Reporting(Opening):
    """A model that opens a span which tells what was used; ``told`` is given the span while that is open."""

    told: Callable[[Span], Any]

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        report(self.tracer, self.attributes, self.told)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])


def report(tracer: Tracer, attributes: Any, told: Callable[[Span], Any]) -> None:
    with tracer.start_as_current_span("theirs", attributes=attributes) as span:
        told(span)
        span.set_attributes({"gen_ai.usage.input_tokens": INPUT, "gen_ai.usage.output_tokens": OUTPUT})


@pytest.mark.parametrize("absorbed", [False, True])
def test_a_span_that_goes_takes_no_other_of_its_id_with_it(absorbed: bool) -> None:
    """Every recorder gives the same ids."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": MODEL}
    hooks, kept = Hooks(), list[Span]()
    hooks.before("llm.call")(lambda op: None)

    def once(told: Callable[[Span], Any]) -> None:
        with recorder(hooks) as seen:
            tracer = seen.tracer_provider.get_tracer(SOMEBODY)
            if absorbed:
                Reporting(sdk=None, tracer=tracer, attributes=attributes, told=told).invoke("hi")
            else:
                report(tracer, attributes, told)
            assert total(seen) == EACH
            assert len(seen.operations) == 1

    def let_go(span: Span) -> None:
        gone = weakref.ref(kept[0])
        assert kept.pop().get_span_context().span_id == span.get_span_context().span_id
        gc.collect()
        assert gone() is None

    once(kept.append)
    once(let_go)


def test_a_call_that_fails_after_a_swallowed_refusal(server: AnthropicServer) -> None:
    server.script(Reply(status=500))
    with recorder(rejecting()) as seen, pytest.raises(anthropic.APIError):
        client(server, seen).messages.create(**ASKED)
    [op] = seen.operations
    assert (op.status, op.usage.llm_calls, seen.spans[0].status.status_code) == ("error", 1, StatusCode.ERROR)


@pytest.mark.parametrize("scope", [OPENINFERENCE, SOMEBODY])
def test_two_instrumentations_of_a_call_made_directly(scope: str, server: AnthropicServer) -> None:
    passes: list[str] = []
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: passes.append(op.model))
    with recorder(hooks) as seen:
        tracer, sdk = seen.tracer_provider.get_tracer(scope), client(server, seen)
        asked = {"openinference.span.kind": "LLM", "llm.model_name": MODEL}
        with tracer.start_as_current_span("theirs", attributes=asked) as span:
            sdk.messages.create(**ASKED)
            span.set_attributes({"llm.token_count.prompt": INPUT, "llm.token_count.completion": OUTPUT})
        assert total(seen) == EACH
    assert (passes, len(seen.operations)) == ([MODEL], 1)


def _call(tracer: Tracer, *, swallow: bool) -> None:
    """A call as an instrumentation makes it: with a span, or without where none can be started."""
    span = None
    try:
        span = tracer.start_span("theirs", attributes={"gen_ai.operation.name": "chat"})
    except Exception:
        if not swallow:
            raise
    if span is not None:
        span.end()


@pytest.mark.parametrize("swallow", [False, True])
@pytest.mark.parametrize("around", [False, True])
def test_a_refusal_that_is_raised(swallow: bool, around: bool) -> None:
    """The call counts, unless that very refusal is seen to leave an operation around."""
    with recorder(rejecting()) as seen:
        tracer = seen.tracer_provider.get_tracer(SOMEBODY)

        @tool
        def ask(what: str) -> str:
            """Ask."""
            _call(tracer, swallow=swallow)
            return what

        with suppress(Reject):
            ask.invoke({"what": "x"}) if around else _call(tracer, swallow=swallow)
        [told] = [event["attributes"] for event in seen.events if event["name"] == "spanhook.run"]
    held = around and not swallow
    op = seen.operations[0]
    assert (op.status, op._record.called) == (("rejected", False) if held else ("error", True))
    assert told["spanhook.llm_calls"] == (0 if held else 1)
    assert [one.decision for one in op._record.decided.records] == ["attempted"]
    [span] = [span for span in seen.spans if span.name == "theirs"]
    attributes = span.attributes or {}
    assert (attributes["spanhook.status"], attributes["spanhook.decision"]) == (op.status, "attempted")
    assert span.status.status_code is StatusCode.ERROR


def test_a_refusal_replaced_by_another_error_counts() -> None:
    with recorder(rejecting()) as seen:
        tracer = seen.tracer_provider.get_tracer(SOMEBODY)

        @tool
        def ask(what: str) -> str:
            """Ask."""
            try:
                _call(tracer, swallow=False)
            except Reject:
                raise ConnectionError("the call was made, and failed")  # noqa: B904
            return what

        with pytest.raises(ConnectionError):
            ask.invoke({"what": "x"})
    assert [(op.status, op._record.called) for op in seen.operations] == [("error", True), ("error", True)]


def test_a_run_that_is_refused_ends_all_the_same(server: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", name="no")
    def refuse(op: Operation) -> None:
        raise Reject("no", scope="run")

    with recorder(hooks) as seen:
        sdk = client(server, seen)

        @tool
        def ask(what: str) -> str:
            """Ask."""
            sdk.messages.create(**ASKED)
            return what

        with pytest.raises(Reject):
            ask.invoke({"what": "x"})
        assert total(seen) == EACH
    assert [(op.kind, op.status) for op in seen.operations] == [("llm.call", "success"), ("tool.execute", "rejected")]
    assert len(server.requests) == 1


def test_ctrl_c_in_a_hook_is_carried_whoever_swallows(server: AnthropicServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", name="no")
    def interrupt(op: Operation) -> None:
        raise KeyboardInterrupt

    with recorder(hooks) as seen, pytest.raises(KeyboardInterrupt):
        client(server, seen).messages.create(**ASKED)
    assert server.requests == []


def test_another_instrumentation_around_a_call_of_ours_is_counted_once() -> None:
    from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client

    with OpenAIServer() as openai, recorder() as seen, sync_client(openai.url) as sdk:
        tracer = seen.tracer_provider.get_tracer(SOMEBODY)
        with tracer.start_as_current_span("theirs", attributes={"gen_ai.operation.name": "chat"}) as span:
            sdk.chat.completions.create(**CHAT)
            span.set_attributes({"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 8})
        assert total(seen) == 28
    assert seen.operations[-1].usage.llm_calls == 1


def test_an_async_judge_in_a_hook_is_counted_once(server: AnthropicServer) -> None:
    hooks = Hooks()
    with recorder(hooks) as seen:
        judge = Claude(sdk=client(server, seen))

        @hooks.before("tool.execute", timeout=60.0)
        async def judged(op: Operation) -> None:
            await judge.ainvoke("fine?")

        @tool
        async def act(what: str) -> str:
            """Act."""
            return what

        run(act.ainvoke({"what": "x"}))
        assert total(seen) == EACH
    assert [op.in_hook for op in seen.operations] == [True, False]
