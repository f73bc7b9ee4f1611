"""Models: what hooks see of a request and make of it, answers, planning, streams, what is sent on."""

import inspect
from typing import Any

import pytest

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.smolagents_ways import (
    ANSWERS,
    ASK,
    FOUND,
    CodeAgent,
    Own,
    agent,
    code,
    messages,
    openai_model,
    smolagents,
    tool,
    using,
)
from spanhook.cli.conformance.servers.openai_server import OpenAIServer, Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

models: Any = smolagents.models


def test_what_a_hook_sees_of_a_request() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.messages[-1], op.request.tools, bool(op.request.system)))

    with recorder(hooks) as recorded:
        agent(Own(None, ANSWERS), tool(Body())).run(ASK)
    task = {"role": "user", "parts": [{"type": "text", "content": f"New task:\n{ASK}"}]}
    assert seen == [("own", task, ["look_up", "final_answer"], True)]
    attributes = recorded.spans[0].attributes or {}
    assert attributes["gen_ai.request.stop_sequences"] == ("Observation:", "Calling tools:")


def test_parameters_and_provider_are_on_the_span() -> None:
    pytest.importorskip("openai", reason="a client that the library works with")
    with recorder(Hooks()) as seen:
        openai_model(Body()).generate(messages(), temperature=0.5, max_tokens=20)
    (span,) = seen.spans
    attributes = span.attributes or {}
    assert span.name == "chat gpt-4o-mini"
    assert attributes["gen_ai.provider.name"] == "openai"
    assert attributes["gen_ai.request.temperature"] == 0.5
    assert attributes["gen_ai.request.max_tokens"] == 20


def test_a_rewritten_request_arrives_and_what_is_kept_is_the_same_object() -> None:
    body, hooks, given = Body(), Hooks(), messages() * 2

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[op.request.messages[0], {"role": "user", "content": "Greet me."}], system="Be long.")

    with recorder(hooks):
        Own(body).generate(given)
    (arrived,) = body.seen
    assert [(one.role.value, one.content) for one in arrived] == [
        ("system", [{"type": "text", "text": "Be long."}]),
        ("user", [{"type": "text", "text": ASK}]),
        ("user", [{"type": "text", "text": "Greet me."}]),
    ]
    assert arrived[1] is given[0]
    assert all(type(one) is models.ChatMessage for one in arrived)


def _with_tea(message: Any) -> Any:
    parts = [
        {**part, "content": part["content"].replace("leaves", "tea")} if part["type"] == "text" else part
        for part in message["parts"]
    ]
    return {**message, "parts": parts}


def test_messages_of_tools_keep_their_role() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[_with_tea(one) for one in op.request.messages])

    made = using(tool)(Body())
    made.model = Own(body, [("look_up", {"query": "tea"})], "")
    with recorder(hooks):
        assert FOUND.replace("leaves", "tea") in made.run(ASK)
    roles = [one.role.value for one in body.seen[1]]
    assert "tool-response" in roles


@pytest.mark.parametrize("streams", [False, True])
def test_an_answer_may_call_a_tool(streams: bool) -> None:
    body, counted, hooks, calls = Body(), Body(), Hooks(), list[str]()

    @hooks.around("llm.call")
    def answer(op: Operation) -> Any:
        if not calls:
            calls.append("")
            called = {"type": "tool_call", "id": "call_1", "name": "look_up", "arguments": {"query": "tea"}}
            return {"role": "assistant", "parts": [called]}
        return (yield)

    made = agent(Own(body, ANSWERS), tool(counted), stream_outputs=False)
    if streams:
        made.model.turns = ('{"name": "final_answer", "arguments": {"answer": "hello there friend"}}',)
        made.stream_outputs = True
    with recorder(hooks):
        assert made.run(ASK) == Reply.text
    assert (counted.seen, body.runs) == (["tea"], 1)
    assert made.memory.steps[1].observations == FOUND


def test_answers_take_the_form_of_the_library() -> None:
    answers, hooks = ["tea", models.ChatMessage(role="assistant", content="coffee")], Hooks()

    @hooks.around("llm.call")
    def answer(op: Operation) -> Any:
        return answers.pop(0)
        yield

    with recorder(hooks):
        first, second = Own().generate(messages()), Own().generate(messages())
    assert (type(first), first.content, first.token_usage.total_tokens) == (models.ChatMessage, "tea", 0)
    assert second.content == "coffee"


def test_what_is_streamed_can_be_rewritten_and_usage_is_kept() -> None:
    class Rewriting(Hook):
        kinds = ("llm.call",)
        stream = "window"
        window = 10
        fail_mode = "closed"

        def text(self, op: Operation, text: str) -> str:
            return text.replace("there", "dear")

        def after(self, op: Operation) -> None:
            assert op.response.text.strip() == Reply.text.replace("there", "dear")

    hooks, totals = Hooks(), list[int]()
    hooks.add(Rewriting())
    hooks.after("llm.call")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks):
        said = list(Own(Body()).generate_stream(messages()))
    whole = models.agglomerate_stream_deltas(said)
    assert whole.content.strip() == Reply.text.replace("there", "dear")
    assert whole.token_usage.total_tokens == Tokens().total
    assert totals == [Tokens().total]


def test_planning_is_gated_and_counted() -> None:
    body, hooks, totals = Body(), Hooks(), list[int]()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks) as seen:
        assert agent(Own(body, "A plan.", ANSWERS), planning_interval=3).run(ASK) == Reply.text
    assert [span.name for span in seen.spans] == [
        *("chat own", "chat own", "execute_tool final_answer", "invoke_agent helper")
    ]
    assert totals == [body.tokens] == [2 * Tokens().total]


def test_a_refused_plan_ends_the_run() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        agent(Own(body, "A plan."), planning_interval=3).run(ASK)
    assert body.runs == 0


@pytest.mark.parametrize("streams", [False, True])
def test_a_refused_call_leaves_the_run_as_rejection_and_as_the_librarys_exception(streams: bool) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today", status_code=451)

    made = agent(Own())
    with recorder(hooks), pytest.raises(Reject, match="not today") as raised:
        result = made.run(ASK, stream=streams)
        if streams:
            list(result)
    assert isinstance(raised.value, smolagents.AgentGenerationError)
    assert raised.value.status_code == 451
    assert "not today" in str(getattr(raised.value, "message", ""))


def test_a_refused_last_answer_is_told_as_the_library_tells_errors() -> None:
    body, hooks, calls = Body(), Hooks(), list[str]()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        calls.append("")
        if len(calls) == 2:
            raise Reject("not today")

    with recorder(hooks):
        said = agent(Own(body, [("look_up", {"query": "tea"})]), tool(Body()), max_steps=1).run(ASK)
    assert "not today" in str(said)
    assert body.runs == 1


def test_a_model_made_of_its_own_stream_is_one_call() -> None:
    class Streaming(Own):
        def generate(self, messages: Any, *args: Any, **given: Any) -> Any:
            return models.agglomerate_stream_deltas(list(self.generate_stream(messages, *args, **given)))

    body, hooks, totals = Body(), Hooks(), list[int]()
    hooks.after("llm.call")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks) as seen:
        assert Streaming(body).generate(messages()).content.strip() == Reply.text
    assert [span.name for span in seen.spans] == ["chat own"]
    assert totals == [body.tokens]


def test_a_router_and_the_model_that_it_asks_are_two_calls_counted_once() -> None:
    body = Body()

    class Router(models.Model):
        def generate(self, messages: Any, **given: Any) -> Any:
            return Own(body).generate(messages, **given)

    hooks, totals = Hooks(), list[int]()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    with recorder(hooks) as seen:
        agent(Router(model_id="router"), max_steps=1).run(ASK)
    assert sum(span.name == "chat own" for span in seen.spans) == body.runs
    assert totals == [body.tokens]


def test_merged_messages_are_still_one_call_over_http() -> None:
    pytest.importorskip("openai", reason="a client that the library works with")
    body, hooks = Body(), Hooks()
    asked = [
        models.ChatMessage(role=models.MessageRole.TOOL_RESPONSE, content=[{"type": "text", "text": "Observed."}]),
        *messages(),
    ]
    with recorder(hooks) as seen:
        openai_model(body).generate(asked)
        list(openai_model(body).generate_stream([*asked, *messages()]))
    assert [span.name for span in seen.spans] == ["chat gpt-4o-mini"] * 2
    assert body.runs == 2
    assert [one["content"][-1]["text"] for given in body.seen for one in given.body["messages"]] == [
        f"Observed.\n{ASK}",
        f"Observed.\n{ASK}\n{ASK}",
    ]


def test_code_is_written_in_a_stream_as_well() -> None:
    body, hooks, totals = Body(), Hooks(), list[int]()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))
    made = agent(Own(body, code("final_answer('all done')")), kind=CodeAgent, stream_outputs=True)
    with recorder(hooks) as seen:
        assert list(made.run(ASK, stream=True))[-1].output == "all done"
    assert [span.name for span in seen.spans] == [
        *("chat own", "execute_tool final_answer", "execute_tool python_interpreter", "invoke_agent helper")
    ]
    assert totals == [body.tokens]


def test_a_stream_is_still_a_generator_that_only_its_class_has() -> None:
    with recorder(Hooks()):
        assert not hasattr(models.Model, "generate_stream")
        assert inspect.isgenerator(Own().generate_stream(messages()))


@pytest.mark.parametrize("streams", [False, True])
def test_what_only_the_client_knows_is_reported(streams: bool) -> None:
    pytest.importorskip("openai", reason="a client that the library works with")
    tokens = Tokens(30, 9, cached=20)
    used, hooks = list[Any](), Hooks()
    hooks.after("agent.invoke")(lambda op: used.append(op.usage))
    text = '{"name": "final_answer", "arguments": {"answer": "hello there friend"}}'
    with OpenAIServer(Reply(text=text, tokens=tokens)) as server, recorder(hooks) as seen:
        model = smolagents.OpenAIServerModel("gpt-4o-mini", api_base=server.url, api_key="test")
        assert agent(model, stream_outputs=streams).run(ASK) == Reply.text
    (total,) = used
    assert (total.input_tokens, total.output_tokens, total.cache_read_tokens) == (30, 9, 20)
    assert not total.estimated
    attributes = seen.spans[0].attributes or {}
    assert attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert attributes["gen_ai.response.id"]


@pytest.mark.parametrize(
    ("kind", "named", "provider", "model"),
    [
        ("LiteLLMModel", "anthropic/claude-x", "anthropic", "claude-x"),
        ("LiteLLMModel", "gemini/gemini-x", "gcp.gemini", "gemini-x"),
        ("LiteLLMModel", "bedrock/converse/claude-x", "aws.bedrock", "claude-x"),
        ("LiteLLMModel", "vertex_ai/gemini-x", "gcp.vertex_ai", "gemini-x"),
        ("LiteLLMModel", "gpt-x", "openai", "gpt-x"),
        ("AzureOpenAIServerModel", "gpt-x", "azure.ai.openai", "gpt-x"),
        ("InferenceClientModel", "org/model-x", "huggingface", "org/model-x"),
    ],
)
def test_providers_and_models_have_the_names_of_the_conventions(
    kind: str, named: str, provider: str, model: str
) -> None:
    class Here(getattr(models, kind)):
        def __init__(self) -> None:
            self.model_id, self.kwargs = named, {}

        def generate(self, *_args: Any, **_given: Any) -> Any:
            return models.ChatMessage(role="assistant", content="tea")

    with recorder(Hooks()) as seen:
        Here().generate(messages())
    (span,) = seen.spans
    attributes = span.attributes or {}
    assert (attributes["gen_ai.provider.name"], attributes["gen_ai.request.model"]) == (provider, model)
