"""A small application over HTTP: an agent with tools, an agent inside a tool, a typed output; with spanhook and without."""

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_scripts import client_of
from spanhook.cli.conformance.servers.openai_replies import Call, Reply
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import recorder
from tests.instrument.pydantic_ai.scripted import ASK, Way, all_ways, go, told


class Order(BaseModel):
    number: int
    state: str


Make = Callable[[Any], Any]


def chat(server: OpenAIServer) -> Any:
    return OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=client_of(server.url)))


def responses(server: OpenAIServer) -> Any:
    return OpenAIResponsesModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=client_of(server.url)))


APIS: list[tuple[Any, Make]] = [(OpenAIServer, chat), (OpenAIServer, responses)]
if find_spec("anthropic") is not None:
    from spanhook.cli.conformance.libraries.pydantic_ai_anthropic import model_at
    from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer

    APIS.append((AnthropicServer, lambda server: model_at(server.url)))

apis = pytest.mark.parametrize("api", APIS, ids=["chat", "responses", "anthropic"][: len(APIS)])


class Application:
    """An agent that looks an order up, asks another agent what its state means, and gives a typed answer."""

    def __init__(self, api: tuple[Any, Make]) -> None:
        self.kind, self.make = api
        self.did: list[Any] = []

    @contextmanager
    def running(self) -> Generator[Any, None, None]:
        with self.kind() as server:
            server.script(
                Reply(calls=(Call("look_up", {"number": 7}),)),
                Reply(calls=(Call("explain", {"state": "paid"}, "call_2"),)),
                "It has been paid for.",
                Reply(calls=(Call("final_result", {"number": 7, "state": "paid"}, "call_3"),)),
            )
            self.server = server
            yield self._build(self.make(server))

    def _build(self, model: Any) -> Agent[Any, Order]:
        clerk = Agent(model, name="clerk", instructions="Explain.")
        agent = Agent(model, name="desk", instructions="Be brief.", output_type=Order)

        @agent.tool_plain
        def look_up(number: int) -> dict[str, Any]:
            """Look an order up."""
            self.did.append(number)
            return {"number": number, "state": "paid"}

        @agent.tool_plain
        async def explain(state: str) -> str:
            """Explain a state."""
            return (await clerk.run(state)).output

        return agent


@apis
@all_ways
def test_everything_is_counted_once(api: Any, way: Way) -> None:
    application = Application(api)
    with recorder() as seen, application.running() as agent:
        assert go(way, agent) == Order(number=7, state="paid")
    assert [(kind, name) for kind, name, _ in told(seen) if kind != "llm.call"] == [
        ("tool.execute", "look_up"),
        ("agent.invoke", "clerk"),
        ("tool.execute", "explain"),
        ("agent.invoke", "desk"),
    ]
    assert len(application.server.requests) == 4
    assert [kind for kind, _, _ in told(seen)].count("llm.call") == 4
    assert {status for _, _, status in told(seen)} == {"success"}
    assert seen.operations[-1].usage.total_tokens == 4 * Reply.tokens.total


@apis
@all_ways
def test_hooks_change_nothing_that_they_do_not_decide(api: Any, way: Way) -> None:
    sent: list[Any] = []
    for hooked in (False, True):
        application, hooks = Application(api), Hooks()

        @hooks.around("*")
        def look(op: Operation) -> Iterator[None]:
            assert op.request.messages is not None
            yield

        with application.running() as agent:
            if hooked:
                with recorder(hooks):
                    go(way, agent)
            else:
                go(way, agent)
        sent.append([_without_ids(seen.body) for seen in application.server.requests])
    assert sent[0] == sent[1]


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_ids(one) for name, one in value.items() if "id" not in name}
    return [_without_ids(one) for one in value] if isinstance(value, list) else value


@apis
@all_ways
def test_a_refused_tool_goes_back_to_the_model(api: Any, way: Way) -> None:
    application, hooks = Application(api), Hooks()

    @hooks.before("tool.execute", names={"look_up"})
    def refuse(op: Operation) -> None:
        raise Reject("not this order")

    with recorder(hooks) as seen, application.running() as agent:
        assert go(way, agent) == Order(number=7, state="paid")
    assert application.did == []
    assert "Tool call rejected: not this order" in str(application.server.requests[1].body)
    assert [kind for kind, _, _ in told(seen)].count("llm.call") == 4


@apis
def test_a_run_that_the_inner_agent_ends(api: Any) -> None:
    application, hooks = Application(api), Hooks()

    @hooks.before("llm.call", agents={"clerk"})
    def refuse(op: Operation) -> None:
        raise Reject("no clerk today", scope="run")

    with recorder(hooks) as seen, application.running() as agent, pytest.raises(Reject, match="no clerk today"):
        asyncio.run(agent.run(ASK))
    assert len(application.server.requests) == 2
    assert told(seen)[-1] == ("agent.invoke", "desk", "rejected")
