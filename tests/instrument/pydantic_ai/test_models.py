"""Models: what their spans say, rewritten and answered calls, wrappers, fallbacks, models of the application's own."""

import asyncio
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic_ai import Agent, ModelSettings
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.pydantic_ai_ways import chat_model, responses_model
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body, Fault
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import ASK, Way, all_ways, go, refusing, run, scripted, streamed, told

apis = pytest.mark.parametrize("make", [chat_model, responses_model])


# ------------------------------------------------------------------------------------------------ spans


@apis
@all_ways
def test_one_operation_for_a_call_and_its_request(way: Way, make: Any) -> None:
    body = Body()
    settings = ModelSettings(temperature=0.5, max_tokens=99, top_p=0.9)
    with recorder() as seen:
        assert go(way, Agent(make(body), name="helper", model_settings=settings)) == Reply.text
    assert told(seen) == [("llm.call", "gpt-4o-mini", "success"), ("agent.invoke", "helper", "success")]
    assert seen.operations[0].usage.total_tokens == body.tokens == Reply.tokens.total
    attributes = dict(seen.spans[0].attributes or {})
    assert {name: attributes[name] for name in attributes if name not in OTHERS} == snapshot(
        {
            "gen_ai.operation.name": "chat",
            "server.address": "127.0.0.1",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4o-mini",
            "gen_ai.request.temperature": 0.5,
            "gen_ai.request.max_tokens": 99,
            "gen_ai.request.top_p": 0.9,
            "gen_ai.output.type": "text",
            "spanhook.kind": "llm.call",
            "spanhook.status": "success",
            "spanhook.run.id": "00000000000000000000000000000001",
            "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
            "gen_ai.response.finish_reasons": ("stop",),
            "gen_ai.usage.input_tokens": 20,
            "gen_ai.usage.output_tokens": 8,
            "spanhook.cost.usd": 7.8e-06,
        }
    )


OTHERS = (
    *("server.port", "openai.api.type", "openai.response.service_tier", "openai.response.system_fingerprint"),
    *("gen_ai.response.id", "gen_ai.request.stream", "gen_ai.response.time_to_first_chunk"),
)
"""What differs between APIs and ways."""


@apis
def test_a_conversation_with_tools_is_counted_once(make: Any) -> None:
    body = Body()
    agent = Agent(make(body, ([("add", '{"a": 1}')], "done")), name="helper") if make is responses_model else None
    if agent is None:  # the server has calls of functions in responses alone
        agent = Agent(scripted(body, [("add", {"a": 1})], "done"), name="helper")

    @agent.tool_plain
    def add(a: int) -> dict[str, int]:
        """Add one."""
        return {"sum": a + 1}

    with recorder() as seen:
        go(run, agent)
    assert [kind for kind, _, _ in told(seen)] == ["llm.call", "tool.execute", "llm.call", "agent.invoke"]


def test_a_refused_tool_and_what_follows_is_counted_once() -> None:
    body = Body()
    agent = Agent(responses_model(body, ([("add", '{"a": 1}')], "done")), name="helper")

    @agent.tool_plain
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    with recorder(refusing("tool.execute")) as seen:
        go(run, agent)
    assert [kind for kind, _, _ in told(seen)] == ["tool.execute", "llm.call", "llm.call", "agent.invoke"] or [
        kind for kind, _, _ in told(seen)
    ] == ["llm.call", "tool.execute", "llm.call", "agent.invoke"]
    assert body.runs == 2


@all_ways
def test_a_retried_output_is_another_call(way: Way) -> None:
    """What the library tells the model of its mistake is in the request that its client sends, too."""
    body = Body()
    agent = Agent(responses_model(body), name="helper")
    tries: list[str] = []

    @agent.output_validator
    def check(output: str) -> str:
        from pydantic_ai import ModelRetry

        tries.append(output)
        if len(tries) < 2:
            raise ModelRetry("Longer, please.")
        return output

    with recorder() as seen:
        if way is streamed:
            with pytest.raises(Exception, match=r".*"):
                go(way, agent)
            return
        go(way, agent)
    assert [kind for kind, _, _ in told(seen)] == ["llm.call", "llm.call", "agent.invoke"]


# ------------------------------------------------------------------------------------------------ models around models


class Around(WrapperModel):
    """A wrapper of the application's own."""


@pytest.mark.parametrize(
    "wrap",
    [Around, InstrumentedModel, FallbackModel, lambda model: Around(FallbackModel(InstrumentedModel(model)))],
)
@all_ways
def test_a_call_through_others_is_one(way: Way, wrap: Any) -> None:
    with recorder() as seen:
        go(way, Agent(wrap(scripted()), name="helper"))
    assert told(seen) == [("llm.call", "scripted", "success"), ("agent.invoke", "helper", "success")]


def _failing(body: Body) -> Any:
    body.fault = Fault("status 500", status=500)
    return chat_model(body)


@all_ways
def test_each_model_of_a_fallback_is_a_call(way: Way) -> None:
    first, second = Body(), Body()
    with recorder() as seen:
        go(way, Agent(FallbackModel(_failing(first), scripted(second, "from the second")), name="helper"))
    assert told(seen)[:2] == [("llm.call", "gpt-4o-mini", "error"), ("llm.call", "scripted", "success")]
    assert (first.runs, second.runs) == (1, 1)


@all_ways
def test_no_fallback_goes_around_a_refusal(way: Way) -> None:
    first, second = Body(), Body()
    model = FallbackModel(scripted(first, name="first"), scripted(second, name="second"))
    with recorder(refusing("llm.call", names={"first"})), pytest.raises(Reject, match="not now"):
        go(way, Agent(model, name="helper"))
    assert (first.runs, second.runs) == (0, 0)


@all_ways
def test_a_fallback_that_accepts_every_error_asks_the_next_model_behind_its_gates(way: Way) -> None:
    first, second = Body(), Body()
    model = FallbackModel(scripted(first, name="first"), scripted(second, name="second"), fallback_on=(Exception,))
    with recorder(refusing("llm.call")) as seen, pytest.raises(Exception, match=r".*"):
        go(way, Agent(model, name="helper"))
    assert (first.runs, second.runs) == (0, 0)
    assert told(seen)[:2] == [("llm.call", "first", "rejected"), ("llm.call", "second", "rejected")]


@all_ways
def test_a_rejected_run_is_not_gone_around_by_such_a_fallback(way: Way) -> None:
    first, second = Body(), Body()
    model = FallbackModel(scripted(first, name="first"), scripted(second, name="second"), fallback_on=(Exception,))
    hooks = Hooks()

    @hooks.before("llm.call", names={"first"})
    def refuse(op: Operation) -> None:
        raise Reject("not in this run", scope="run")

    with recorder(hooks), pytest.raises(Reject, match="not in this run"):
        go(way, Agent(model, name="helper"))
    assert (first.runs, second.runs) == (0, 0)


def test_errors_of_the_provider_stay_the_librarys() -> None:
    with recorder() as seen, pytest.raises(ModelHTTPError) as raised:
        go(run, Agent(_failing(Body()), name="helper"))
    assert raised.value.status_code == 500
    assert told(seen)[0] == ("llm.call", "gpt-4o-mini", "error")


# ------------------------------------------------------------------------------------------------ other ways


def test_models_called_directly() -> None:
    body = Body()
    model, messages = scripted(body), [ModelRequest.user_text_prompt(ASK)]

    async def stream() -> None:
        async with model_request_stream(model, messages) as response:
            async for _ in response:
                pass

    with recorder(refusing("llm.call")) as seen:
        with pytest.raises(Reject):
            asyncio.run(model_request(model, messages))
        with pytest.raises(Reject):
            asyncio.run(stream())
    assert body.runs == 0
    assert [status for _, _, status in told(seen)] == ["rejected", "rejected"]


def test_models_of_the_library_and_of_the_application() -> None:
    class Own(FunctionModel):
        async def request(self, *args: Any, **kwargs: Any) -> ModelResponse:
            return await super().request(*args, **kwargs)

    calls: list[Any] = []

    def answer(messages: list[Any], _info: Any) -> ModelResponse:
        calls.append(messages)
        return ModelResponse(parts=[TextPart("hello")])

    with recorder() as seen:
        go(run, Agent(Own(answer, model_name="own"), name="helper"))
        go(run, Agent(TestModel(), name="helper"))
    assert [name for kind, name, _ in told(seen) if kind == "llm.call"] == ["own", "test"]


def test_spans_of_the_librarys_own_count_as_nothing() -> None:
    agent = Agent(scripted(None, [("add", {"a": 1})], "done"), name="helper")

    @agent.tool_plain
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    seen: Any
    with recorder() as seen:
        agent.instrument = InstrumentationSettings(tracer_provider=seen.tracer_provider)
        go(run, agent)
    assert [kind for kind, _, _ in told(seen)] == ["llm.call", "tool.execute", "llm.call", "agent.invoke"]
    assert seen.operations[-1].usage.llm_calls == 2
    assert any(span.instrumentation_scope.name == "pydantic-ai" for span in seen.spans)
