"""Runs of agents: what hooks see and change; runs that wait, that are cancelled, and that nobody waits for."""

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.llama_index_models import ChatMessage
from spanhook.cli.conformance.libraries.llama_index_ways import (
    ASK,
    AgentWorkflow,
    Flow,
    FunctionAgent,
    FunctionTool,
    agent,
    asking,
    own,
    result,
    tool,
)
from spanhook.cli.conformance.servers.openai_server import Reply, Tokens
from spanhook.cli.conformance.subject import Body
from spanhook.cli.doctor.examination import _library
from spanhook.instrument import BOUND, instrumentor_of
from spanhook.testing import recorder

_workflow: Any = import_module("llama_index.core.workflow")
_errors: Any = import_module("workflows.errors")
_events: Any = import_module("workflows.events")
Context = _workflow.Context
HISTORY = [ChatMessage(role="user", content="first"), ChatMessage(role="assistant", content="second")]


async def run(made: Any, **given: Any) -> Any:
    return await made.run(**given)


def test_what_a_hook_sees_of_a_run() -> None:
    seen, hooks = list[Any](), Hooks()

    @hooks.before("agent.invoke")
    def look(op: Operation) -> None:
        asked = [(one["role"], one["parts"][0]["content"]) for one in op.request.messages]
        seen.append((op.name, op.request.system, asked, op.identity.user_id, op.identity.session_id))

    made = agent(own(Body()), system_prompt="Be brief.")
    with recorder(hooks):
        asyncio.run(run(made, user_msg=ASK, chat_history=HISTORY, user_id="ann", session_id="s1"))
    asked = [("user", "first"), ("assistant", "second"), ("user", ASK)]
    assert seen == [("helper", "Be brief.", asked, "ann", "s1")]


@pytest.mark.parametrize(
    "asked", [ASK, ChatMessage(role="user", content=ASK), None], ids=["text", "message", "history"]
)
def test_a_rewritten_question_arrives(asked: Any) -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("agent.invoke")
    def change(op: Operation) -> None:
        messages = op.request.messages
        messages[0]["parts"] = [{"type": "text", "content": "changed"}]
        op.replace(messages=messages)

    history = HISTORY[:1] if asked is not None else [*HISTORY[:1], ChatMessage(role="user", content=ASK)]
    with recorder(hooks):
        asyncio.run(run(agent(own(body)), user_msg=asked, chat_history=history))
    assert body.seen == [["changed", ASK]]


def test_an_answered_run_calls_no_model_and_ends_its_events() -> None:
    body, hooks = Body(), Hooks()

    @hooks.before("agent.invoke")
    def answer(op: Operation) -> None:
        op.respond("an answer")

    async def events() -> tuple[Any, Any]:
        handler = asking(body).run(user_msg=ASK)
        found = [one async for one in handler.stream_events()]
        return found, await handler

    with recorder(hooks):
        (end,), given = asyncio.run(asyncio.wait_for(events(), 20))
    assert isinstance(end, _events.StopEvent)
    assert (str(given), given.current_agent_name, given.tool_calls, body.runs) == ("an answer", "helper", [], 0)


@pytest.mark.parametrize("scope", ["operation", "run"])
@pytest.mark.parametrize("kind", ["agent.invoke", "llm.call", "tool.execute"])
def test_the_events_of_a_refused_run_end_as_those_of_a_failed_one(kind: Any, scope: Any) -> None:
    hooks = Hooks()

    @hooks.before(kind)
    def refuse(op: Operation) -> None:
        raise Reject("not today", scope=scope)

    async def events() -> list[Any]:
        handler = agent(own(None, ("look_up", {"query": "tea"}), "done"), tool(Body())).run(user_msg=ASK)
        found = [one async for one in handler.stream_events()]
        if kind == "tool.execute" and scope == "operation":
            await handler
        else:
            with pytest.raises(Reject, match="not today"):
                await handler
        return found

    with recorder(hooks):
        found = asyncio.run(asyncio.wait_for(events(), 20))
    assert [isinstance(one, _events.StopEvent) for one in found].count(True) == 1
    assert isinstance(found[-1], _events.StopEvent)


def test_a_handler_stays_what_it_is() -> None:
    async def handlers() -> list[Any]:
        handler = asking(Body()).run(user_msg=ASK)
        await handler
        return [type(handler), handler.is_done(), await handler.ctx.store.get("num_iterations")]

    without = asyncio.run(handlers())
    with recorder(Hooks()):
        assert asyncio.run(handlers()) == without


@pytest.mark.filterwarnings("ignore:Skipping serialization")
def test_a_conversation_goes_on_in_its_context() -> None:
    async def twice() -> list[Any]:
        body = Body()
        made = asking(body)
        context = Context(made)
        await made.run(user_msg="first", ctx=context)
        await made.run(user_msg="second", ctx=context)
        return body.seen

    without = asyncio.run(twice())
    with recorder(Hooks()) as seen:
        assert asyncio.run(twice()) == without
    assert [one.name for one in seen.spans] == ["chat own", "invoke_agent helper"] * 2


# ------------------------------------------------------------------------------------------------- other ends


def test_a_run_that_is_cancelled() -> None:
    async def waits(query: str) -> str:
        """Wait."""
        started.set()
        await asyncio.sleep(100)
        return query

    started = asyncio.Event()

    async def cancelled() -> None:
        handler = agent(own(None, ("waits", {"query": "tea"}), ""), FunctionTool.from_defaults(async_fn=waits)).run(
            user_msg=ASK
        )
        await started.wait()
        await handler.cancel_run()
        with pytest.raises(_errors.WorkflowCancelledByUser):
            await handler

    with recorder(Hooks()) as seen:
        asyncio.run(asyncio.wait_for(cancelled(), 20))
    statuses = {one.name: (one.attributes or {})["spanhook.status"] for one in seen.spans}
    assert statuses["execute_tool waits"] == "cancelled"
    assert statuses["invoke_agent helper"] == "cancelled"


def test_a_tool_that_waits_for_a_person_is_interrupted_and_goes_on() -> None:
    async def confirm(ctx: Context, query: str) -> str:  # pyright: ignore[reportInvalidTypeForm]
        """Ask a person."""
        asked = _events.InputRequiredEvent(prefix="sure?")
        answer = await ctx.wait_for_event(_events.HumanResponseEvent, waiter_id="sure", waiter_event=asked)
        return f"{query}: {answer.response}"

    async def asked() -> str:
        made = agent(own(None, ("confirm", {"query": "tea"}), ""), FunctionTool.from_defaults(async_fn=confirm))
        handler = made.run(user_msg=ASK)
        async for one in handler.stream_events():
            if isinstance(one, _events.InputRequiredEvent):
                handler.ctx.send_event(_events.HumanResponseEvent(response="yes"))
        return str(await handler)

    without = asyncio.run(asyncio.wait_for(asked(), 20))
    with recorder(Hooks()) as seen:
        assert asyncio.run(asyncio.wait_for(asked(), 20)) == without == "tea: yes"
    statuses = [(one.attributes or {})["spanhook.status"] for one in seen.spans if one.name == "execute_tool confirm"]
    assert statuses == ["interrupted", "success"]


def test_too_many_iterations_are_an_error() -> None:
    made = agent(own(None, ("look_up", {"query": "tea"})), tool(Body()))
    with recorder(Hooks()) as seen, pytest.raises(Exception, match="Max iterations"):
        asyncio.run(run(made, user_msg=ASK, max_iterations=3))
    assert (seen.spans[-1].attributes or {})["spanhook.status"] == "error"


def test_runs_at_once_are_counted_apart() -> None:
    totals, hooks = list[int](), Hooks()
    hooks.after("agent.invoke")(lambda op: totals.append(op.usage.input_tokens))

    async def several() -> None:
        await asyncio.gather(*(run(asking(Body()), user_msg=ASK) for _ in range(5)))

    with recorder(hooks) as seen:
        asyncio.run(several())
    assert totals == [Tokens().input] * 5
    assert len({one.context.trace_id for one in seen.spans if one.context is not None}) == 5


def test_a_method_taken_before_is_gated() -> None:
    body = Body()
    kept = asking(body).run
    hooks = Hooks()

    @hooks.before("agent.invoke")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    async def call() -> Any:
        return await kept(user_msg=ASK)

    with recorder(hooks), pytest.raises(Reject, match="not today"):
        asyncio.run(call())
    assert body.runs == 0


# ------------------------------------------------------------------------------------------------- workflows


def test_a_workflow_of_one_s_own_is_a_run() -> None:
    seen, hooks = list[Any](), Hooks()
    hooks.before("run")(lambda op: seen.append((op.name, op.request.arguments)))
    with recorder(hooks) as recorded:
        assert asyncio.run(result(Flow(Body()))) == Reply.text
    assert seen == [("Flow", {"user_msg": ASK})]
    assert [one.name for one in recorded.spans] == ["invoke_workflow Flow"]


def test_a_workflow_that_was_answered() -> None:
    hooks, body = Hooks(), Body()

    @hooks.before("run")
    def answer(op: Operation) -> None:
        op.respond("an answer")

    with recorder(hooks):
        assert asyncio.run(result(Flow(body))) == "an answer"
    assert body.runs == 0


def test_an_agent_of_one_s_own_class_is_gated() -> None:
    class Mine(FunctionAgent):  # pyright: ignore[reportUntypedBaseClass]
        def run(self, *args: Any, **kwargs: Any) -> Any:
            return super().run(*args, **{**kwargs, "user_msg": "changed"})

    body, hooks = Body(), Hooks()
    asked = list[Any]()
    hooks.before("agent.invoke")(lambda op: asked.append(op.request.messages[-1]["parts"][0]["content"]))
    with recorder(hooks):
        asyncio.run(result(Mine(name="mine", llm=own(body))))
    assert asked == ["changed"]


def test_a_workflow_of_one_agent_is_that_agent() -> None:
    with recorder(Hooks()) as seen:
        asyncio.run(result(AgentWorkflow(agents=[asking(Body())])))
    assert [one.name for one in seen.spans] == ["chat own", "invoke_agent helper"]


def test_a_version_whose_loop_is_not_found_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    library = instrumentor_of("llama_index")
    with recorder(Hooks()):
        assert all(state == BOUND for _, state in library.required_states())
    for module in ("control_loop", "control_loop.runner"):
        with suppress(ImportError, AttributeError):
            monkeypatch.delattr(import_module(f"workflows.runtime.{module}"), "_ControlLoopRunner")
    with recorder(Hooks()):
        found = _library("llama_index")
    assert {"workflows.runtime.control_loop._ControlLoopRunner.run"} <= set(found.missing)
    assert all("_ControlLoopRunner" in point for point in found.missing)
    (told,) = [one.getMessage() for one in caplog.records if "gated" in one.getMessage()]
    assert "_ControlLoopRunner.run is missing" in told
