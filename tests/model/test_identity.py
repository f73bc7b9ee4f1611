"""Whose work is done: nesting, inheritance, precedence, baggage."""

import asyncio
from contextvars import copy_context
from typing import Any

import pytest
from opentelemetry import baggage
from opentelemetry import context as otel_context
from opentelemetry.baggage.propagation import W3CBaggagePropagator

from spanhook import Settings, context
from spanhook.cli.conformance.libraries.langgraph import make_graph
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.stub import stubbed


def test_identity_and_attributes_reach_every_span_and_event() -> None:
    with stubbed() as (library, seen), context(tenant_id="acme", user_id="ann", session_id="s1", plan="pro", seats=3):
        library.work("x")
        attributes = seen.spans[0].attributes or {}
        assert attributes["spanhook.tenant.id"] == "acme"
        assert attributes["user.id"] == "ann"
        assert attributes["session.id"] == attributes["gen_ai.conversation.id"] == "s1"
        assert attributes["plan"] == "pro"
        assert attributes["seats"] == 3
        event = seen.events[0]["attributes"]
        assert (event["spanhook.tenant.id"], event["user.id"], event["session.id"]) == ("acme", "ann", "s1")


def test_blocks_nest_and_are_left_as_they_were_found() -> None:
    with context(tenant_id="acme", user_id="ann", plan="pro") as outer:
        with context(user_id="bob", region="eu") as inner:
            assert inner[:3] == ("acme", "bob", "")
            assert dict(inner.attributes) == {"plan": "pro", "region": "eu"}
        with context() as same:
            assert same == outer
    with context() as nothing:
        assert nothing.tenant_id == ""


def test_it_decorates_functions() -> None:
    with stubbed() as (library, seen):

        @context(tenant_id="acme")
        def work() -> Any:
            return library.work("x")

        work()
    assert seen.operations[0].identity.tenant_id == "acme"


def test_concurrent_tasks_do_not_mix() -> None:
    async def one(library: Any, tenant: str) -> None:
        with context(tenant_id=tenant):
            await asyncio.sleep(0)
            await library.awork(tenant)

    async def main() -> list[tuple[str, Any]]:
        with stubbed() as (library, seen):
            await asyncio.gather(*(one(library, f"t{number}") for number in range(50)))
        return [(op.identity.tenant_id, op.result) for op in seen.operations]

    found = asyncio.run(main())
    assert len(found) == 50
    assert all(tenant == result for tenant, result in found)


def test_what_the_application_says_comes_before_what_the_framework_knows() -> None:
    graph = make_graph(Body())
    config: Any = {
        "configurable": {"thread_id": "thread", "user_id": "from config", "tenant_id": "config"},
        "metadata": {"user_id": "from metadata", "plan": "pro"},
        "run_id": "11111111-2222-3333-4444-555555555555",
    }
    with recorder() as seen:
        graph.invoke({"value": "x"}, config)
        with context(user_id="ann"):
            graph.invoke({"value": "x"}, config)
        graph.with_config(config).invoke({"value": "x"})
        graph.invoke({"value": "x"}, {"configurable": {"langgraph_auth_user_id": "signed in", "user_id": "claimed"}})
        graph.invoke({"value": "x"})
    identities = [op.identity for op in seen.operations]
    assert identities[0][:5] == ("config", "from config", "thread", "11111111-2222-3333-4444-555555555555", "worker")
    assert (identities[1].user_id, identities[1].session_id) == ("ann", "thread")
    assert (identities[2].user_id, identities[2].session_id) == ("from config", "thread")
    assert identities[3].user_id == "signed in"
    assert identities[4][:3] == ("", "", "")
    assert seen.operations[0].extras["metadata"]["plan"] == "pro"


def test_operations_inside_inherit() -> None:
    from spanhook.cli.conformance.libraries.langchain import Calls, agent, consume

    with recorder() as seen:
        consume(agent(Calls()), "invoke", None, {"configurable": {"thread_id": "t1", "user_id": "ann"}})
    assert {op.identity.session_id for op in seen.operations} == {"t1"}
    assert {op.identity.user_id for op in seen.operations} == {"ann"}
    assert len({op.identity.run_id for op in seen.operations}) == 1
    assert {op.agent for op in seen.operations} == {"helper"}


def test_wrong_types_name_the_fix() -> None:
    with pytest.raises(TypeError, match=r"context\(user_id=...\) takes a string, not 7"), context(user_id=7):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pass


def test_baggage_is_written_only_if_asked() -> None:
    with context(tenant_id="acme", user_id="ann"):
        assert baggage.get_all() == {}
    before = otel_context.get_current()
    with context(tenant_id="acme", user_id="ann", baggage=True):
        headers: dict[str, str] = {}
        W3CBaggagePropagator().inject(headers)
    assert otel_context.get_current() is before
    assert sorted(headers["baggage"].split(",")) == ["spanhook.tenant.id=acme", "user.id=ann"]


@pytest.mark.parametrize("trusted", [False, True])
def test_baggage_is_read_only_by_those_who_trust_it(trusted: bool) -> None:
    carrier = {"baggage": "spanhook.tenant.id=acme,user.id=ann,session.id=s1"}
    with stubbed(settings=Settings(trust_baggage=trusted)) as (library, seen):
        token = otel_context.attach(W3CBaggagePropagator().extract(carrier))
        try:
            library.work("x")
            with context(tenant_id="own"):
                library.work("y")
        finally:
            otel_context.detach(token)
    assert seen.operations[0].identity[:3] == (("acme", "ann", "s1") if trusted else ("", "", ""))
    assert seen.operations[1].identity.tenant_id == "own"


def test_a_block_left_in_another_context_leaves_that_ones_identity_alone() -> None:
    def serve() -> Any:
        with context(tenant_id="acme"):
            yield

    served = serve()
    copy_context().run(next, served)

    def elsewhere() -> str:
        with context(tenant_id="other"):
            served.close()
            with context() as now:
                return now.tenant_id

    assert copy_context().run(elsewhere) == "other"


@pytest.mark.parametrize("name", ["user", "tenant", "session", "thread_id"])
def test_an_identity_by_another_name(name: str) -> None:
    with pytest.raises(TypeError, match="unknown; write"), context(**{name: "x"}):  # pyright: ignore[reportArgumentType]
        pass
