"""Clients that are no ``BaseChatClient``: one call where an agent asks them, whatever they do."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.agent_framework_ways import (
    AGENT_WAYS,
    ASK,
    Own,
    agent,
    framework,
    other_agent,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


async def test_what_a_hook_sees_and_makes_of_a_request() -> None:
    body, hooks, seen = Body(), Hooks(), list[Any]()

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        seen.append((op.name, op.request.messages[0]["parts"][0]["content"]))
        op.replace(messages=[{"role": "user", "content": "Greet me."}], system="Be long.")

    made = other_agent(body)
    session = made.create_session()
    with recorder(hooks):
        await made.run(ASK, session=session)
    assert (seen, body.seen) == ([("other", ASK)], [["Greet me."]])
    assert [one.text for one in session.state["in_memory"]["messages"]] == [ASK, Reply.text]


@pytest.mark.parametrize("way", AGENT_WAYS)
async def test_one_that_passes_on_to_a_client_is_a_call_around_it_counted_once(way: str) -> None:
    body, hooks, totals = Body(), Hooks(), list[int]()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.total_tokens))

    class Routing:
        model = "router"

        def __init__(self) -> None:
            self.additional_properties, self.inner = dict[str, Any](), Own(body)

        def get_response(self, messages: Any, **given: Any) -> Any:
            return self.inner.get_response(messages, **given)

    with recorder(hooks) as seen:
        assert await AGENT_WAYS[way](agent(Routing())) == Reply.text
    own = [one.name for one in seen.spans if (one.attributes or {}).get("spanhook.kind")]
    assert own == ["chat router", "chat router", "invoke_agent helper"]  # the agent passes on the name of its client's
    assert totals == [Tokens().total]


async def test_a_refused_one_is_not_asked() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("llm.call", models={"other"})
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        await other_agent(body).run(ASK)
    assert body.runs == 0
    assert not isinstance(other_agent(body).client, framework.BaseChatClient)
