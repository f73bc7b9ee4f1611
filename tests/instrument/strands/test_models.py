"""Models: what hooks see of a request and make of it, answers, structured output, what is sent on."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, Usage
from spanhook.cli.conformance.libraries.strands_ways import ASK, City, Own, agent, events, openai_model
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import RAISED, Body
from spanhook.testing import recorder


def test_what_a_hook_sees_of_a_request() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        seen.append((op.name, op.request.system, op.request.messages, op.request.tools))

    with recorder(hooks):
        agent(Own(), system_prompt="Be brief.")(ASK)
    assert seen == [("own", "Be brief.", [{"role": "user", "parts": [{"type": "text", "content": ASK}]}], [])]


def test_a_rewritten_request_arrives() -> None:
    body, hooks = Body(), Hooks()
    given = list[Any]()

    class Listening(Own):
        def stream(self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **more: Any) -> Any:
            given.append((system_prompt, more.get("system_prompt_content")))
            return super().stream(messages, tool_specs, system_prompt, **more)

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(messages=[{"role": "user", "content": "Greet me."}], system="Be long.")

    with recorder(hooks) as seen:
        made = agent(Listening(body), system_prompt="Be brief.")
        made(ASK)
    assert body.seen == [[{"role": "user", "content": [{"text": "Greet me."}]}]]
    assert given == [("Be long.", [{"text": "Be long."}])]
    assert made.messages[0]["content"] == [{"text": ASK}]
    assert [one.name for one in seen.spans] == ["chat own", "invoke_agent helper"]


def test_an_answer_may_call_a_tool() -> None:
    body, hooks = Body(), Hooks()
    calls = list[str]()

    @hooks.around("llm.call")
    def answer(op: Operation) -> Any:
        if not calls:
            calls.append("asked")
            part = {"type": "tool_call", "id": "call_1", "name": "unknown", "arguments": {"query": "tea"}}
            return [{"role": "assistant", "parts": [part]}]
        return (yield)

    with recorder(hooks):
        made = agent(Own(body))
        made(ASK)
    assert body.runs == 1
    assert [next(iter(one["content"][0])) for one in made.messages] == ["text", "toolUse", "toolResult", "text"]


def test_the_tokens_of_an_answer_that_was_replaced_are_counted() -> None:
    used, hooks = list[int](), Hooks()
    hooks.after("agent.invoke")(lambda op: used.append(op.usage.input_tokens))

    @hooks.around("llm.call", stream="buffer")
    def replace(op: Operation) -> Any:
        yield
        return "something else"

    with recorder(hooks):
        result = agent(Own(Body()))(ASK)
    assert str(result).strip() == "something else"
    assert used == [Tokens().input]


class Cached(Own):
    """A model that reports what was read from a cache, and written to it."""

    def __init__(self, read: int = 4, written: int = 0) -> None:
        super().__init__()
        self.cached = {"cacheReadInputTokens": read, "cacheWriteInputTokens": written}

    async def stream(self, messages: Any, *_args: Any, **_given: Any) -> AsyncIterator[Any]:
        for event in events("hi", Tokens()):
            if "metadata" in event:
                event["metadata"]["usage"].update(self.cached)
            yield event


def test_cached_tokens_are_part_of_the_input() -> None:
    used, hooks = list[tuple[int, int]](), Hooks()
    hooks.after("llm.call")(lambda op: used.append((op.usage.input_tokens, op.usage.cache_read_tokens)))
    with recorder(hooks):
        agent(Cached())(ASK)
    assert used == [(Tokens().input, 4)]


@pytest.mark.parametrize(("read", "written"), [(Tokens().input + 1, 0), (3, Tokens().input - 2), (0, 1000)])
def test_cached_tokens_that_are_no_part_of_the_input_are_added_to_it(read: int, written: int) -> None:
    used, hooks = list[Usage](), Hooks()
    hooks.after("llm.call")(lambda op: used.append(op.usage))
    with recorder(hooks):
        agent(Cached(read, written))(ASK)
    (one,) = used
    assert (one.cache_read_tokens, one.cache_write_tokens) == (read, written)
    assert one.input_tokens == Tokens().input + read + written


# ------------------------------------------------------------------------------------------------- routers


class Named(Own):
    """A model with a name."""

    def __init__(self, named: str, body: Body) -> None:
        super().__init__(body)
        self.named = named

    def get_config(self) -> Any:
        return {"model_id": self.named}


def routed(*bodies: Body) -> Any:
    """An agent whose models are tried one after the other."""
    routers = pytest.importorskip("strands.models.routing", reason="this version has no routers")
    return agent(routers.ModelRouter([Named(f"model {place}", body) for place, body in enumerate(bodies)]))


def test_no_other_model_makes_up_for_a_refusal() -> None:
    bodies, calls, hooks = (Body(), Body(), Body()), list[str | None](), Hooks()
    made = routed(*bodies)

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        calls.append(op.name)
        if op.name == "model 0":
            raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        made(ASK)
    assert calls == ["model 0"]
    assert [body.runs for body in bodies] == [0, 0, 0]


def test_another_model_makes_up_for_one_that_fails() -> None:
    bodies, hooks = (Body(fault=RAISED), Body(), Body()), Hooks()
    made = routed(*bodies)
    with recorder(hooks) as seen:
        assert str(made(ASK)).strip() == Reply.text
    assert [one.name for one in seen.spans] == ["chat model 0", "chat model 1", "invoke_agent helper"]


# ------------------------------------------------------------------------------------------------- LiteLLM's names


@pytest.mark.parametrize(
    ("named", "provider", "model"),
    [
        ("gpt-4o", "openai", "gpt-4o"),
        ("azure_ai/phi-4", "azure.ai.inference", "phi-4"),
        ("bedrock/converse/amazon.nova-lite-v1:0", "aws.bedrock", "amazon.nova-lite-v1:0"),
        ("huggingface/org/model", "huggingface", "org/model"),
        ("vertex_ai/gemini-2.5-pro", "gcp.vertex_ai", "gemini-2.5-pro"),
        ("xai/grok-4", "x_ai", "grok-4"),
    ],
)
def test_litellms_names_of_models(named: str, provider: str, model: str) -> None:
    class Lite(Own):
        """A model that comes from the library's module for LiteLLM."""

        __module__ = "strands.models.litellm"

        def get_config(self) -> Any:
            return {"model_id": named}

    with recorder(Hooks()) as seen:
        agent(Lite())(ASK)
    attributes = seen.spans[0].attributes or {}
    assert (attributes["gen_ai.provider.name"], attributes["gen_ai.request.model"]) == (provider, model)


# ------------------------------------------------------------------------------------------------- structured output


async def structured(model: Any) -> Any:
    asked = [{"role": "user", "content": [{"text": ASK}]}]
    return [one["output"] async for one in model.structured_output(City, asked) if "output" in one]


@pytest.mark.anyio
async def test_structured_output_is_one_call() -> None:
    body, hooks = Body(), Hooks()
    with recorder(hooks) as seen:
        (city,) = await structured(Own(body))
    assert (type(city), body.runs) == (City, 1)
    assert [one.name for one in seen.spans] == ["chat own"]


@pytest.mark.anyio
async def test_structured_output_can_be_refused_and_answered() -> None:
    body, hooks = Body(), Hooks()

    @hooks.around("llm.call")
    def answer(op: Operation) -> Any:
        return {"city": "Reykjavik"}
        yield

    with recorder(hooks):
        assert await structured(Own(body)) == [City(city="Reykjavik")]
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        await structured(Own(body))
    assert body.runs == 0


def test_an_agents_structured_output_is_a_run() -> None:
    body, hooks = Body(), Hooks()
    with recorder(hooks) as seen:
        made = agent(Own(body)).structured_output(City, ASK)
    assert (type(made), body.runs) == (City, 1)
    assert [one.name for one in seen.spans] == ["chat own", "invoke_agent helper"]


def test_the_request_of_a_client_is_its_transport() -> None:
    pytest.importorskip("openai", reason="a client that the library works with")
    body, used, hooks = Body(), list[int](), Hooks()
    hooks.after("llm.call")(lambda op: used.append(op.usage.total_tokens))
    with recorder(hooks) as seen:
        agent(openai_model(body))(ASK)
    assert used == [body.tokens]
    attributes = seen.spans[0].attributes or {}
    assert attributes["gen_ai.provider.name"] == "openai"
