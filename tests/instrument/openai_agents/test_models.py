"""Models: what their spans say, rewritten and answered calls, retries, models of the application's own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import agents
import pytest
from agents import (
    Agent,
    Model,
    ModelProvider,
    ModelResponse,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    RunHooks,
    Runner,
    SQLiteSession,
    Usage,
)
from inline_snapshot import snapshot
from openai import InternalServerError
from openai.types.responses import Response
from openai.types.shared import Reasoning

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_agents_tools import OwnModel
from spanhook.cli.conformance.libraries.openai_agents_ways import ASK, MODEL_CALL
from spanhook.cli.conformance.servers import openai_bodies as bodies
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import Body, Fault
from spanhook.testing import recorder
from tests.instrument.openai_agents.scripted import Way, both_ways, go, hanging_up, run, scripted, told

apis = pytest.mark.parametrize("kind", [OpenAIResponsesModel, OpenAIChatCompletionsModel])


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def sent(body: Body) -> list[Any]:
    """The conversation in the last request, whichever the API."""
    asked = body.seen[-1].body
    return asked["input"] if "input" in asked else asked["messages"]


# ------------------------------------------------------------------------------------------------ spans


@apis
@both_ways
def test_one_operation_for_a_call_and_its_request(way: Way, kind: Any) -> None:
    body = Body()
    settings = ModelSettings(temperature=0.5, max_tokens=99, top_p=0.9, include_usage=True)
    with recorder() as seen:
        go(way, Agent(name="helper", model=scripted(body, kind=kind), model_settings=settings))
    assert told(seen) == [("llm.call", "gpt-4o-mini", "success"), ("agent.invoke", "helper", "success")]
    call = seen.operations[0]
    assert call.usage.total_tokens == body.tokens > 0
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
    assert attributes["openai.api.type"] == ("responses" if kind is OpenAIResponsesModel else "chat_completions")


OTHERS = (
    *("server.port", "openai.api.type", "openai.response.service_tier", "openai.response.system_fingerprint"),
    *("gen_ai.response.id", "gen_ai.request.stream", "gen_ai.response.time_to_first_chunk"),
)
"""What differs between APIs and ways."""


def test_what_else_is_asked_for() -> None:
    settings = ModelSettings(reasoning=Reasoning(effort="high"), extra_body={"model": "gpt-5"})
    model = scripted()
    with recorder() as seen:
        asyncio.run(
            model.get_response(
                **{**MODEL_CALL, "model_settings": settings, "previous_response_id": "resp_0", "prompt": {"id": "pm_1"}}
            )
        )
    attributes = seen.spans[0].attributes or {}
    assert attributes["gen_ai.request.model"] == "gpt-5"
    assert attributes["gen_ai.request.reasoning.level"] == "high"
    assert attributes["gen_ai.request.previous_response.id"] == "resp_0"
    assert attributes["gen_ai.prompt.name"] == "pm_1"


def test_hooks_see_what_is_asked_and_answered() -> None:
    hooks = Hooks()
    found: list[Any] = []

    @hooks.after("llm.call")
    def look(op: Operation) -> None:
        found.append((op.request.system, op.request.messages, op.request.tools, op.response.text))

    @agents.function_tool
    def add(a: int) -> int:
        """Add."""
        return a

    other = Agent(name="other")
    agent = Agent(name="helper", instructions="Be brief.", model=scripted(), tools=[add], handoffs=[other])
    with recorder(hooks):
        go_run(agent)
    assert found == [("Be brief.", [text("user", ASK)], ["add", "transfer_to_other"], Reply.text)]


def go_run(agent: Any, **more: Any) -> Any:
    return go(run, agent, **more)


# ------------------------------------------------------------------------------------------------ rewritten


@apis
@both_ways
def test_rewritten_messages_system_and_model(way: Way, kind: Any) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[text("user", "Wave.")], system="Be kind.", model="gpt-4.1")

    with recorder(hooks) as seen:
        result = go(way, Agent(name="helper", instructions="Be brief.", model=scripted(body, kind=kind)))
    [request] = body.seen
    assert request.body["model"] == "gpt-4.1"
    assert ASK not in str(request.body)
    assert "Be brief." not in str(request.body)
    assert "Wave." in str(sent(body))
    assert "Be kind." in str(request.body)
    assert (seen.spans[0].attributes or {})["gen_ai.request.model"] == "gpt-4.1"
    assert result.input == ASK  # the run is still about what it was given


def test_a_model_that_passes_no_settings_on_keeps_its_own() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call", fail_mode="closed")
    def rewrite(op: Operation) -> None:
        op.replace(model="another")

    with recorder(hooks), pytest.raises(Reject, match="failed"):
        go_run(Agent(name="helper", model=OwnModel(body)))
    assert body.runs == 0


# ------------------------------------------------------------------------------------------------ answered


def _response() -> Any:
    return Response.model_validate(bodies.response({"model": "x"}, Reply(text="From a hook.")))


ANSWERS: dict[str, Any] = {
    "text": lambda: "From a hook.",
    "messages": lambda: [text("assistant", "From a hook.")],
    "a response of OpenAI's": _response,
    "a response of the SDK's": lambda: ModelResponse(output=_response().output, usage=Usage(), response_id=None),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@apis
@both_ways
def test_answered_by_a_hook(way: Way, kind: Any, answer: Any) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def reply(op: Operation) -> None:
        op.respond(answer())

    with recorder(hooks) as seen:
        result = go(way, Agent(name="helper", model=scripted(body, kind=kind)))
    assert body.runs == 0
    assert result.final_output == "From a hook."
    assert seen.operations[0].response.text == "From a hook."
    assert seen.operations[-1].usage.total_tokens == 0
    assert all(isinstance(one, ModelResponse) for one in result.raw_responses)
    assert "spanhook" not in str(result.to_input_list())


@both_ways
def test_an_answer_that_calls_a_tool_is_carried_out(way: Way) -> None:
    hooks, body = Hooks(), Body()
    ran: list[int] = []

    @agents.function_tool
    def add(a: int) -> str:
        ran.append(a)
        return "added"

    @hooks.before("llm.call")
    def reply(op: Operation) -> None:
        if not ran:
            call = {"type": "tool_call", "id": "call_7", "name": "add", "arguments": {"a": 1}}
            op.respond([{"role": "assistant", "parts": [call]}])

    with recorder(hooks):
        go(way, Agent(name="helper", model=scripted(body), tools=[add]))
    assert ran == [1]
    assert [one["call_id"] for one in body.seen[0].body["input"] if "call_id" in one] == ["call_7", "call_7"]


# ------------------------------------------------------------------------------------------------ streams


SECRET = Reply.text.split()[0]


class Masking(Hook):
    """Rewrites a word in text, as it streams and in whole answers."""

    kinds = ("llm.call",)
    fail_mode = "closed"
    stream = "window"
    window = len(SECRET)

    def text(self, op: Operation, text: str) -> str:
        return text.replace(SECRET, "XX")

    def after(self, op: Operation) -> None:
        said = op.response.text
        if SECRET in said:
            op.respond(self.text(op, said))


class Holding(Hook):
    """Rewrites a word in whole answers, for which streams wait."""

    kinds = ("llm.call",)
    stream = "buffer"

    def after(self, op: Operation) -> None:
        op.respond(op.response.text.replace(SECRET, "XX"))


class Ends(RunHooks[Any]):
    def __init__(self) -> None:
        self.heard: list[Any] = []

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self.heard.append(response)


@pytest.mark.parametrize("masking", [Masking, Holding])
@apis
def test_streamed_text_is_rewritten_wherever_it_goes(masking: Any, kind: Any) -> None:
    hooks, native, session = Hooks(), Ends(), SQLiteSession("conversation")
    hooks.add(masking())
    events: list[Any] = []

    async def read() -> Any:
        result = Runner.run_streamed(
            Agent(name="helper", model=scripted(kind=kind)), ASK, hooks=native, session=session
        )
        events.extend([event async for event in result.stream_events()])
        return result, await session.get_items()

    with recorder(hooks) as seen:
        result, kept = asyncio.run(hanging_up(read()))
    session.close()
    places = [events, native.heard, result.final_output, result.new_items, result.raw_responses]
    for place in (*places, result.to_input_list(), kept, seen.operations[-1].response.text):
        assert "XX" in str(place)
        assert SECRET not in str(place)


# ------------------------------------------------------------------------------------------------ errors and retries


@both_ways
def test_an_error_of_the_provider_is_one_of_the_call_and_of_the_run(way: Way) -> None:
    body = Body(fault=Fault("status 500", status=500))
    with recorder() as seen, pytest.raises(InternalServerError):
        go(way, Agent(name="helper", model=scripted(body)))
    assert body.runs == 1
    assert told(seen) == [("llm.call", "gpt-4o-mini", "error"), ("agent.invoke", "helper", "error")]


if hasattr(agents, "ModelRetrySettings"):

    @both_ways
    def test_what_the_runner_retries_is_a_call_each(way: Way) -> None:
        hooks, body = Hooks(), Body(fault=Fault("status 500", status=500))
        asked: list[str] = []

        @hooks.before("llm.call")
        def look(op: Operation) -> None:
            asked.append(op.model)
            if len(asked) == 2:
                body.fault = None

        backoff = agents.ModelRetryBackoffSettings(initial_delay=0, jitter=False)
        retry = agents.ModelRetrySettings(
            max_retries=2, backoff=backoff, policy=agents.retry_policies.http_status([500])
        )
        with recorder(hooks) as seen:
            go(way, Agent(name="helper", model=scripted(body), model_settings=ModelSettings(retry=retry)))
        assert body.runs == len(asked) == 2
        assert [status for *_, status in told(seen)] == ["error", "success", "success"]
        assert seen.operations[-1].usage.llm_calls == 2

    @both_ways
    def test_what_a_hook_refuses_is_not_retried(way: Way) -> None:
        hooks, body = Hooks(), Body()
        asked: list[str] = []

        @hooks.before("llm.call")
        def refuse(op: Operation) -> None:
            asked.append(op.model)
            raise Reject("no")

        backoff = agents.ModelRetryBackoffSettings(initial_delay=0, jitter=False)
        policy = agents.retry_policies.any(
            agents.retry_policies.network_error(), agents.retry_policies.provider_suggested()
        )
        retry = agents.ModelRetrySettings(max_retries=3, backoff=backoff, policy=policy)
        with recorder(hooks), pytest.raises(Reject):
            go(way, Agent(name="helper", model=scripted(body), model_settings=ModelSettings(retry=retry)))
        assert len(asked) == 1
        assert body.runs == 0


# ------------------------------------------------------------------------------------------------ own models


class Wrapping(Model):
    """Passes calls on."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return await self.inner.get_response(*args, **kwargs)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async for event in self.inner.stream_response(*args, **kwargs):
            yield event


@both_ways
def test_a_model_around_another_counts_nothing_again(way: Way) -> None:
    """Hooks see each, as they may be about the model that only the inner one knows."""
    body = Body()
    with recorder() as seen:
        go(way, Agent(name="helper", model=Wrapping(Wrapping(scripted(body)))))
    assert told(seen)[0] == ("llm.call", "gpt-4o-mini", "success")
    assert seen.operations[-1].usage.total_tokens == body.tokens > 0
    assert seen.operations[-1].usage.llm_calls == body.runs == 1


class Collecting(OwnModel):
    """One method is made of the other."""

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        async for event in self.stream_response(*args, **kwargs):
            if event.type == "response.completed":
                usage = Usage(requests=1, input_tokens=event.response.usage.input_tokens)
                return ModelResponse(output=event.response.output, usage=usage, response_id=None)
        raise AssertionError("no end")


def test_a_method_made_of_the_other_is_one_call() -> None:
    body = Body()
    with recorder() as seen:
        go_run(Agent(name="helper", model=Collecting(body)))
    assert told(seen) == [("llm.call", "own", "success"), ("agent.invoke", "helper", "success")]
    assert seen.operations[-1].usage.llm_calls == body.runs == 1


@both_ways
def test_one_without_a_client_stands_alone(way: Way) -> None:
    body = Body()
    with recorder() as seen:
        go(way, Agent(name="helper", model=OwnModel(body)))
    assert told(seen) == [("llm.call", "own", "success"), ("agent.invoke", "helper", "success")]
    assert seen.operations[-1].usage.total_tokens == body.tokens > 0
    assert (seen.spans[0].attributes or {})["gen_ai.provider.name"] == "ownmodel"


class Provider(ModelProvider):
    def __init__(self, model: Model) -> None:
        self.model = model

    def get_model(self, model_name: str | None) -> Model:
        return self.model


@both_ways
def test_whoever_provides_it(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    config = RunConfig(model="whatever", model_provider=Provider(scripted(body)))
    with recorder(hooks), pytest.raises(Reject):
        go(way, Agent(name="helper"), run_config=config)
    assert body.runs == 0


@both_ways
def test_one_defined_while_instrumented(way: Way) -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with recorder(hooks):

        class Late(OwnModel):
            async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
                body.run("late")
                return await super().get_response(*args, **kwargs)

            async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                body.run("late")
                async for event in super().stream_response(*args, **kwargs):
                    yield event

        with pytest.raises(Reject):
            go(way, Agent(name="helper", model=Late(body)))
    assert body.runs == 0
