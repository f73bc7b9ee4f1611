"""What hooks of runs are told, whatever the operation is that is a run."""

import asyncio
import dataclasses
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

import spanhook
from spanhook import Usage, operation
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.diagnostics import internal
from spanhook.runs import RunContext, RunHooks, User, run_scope
from spanhook.testing import recorder


class Told:
    def __init__(self) -> None:
        self.hooks = RunHooks()
        self.before: list[RunContext] = []
        self.after: list[RunContext] = []
        self.error: list[RunContext] = []
        self.hooks.before_run(self.before.append)
        self.hooks.after_run(self.after.append)
        self.hooks.on_run_error(self.error.append)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


def test_a_context_cannot_be_changed() -> None:
    ctx = RunContext("r", "t", "a", "g", User("ann"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        ctx.status = "success"  # pyright: ignore[reportAttributeAccessIssue]
    assert [one.name for one in dataclasses.fields(ctx)] == [
        "run_id",
        "thread_id",
        "assistant_id",
        "graph_id",
        "user",
        "config",
        "input",
        "output",
        "status",
        "error",
        "error_type",
        "extras",
        "metadata",
    ]
    assert (ctx.config, ctx.extras, ctx.metadata, ctx.input, ctx.error) == ({}, {}, {}, None, None)


def test_fields_of_each_phase_alone() -> None:
    told = Told()
    with recorder(told.hooks):
        with run_scope("own", input=1) as scope:
            scope.output = 2
        with pytest.raises(ValueError), run_scope("own", input=1) as scope:
            scope.output = 2
            raise ValueError("x")
    before, after, error = told.before[0], told.after[0], told.error[0]
    assert (before.input, before.output, before.status, before.error, before.error_type) == (1, None, None, None, None)
    assert (after.input, after.output, after.status, after.error, after.error_type) == (1, 2, "success", None, None)
    assert (error.input, error.output, error.status, error.error, error.error_type) == (
        1,
        None,
        None,
        "x",
        "ValueError",
    )


def test_the_identity_that_the_application_has_set() -> None:
    told = Told()
    with (
        recorder(told.hooks),
        spanhook.context(user_id="ann", session_id="t1", tenant_id="acme"),
        operation("agent.invoke", "desk"),
    ):
        pass
    ctx = told.before[0]
    assert (ctx.user, ctx.thread_id, ctx.graph_id, ctx.assistant_id) == (
        User("ann", org_id="acme"),
        "t1",
        "desk",
        "desk",
    )


def test_own_agents_and_tools_are_told_with_what_they_are_called_with() -> None:
    told = Told()

    @spanhook.agent
    async def desk(question: str) -> dict[str, str]:
        return {"answer": question}

    @spanhook.tool
    def refund(amount: int, to: str = "ann") -> int:
        return amount

    with recorder(told.hooks):
        asyncio.run(desk("x"))
        refund(5)
    assert [ctx.input for ctx in told.before] == ["x", {"amount": 5, "to": "ann"}]
    assert [ctx.output for ctx in told.after] == [{"answer": "x"}, 5]


def test_a_lone_call_of_a_model_is_told_with_its_messages_and_usage(server: OpenAIServer) -> None:
    told = Told()
    with recorder(told.hooks), OpenAI(base_url=server.url, api_key="x") as client:
        client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "hi"}])
    ctx = told.after[0]
    assert ctx.input == [{"role": "user", "content": "hi"}]
    assert ctx.graph_id == "gpt-4o-mini"
    assert told.before[0].extras == {}
    (used,) = ctx.extras["usage_metadata"].values()
    assert used["total_tokens"] == used["input_tokens"] + used["output_tokens"] > 0


def integers(value: Any) -> bool:
    if isinstance(value, dict):
        return all(integers(one) for one in value.values())
    return type(value) is int


def test_usage_by_model_with_details_where_known() -> None:
    told = Told()
    with recorder(told.hooks), run_scope("own"):
        with operation("llm.call", "gpt-4o-mini", provider="openai") as op:
            op.record_usage(
                input_tokens=100, output_tokens=50, cache_read_tokens=40, cache_write_tokens=10, reasoning_tokens=30
            )
        with operation("llm.call", "claude-haiku-4-5", provider="anthropic") as op:
            op.record_usage(input_tokens=7, output_tokens=3)
        with operation("llm.call", "claude-haiku-4-5", provider="anthropic") as op:
            op.record_usage(input_tokens=1, output_tokens=1)
        with operation("llm.call", "unused"):
            pass
    usage = told.after[0].extras["usage_metadata"]
    assert usage == {
        "gpt-4o-mini": {
            "input_tokens": 100,
            "output_tokens": 50,
            "total_tokens": 150,
            "input_token_details": {"cache_read": 40, "cache_creation": 10},
            "output_token_details": {"reasoning": 30},
        },
        "claude-haiku-4-5": {"input_tokens": 8, "output_tokens": 4, "total_tokens": 12},
    }
    assert integers(usage)


def test_usage_of_a_model_without_a_name_is_unknown() -> None:
    told = Told()
    with recorder(told.hooks), run_scope("own"):
        for name in ("", "unknown"):
            with operation("llm.call", name) as op:
                op.record_usage(input_tokens=5, output_tokens=1)
    assert told.after[0].extras["usage_metadata"] == {
        "unknown": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    }


def test_usage_is_absent_where_nothing_was_used() -> None:
    told = Told()
    with recorder(told.hooks), run_scope("own"), operation("llm.call", "gpt-4o-mini"):
        pass
    assert told.after[0].extras == {}


def test_usage_is_partial_on_error_and_cancel() -> None:
    told = Told()

    async def use(then: BaseException) -> None:
        async with run_scope("own"):
            async with operation("llm.call", "m") as op:
                op.record_usage(input_tokens=5, output_tokens=1)
            raise then

    with recorder(told.hooks):
        for error in (ValueError("x"), asyncio.CancelledError()):
            with pytest.raises(type(error)):
                asyncio.run(use(error))
    assert [ctx.error_type for ctx in told.error] == ["ValueError", "CancelledError"]
    used = {"m": {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}}
    assert [ctx.extras for ctx in told.error] == [{"usage_metadata": used}] * 2


def test_usage_that_hooks_are_given_is_their_own() -> None:
    told = Told()
    seen: list[Usage] = []
    with recorder(told.hooks) as found:
        told.hooks.after_run(lambda ctx: ctx.extras["usage_metadata"].clear())
        told.hooks.after_run(told.after.append)
        with run_scope("own"), operation("llm.call", "m") as op:
            op.record_usage(input_tokens=5)
        seen = [one.usage for one in found.operations]
    assert told.after[1].extras["usage_metadata"]["m"]["input_tokens"] == 5
    assert [one.input_tokens for one in seen] == [5, 5]


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_error_that_cannot_be_printed() -> None:
    told = Told()
    with recorder(told.hooks), pytest.raises(Unprintable), run_scope("own"):
        raise Unprintable
    assert (told.error[0].error, told.error[0].error_type) == ("(it cannot be printed)", "Unprintable")


class Uncopied:
    """Breaks whoever reads it, as an application's own object may."""

    def __init__(self) -> None:
        self.broken = False

    @property
    def __dict__(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        if self.broken:
            raise RuntimeError("cannot be read")
        return {}

    identity = "ann"


def test_a_user_that_cannot_be_read_fails_gates_and_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    """What decides about the run must not do so without it; who is told of the end is told the rest."""
    from spanhook.cli.conformance.libraries.langgraph import make_graph
    from spanhook.cli.conformance.subject import Body

    told, user, body = Told(), Uncopied(), Body()
    config: Any = {"configurable": {"langgraph_auth_user": user}}
    hooks = RunHooks()
    hooks.after_run(told.after.append)
    with recorder(hooks), caplog.at_level(logging.WARNING, "spanhook"):
        user.broken = True
        internal.fatal = False
        make_graph(body).invoke({"value": "x"}, config)
    assert told.after[0].user == User("ann")  # which is known without it
    assert internal.counts.pop("runs.context") == 1
    with recorder(told.hooks), pytest.raises(RuntimeError, match="cannot be read"):
        make_graph(body).invoke({"value": "x"}, config)
    assert body.runs == 1
