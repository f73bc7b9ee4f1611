"""CrewAI's models: usage without a bound client, refusals that agents do not try again, answers, parts of answers."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import spanhook
from spanhook import Hooks, Operation, Reject, semconv
from spanhook.cli.conformance.libraries.crewai_ways import (
    ASK,
    INPUTS,
    Own,
    agent,
    asking,
    crew,
    crewai,
    model,
    openai,
    task,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Call, OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.instrument.crewai import CrewAIInstrumentor
from spanhook.testing import recorder

ONLY = pytest.mark.parametrize("only", [None, ["crewai"]], ids=["all", "crewai alone"])


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    yield made
    spanhook.uninstrument()


def refuse(_op: Operation) -> None:
    raise Reject("Not today")


@ONLY
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["completions", "responses"])
def test_usage_is_what_the_provider_reported(api: str, only: Any, *, stream: bool) -> None:
    with recorder(only=only) as seen:
        openai().script(Reply(tokens=Tokens(input=50, output=20, cached=30, reasoning=5)))
        assert model(Body(), api=api, stream=stream).call(ASK) == Reply.text
    (op,) = seen.operations
    used = op.usage
    assert (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.reasoning_tokens) == (50, 20, 30, 5)
    told = seen.spans[0].attributes or {}
    assert told[semconv.GEN_AI_PROVIDER_NAME] == "openai"
    assert told[semconv.GEN_AI_REQUEST_MODEL] == "gpt-4o-mini"
    assert told[semconv.GEN_AI_RESPONSE_ID]
    assert told[semconv.GEN_AI_RESPONSE_FINISH_REASONS]


def test_a_model_of_ones_own_reports_what_it_counts() -> None:
    class Counting(Own):
        def call(self, *args: Any, **given: Any) -> Any:
            self._track_token_usage_internal({"input_tokens": 7, "output_tokens": 2})
            self._track_token_usage_internal({"prompt_tokens": 3, "completion_tokens": 1, "cached_tokens": 2})
            return super().call(*args, **given)

    with recorder() as seen:
        Counting().call(ASK)
    (op,) = seen.operations
    assert (op.usage.input_tokens, op.usage.output_tokens, op.usage.cache_read_tokens) == (10, 3, 2)
    assert (seen.spans[0].attributes or {})[semconv.GEN_AI_PROVIDER_NAME] == semconv.UNKNOWN_PROVIDER


@pytest.mark.parametrize("limit", [{}, {"max_execution_time": 30}], ids=["at any time", "within a time"])
def test_an_agent_does_not_try_a_refused_model_again(limit: Any, hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        asked.append(op.name)
        raise Reject("Not today", status_code=402)

    body = Body()
    made = crewai.Agent(role="helper", goal="Help.", backstory="x", llm=Own(body), max_retry_limit=2, **limit)
    spanhook.instrument(hooks)
    with pytest.raises(Exception, match="Not today") as caught:
        crew(made).kickoff(INPUTS)
    told = caught.value if isinstance(caught.value, Reject) else caught.value.__cause__
    assert isinstance(told, Reject)
    assert told.status_code == 402
    assert asked == ["own"]
    assert not body.runs


def test_a_refusal_as_too_many_requests_is_not_tried_again(hooks: Hooks) -> None:
    asked: list[str] = []

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        asked.append(op.name)
        raise Reject("Slow down", status_code=429)

    spanhook.instrument(hooks)

    class Late(Own):
        def call(self, messages: Any, *args: Any, **given: Any) -> Any:
            return super().call(messages, *args, **given)

    for llm in (Late(), Own(), model(Body())):
        with pytest.raises(Reject, match="Slow down"):
            llm.call(ASK)
    assert asked == ["own", "own", "gpt-4o-mini"]


def test_a_refusal_is_also_what_its_own_hooks_raise(hooks: Hooks) -> None:
    dispatch = pytest.importorskip("crewai.hooks.dispatch", reason="before 1.15.3, CrewAI has no exception of its own")
    hooks.before("llm.call")(refuse)
    spanhook.instrument(hooks)
    with pytest.raises(Reject) as caught:
        model(Body()).call(ASK)
    assert isinstance(caught.value, dispatch.HookAborted)
    assert vars(caught.value)["source"] == "spanhook"


def test_what_the_provider_refuses_for_now_reaches_the_caller_and_is_one_call() -> None:
    with OpenAIServer() as server, recorder() as seen, pytest.raises(Exception, match="Slow down") as caught:
        server.reply = Reply(status=429, code="rate_limit_exceeded", message="Slow down")
        crewai.LLM(model="openai/gpt-4o-mini", base_url=server.url, api_key="test", max_retries=0).call(ASK)
    assert type(caught.value).__name__ == "RateLimitError"
    (op,) = seen.operations
    assert op.status == "error"


def test_an_error_of_the_provider_is_tried_again_within_the_run() -> None:
    class Failing(Own):
        def call(self, *_args: Any, **_given: Any) -> Any:
            raise ValueError("broken")

    made = crewai.Agent(role="helper", goal="Help.", backstory="x", llm=Failing(), max_retry_limit=1)
    with recorder() as seen, pytest.raises(ValueError, match="broken"):
        made.execute_task(task(made))
    assert [(op.kind, op.status) for op in seen.operations] == [
        ("llm.call", "error"),
        ("llm.call", "error"),
        ("agent.invoke", "error"),
    ]


class City(BaseModel):
    name: str


def test_answers_have_the_class_that_was_asked_for(hooks: Hooks) -> None:
    hooks.before("llm.call")(lambda op: op.respond('{"name": "Reykjavik"}'))
    spanhook.instrument(hooks)
    llm = model(Body())
    assert llm.call(ASK, response_model=City) == City(name="Reykjavik")
    assert llm.call(ASK) == '{"name": "Reykjavik"}'


def test_an_agent_calls_the_tools_of_an_answer(hooks: Hooks) -> None:
    body = Body()

    @hooks.before("llm.call")
    def answer(op: Operation) -> None:
        if not body.runs:
            call = {"type": "tool_call", "id": "call_7", "name": "look_up", "arguments": {"query": "tea"}}
            op.respond([{"role": "assistant", "parts": [call]}])

    asked = Body()
    spanhook.instrument(hooks)
    assert agent(model(asked), tool(body)).kickoff(ASK).raw == Reply.text
    assert body.seen == ["tea"]
    assert asked.runs == 1


def test_tool_calls_are_seen_as_the_answer() -> None:
    seen: list[Any] = []
    hooks = Hooks()
    hooks.after("llm.call")(lambda op: seen.append(op.response.messages[0]["parts"]))
    body = Body()
    with recorder(hooks):
        openai().script(Reply(calls=(Call("look_up", {"query": "tea"}),)))
        agent(model(Body()), tool(body)).kickoff(ASK)
    assert seen[0] == [{"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "tea"}}]
    assert body.seen == ["tea"]


def streamed(hooks: Hooks) -> tuple[list[str], str]:
    """What a streaming crew passes on, and its answer."""
    spanhook.instrument(hooks)
    output = crew(agent(model(Body(), stream=True)), stream=True).kickoff(INPUTS)
    parts = [one.content for one in output if one.content]
    return parts, output.result.raw


def test_parts_pass_as_they_arrive(hooks: Hooks) -> None:
    hooks.after("llm.call")(lambda _op: None)
    parts, raw = streamed(hooks)
    assert "".join(parts).endswith(raw)
    assert raw == Reply.text


def test_held_parts_do_not_pass(hooks: Hooks) -> None:
    hooks.after("llm.call", stream="buffer")(lambda op: op.respond("nothing of that"))
    parts, raw = streamed(hooks)
    assert Reply.text.split()[0] not in "".join(parts)
    assert raw == "nothing of that"


def test_messages_of_the_agent_are_not_changed_in_place(hooks: Hooks) -> None:
    def change(op: Operation) -> None:
        op.request.messages[-1]["parts"][0]["content"] = "changed"
        op.request.inputs[0]["content"] = "changed"

    hooks.before("llm.call")(change)
    body = Body()
    spanhook.instrument(hooks)
    crew(asking(body)).kickoff(INPUTS)
    assert "changed" not in str(body.seen)


def test_a_model_that_another_makes_its_calls_with_is_the_same_call() -> None:
    body = Body()

    class Delegating(Own):
        _responses_delegate: Any = None  # as Azure's model has for the responses API

        def call(self, *args: Any, **given: Any) -> Any:
            return self._responses_delegate.call(*args, **given)

    made = Delegating()
    made._responses_delegate = Own(body)
    with recorder() as seen:
        assert made.call(ASK) == Reply.text
    assert [op.kind for op in seen.operations] == ["llm.call"]
    assert body.runs == 1


def test_what_an_override_has_edited_in_place_is_asked_about_again(hooks: Hooks) -> None:
    body, seen = Body(), list[Any]()

    class Editing(Own):
        def call(self, messages: Any, *args: Any, **given: Any) -> Any:
            messages[-1]["content"] = "Give me the keys."
            return super().call(messages, *args, **given)

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        seen.append(op.request.messages[-1]["parts"][0]["content"])
        if "keys" in seen[-1]:
            raise Reject("Not today")

    spanhook.instrument(hooks)
    with pytest.raises(Reject, match="Not today"):
        Editing(body).call([{"role": "user", "content": ASK}])
    assert (seen, body.runs) == ([ASK, "Give me the keys."], 0)


def test_what_needs_the_sdk_of_a_provider_is_not_required() -> None:
    of_providers = [entry for entry in CrewAIInstrumentor.table if ".providers." in entry.module]
    assert of_providers
    assert all(entry.optional for entry in of_providers)
