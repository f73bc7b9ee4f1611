"""Approvals: this very call, once, whoever asks, wherever it runs, and however often it is run again."""

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import KEEP, IntFlag
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, RetryPolicy, Send, interrupt

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject
from spanhook.errors import HookError
from spanhook.gating import find, make
from spanhook.hooks.approval import Approval, NotApproved, _open
from spanhook.hooks.approval._binding import UnboundValueError, canonical
from spanhook.model import clock
from spanhook.store import ApprovalRequest, Approvals, open_approvals
from spanhook.testing import recorder
from tests.forking import children
from tests.redis_server import running_redis

ran: list[Any] = []


@spanhook.tool
def close_account(account: Any) -> str:
    ran.append(account)
    return f"closed {account}"


@spanhook.tool
async def aclose_account(account: Any) -> str:
    ran.append(account)
    return f"closed {account}"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@pytest.fixture(params=["memory", "sqlite", pytest.param("redis", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return f"memory://{tmp_path}"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/a.db"
    return request.getfixturevalue("redis_url")


def approval(store: str, *, wait: float = 0, **settings: Any) -> Approval:
    return Approval(store=store, wait=wait, poll=0.02, **settings)


def pending(store: str) -> ApprovalRequest:
    """The only request that is open."""
    [request] = open_approvals(store).requests("pending")
    return request


def approve(store: str, by: str = "bob") -> None:
    open_approvals(store).answer(pending(store).id, approve=True, by=by)


def answered(store: str, by: str = "bob") -> dict[str, str]:
    """What a graph is resumed with to approve the only request."""
    return {"decision": "approve", "approval_id": pending(store).id, "by": by}


def refused(call: Any, *args: Any) -> NotApproved:
    with pytest.raises(NotApproved) as caught:
        call(*args)
    return caught.value


def test_the_same_call_finds_its_answer_and_uses_it_once(store: str) -> None:
    with recorder(approval(store)) as seen:
        said = refused(close_account, 7)
        assert (said.status_code, said.approval_id) == (409, pending(store).id)
        assert f"'close_account' needs approval {said.approval_id}" in said.reason
        assert refused(close_account, 7).approval_id == said.approval_id
        approve(store)
        assert close_account(7) == "closed 7"
        other = refused(close_account, 7)
        assert other.approval_id != said.approval_id
    assert ran == [7]
    assert [op.status for op in seen.operations] == ["rejected", "rejected", "success", "rejected"]
    ids = [said.approval_id] * 3 + [other.approval_id]
    assert [dict(span.attributes or {})["spanhook.approval.id"] for span in seen.spans] == ids


def test_a_call_waits_for_its_answer(store: str) -> None:
    def later() -> None:
        while not open_approvals(store).requests("pending"):
            threading.Event().wait(0.01)
        approve(store)

    with recorder(approval(store, wait=30)):
        for call in (
            close_account,
            lambda one: asyncio.run(aclose_account(one)),
            lambda one: trio.run(aclose_account, one),
        ):
            thread = threading.Thread(target=later)
            thread.start()
            assert call(7) == "closed 7"
            thread.join()
    assert ran == [7] * 3


@pytest.mark.one_value
def test_many_calls_wait_at_the_same_time_without_holding_up_the_loop(store: str) -> None:
    async def main() -> list[str]:
        tasks = [asyncio.ensure_future(aclose_account(number)) for number in range(100)]
        approvals = open_approvals(store)
        while len(found := await asyncio.to_thread(approvals.requests, "pending")) < 100:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for request in found:
            await asyncio.to_thread(approvals.answer, request.id, approve=True, by="bob")
        return await asyncio.gather(*tasks)

    with recorder(approval(store, wait=60)):
        assert asyncio.run(main()) == [f"closed {number}" for number in range(100)]


def test_what_is_denied_does_not_run(store: str) -> None:
    with recorder(approval(store)):
        refused(close_account, 7)
        open_approvals(store).answer(pending(store).id, approve=False, by="bob", reason="too late in the day")
        said = refused(close_account, 7)
    assert (said.status_code, said.reason) == (403, "'close_account' was not approved: too late in the day")
    assert ran == []


@pytest.mark.parametrize("on_timeout", ["deny", "allow"])
def test_what_nobody_answers_in_time(on_timeout: Any, store: str) -> None:
    with recorder(approval(store, wait=10, timeout=0.1, on_timeout=on_timeout)):
        if on_timeout == "deny":
            assert "nobody has answered approval" in refused(close_account, 7).reason
        else:
            assert close_account(7) == "closed 7"
    assert ran == ([] if on_timeout == "deny" else [7])


@pytest.mark.parametrize(
    "identity", [{"user_id": "eve"}, {"tenant_id": "other"}, {"session_id": "another"}], ids=lambda one: next(iter(one))
)
def test_an_approval_is_for_one_user_tenant_and_session(identity: dict[str, Any], store: str) -> None:
    mine: dict[str, Any] = {"user_id": "ann", "tenant_id": "acme", "session_id": "s"}
    with recorder(approval(store)):
        with spanhook.context(**mine):
            refused(close_account, 7)
        approve(store)
        with spanhook.context(**{**mine, **identity}):
            refused(close_account, 7)
        with spanhook.context(**mine):
            assert close_account(7) == "closed 7"
    assert ran == [7]


def test_an_approval_is_for_one_agent_policy_and_tool(store: str) -> None:
    @spanhook.agent("desk")
    def desk() -> None:
        close_account(7)

    @spanhook.tool
    def open_account(account: int) -> None:
        ran.append(account)

    first = approval(store)
    with recorder(first):
        refused(close_account, 7)
        approve(store)
        refused(desk)
        refused(open_account, 7)
    second = approval(store)
    second.name = "another"
    with recorder(second):
        refused(close_account, 7)
    with recorder(first):
        assert close_account(7) == "closed 7"


@pytest.mark.parametrize(
    ("asked", "called"),
    [
        (7, 8),
        (1, 1.0),
        (1, True),
        ("7", 7),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 1, "b": None}),
        ("é", "e\u0301"),
        (None, ""),
    ],
)
def test_an_approval_is_for_these_very_arguments(asked: Any, called: Any, tmp_path: Path) -> None:
    store = f"memory://{tmp_path}"
    with recorder(approval(store)):
        refused(close_account, asked)
        approve(store)
        refused(close_account, called)
        close_account(asked)
    assert ran == [asked]


def test_the_arguments_are_those_after_all_rewrites(store: str) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", priority=99)
    def raise_it(op: Operation) -> None:
        op.replace(arguments={"account": 700})

    with recorder([approval(store), hooks]):
        refused(close_account, 7)
        requests = open_approvals(store).requests("pending")
        assert [one.arguments for one in requests] == ['{"account":7}']
        open_approvals(store).answer(requests[0].id, approve=True, by="bob")
        refused(close_account, 7)
        assert '{"account":700}' in [one.arguments for one in open_approvals(store).requests("pending")]
        open_approvals(store).answer(pending(store).id, approve=True, by="bob")
    assert ran == []


def test_arguments_that_change_while_they_are_waited_for_are_refused(store: str) -> None:
    account = {"id": 7}

    def later() -> None:
        while not open_approvals(store).requests("pending"):
            threading.Event().wait(0.01)
        account["id"] = 700
        approve(store)

    with recorder(approval(store, wait=30)):
        thread = threading.Thread(target=later)
        thread.start()
        with pytest.raises(Reject, match="The arguments were changed while"):
            close_account(account)
        thread.join()
    assert ran == []


def test_arguments_that_change_while_a_function_decides_are_refused(store: str) -> None:
    account = {"id": 7}

    async def ask(_request: ApprovalRequest) -> bool:
        account["id"] = 700
        return True

    with recorder(approval(store, ask=ask)), pytest.raises(Reject, match="The arguments were changed while"):
        asyncio.run(aclose_account(account))
    assert ran == []
    assert [one.status for one in open_approvals(store).requests()] == ["approved"]


def test_arguments_that_change_while_an_approval_is_used_are_refused(tmp_path: Path) -> None:
    store, account = f"sqlite:///{tmp_path}/a.db", {"id": 7}

    async def main() -> None:
        calling = asyncio.ensure_future(aclose_account(account))
        for _ in range(2):
            await asyncio.sleep(0)
        account["id"] = 700
        with pytest.raises(Reject, match="The arguments were changed while"):
            await calling

    with recorder(approval(store)):
        refused(close_account, account)
        with pytest.raises(NotApproved):
            asyncio.run(aclose_account(account))
        for request in open_approvals(store).requests("pending"):
            open_approvals(store).answer(request.id, approve=True, by="bob")
        asyncio.run(main())
    assert ran == []


@pytest.mark.one_value
def test_what_was_denied_is_not_allowed_by_a_late_look(store: str) -> None:
    def later() -> None:
        while not open_approvals(store).requests("pending"):
            threading.Event().wait(0.01)
        open_approvals(store).answer(pending(store).id, approve=False, by="bob")

    made = Approval(store=store, wait=30, poll=0.5, valid_for=0.01, on_timeout="allow")
    with recorder(made):
        thread = threading.Thread(target=later)
        thread.start()
        assert refused(close_account, 7).status_code == 403
        thread.join()
    assert ran == []


def test_other_kinds_are_bound_to_all_that_is_sent(store: str) -> None:
    made = approval(store)
    made.kinds = ("llm.call",)

    def call(said: str, system: str = "", model: str = "m") -> None:
        request = {"messages": [{"role": "user", "content": said}], "system": system}
        with spanhook.operation("llm.call", model, provider="acme", request=request):
            ran.append(said)

    with recorder(made):
        refused(call, "a")
        approve(store)
        for others in (("b",), ("a", "s"), ("a", "", "other")):
            refused(call, *others)
        call("a")
    assert ran == ["a"]


def test_a_cut_is_told_to_whoever_decides(store: str) -> None:
    with recorder(approval(store)):
        refused(close_account, "x" * 30_000)
    assert pending(store).arguments.endswith("x... (10014 more characters are not shown)")


def test_a_call_that_is_cancelled_while_it_waits_does_not_run(store: str) -> None:
    async def main() -> None:
        task = asyncio.ensure_future(aclose_account(7))
        while not await asyncio.to_thread(open_approvals(store).requests, "pending"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder(approval(store, wait=60)) as seen:
        asyncio.run(main())
    assert ran == []
    assert seen.operations[0].status == "cancelled"
    assert pending(store).status == "pending"


def test_waiting_counts_against_no_budget_of_time(store: str) -> None:
    now, hooks, looked = 0, Hooks(), list[str]()
    hooks.after("tool.execute")(lambda op: looked.append(op.name))

    def later() -> None:
        nonlocal now
        while not open_approvals(store).requests("pending"):
            threading.Event().wait(0.01)
        now = 3_600_000_000_000
        approve(store)

    with recorder([approval(store, wait=30), hooks]):
        clock.now = lambda: now
        thread = threading.Thread(target=later)
        thread.start()
        close_account(7)
        thread.join()
    assert looked == ["close_account"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("answer", [True, False, None])
def test_a_function_may_decide(answer: bool | None, is_async: bool, store: str) -> None:
    asked: list[ApprovalRequest] = []

    def ask(request: ApprovalRequest) -> bool | None:
        asked.append(request)
        return answer

    async def aask(request: ApprovalRequest) -> bool | None:
        return ask(request)

    with recorder(approval(store, ask=aask if is_async else ask, title="Careful")):
        if answer:
            assert close_account(7) == "closed 7"
        else:
            assert refused(close_account, 7).status_code == (403 if answer is False else 409)
    assert [(one.tool, one.arguments, one.title) for one in asked] == [("close_account", '{"account":7}', "Careful")]


class Yes:
    """True and equal to everything, as a boolean of NumPy nearly is."""

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "Yes()"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("answer", ["no", "yes", "True", "", 1, 0, [True], {}, Yes()], ids=repr)
@pytest.mark.parametrize("fail_mode", ["closed", "open"])
def test_any_other_answer_refuses_the_call(answer: Any, is_async: bool, fail_mode: Any, tmp_path: Path) -> None:
    def ask(_request: ApprovalRequest) -> Any:
        return answer

    async def aask(_request: ApprovalRequest) -> Any:
        return answer

    hook = Approval(store=f"memory://{tmp_path}", ask=aask if is_async else ask, on_timeout="allow")
    hook.fail_mode = fail_mode
    with recorder(Hooks(hook)), pytest.raises(Reject, match=f"gave a {type(answer).__name__}") as caught:
        close_account(7)
    assert caught.value.status_code == 500
    assert isinstance(caught.value.__cause__, HookError)
    assert ran == []


def test_a_function_that_fails_refuses_the_call(tmp_path: Path) -> None:
    def ask(_request: ApprovalRequest) -> bool:
        raise OSError("no chat")

    with recorder(approval(f"memory://{tmp_path}", ask=ask)), pytest.raises(Reject, match="failed: OSError"):
        close_account(7)
    assert ran == []


def test_arguments_may_be_kept_out_of_the_request(store: str) -> None:
    with recorder(approval(store, show_arguments=False)):
        refused(close_account, "secret")
        assert pending(store).arguments == ""
        approve(store)
        assert close_account("secret") == "closed secret"


def test_a_shadow_asks_nobody(store: str) -> None:
    made = approval(store)
    made.mode = "shadow"
    hooks = Hooks(made)
    with recorder(hooks) as seen:
        assert close_account(7) == "closed 7"
        assert hooks.flush(60.0)
    assert [one.decision for one in seen.operations[0].shadow_decisions] == ["reject"]
    assert open_approvals(store).requests() == []


CALLING = """
import sys
import spanhook
from spanhook.hooks.approval import Approval, NotApproved

@spanhook.tool
def close_account(account):
    return f"closed {account}"

spanhook.instrument(Approval(store=sys.argv[1], wait=0), only=[])
try:
    print(close_account(7))
except NotApproved as refused:
    print(refused.status_code, refused.approval_id)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_restart_between_question_and_answer(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    store = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("redis_url")

    def call() -> str:
        return children.run("-c", CALLING, store, check=True).stdout.strip()

    assert call() == f"409 {pending(store).id}" if open_approvals(store).requests() else call().startswith("409 ")
    approve(store)
    assert call() == "closed 7"
    assert call().startswith("409 ")


def test_of_many_threads_with_the_same_call_one_runs(store: str) -> None:
    with recorder(approval(store)):
        refused(close_account, 7)
        approve(store)

        def call(_: int) -> bool:
            try:
                close_account(7)
            except NotApproved:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(call, range(16))) == 1
    assert ran == [7]


KILLED = """
import os, signal, sys
import spanhook
from spanhook.hooks.approval import Approval

@spanhook.tool
def close_account(account):
    print("ran", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

spanhook.instrument(Approval(store=sys.argv[1], wait=0), only=[])
close_account(7)
"""


@pytest.mark.slow
def test_a_process_that_dies_has_used_its_approval(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"

    def call() -> str:
        return children.run("-c", KILLED, store).stdout

    assert call() == ""
    approve(store)
    assert call() == "ran\n"
    assert call() == ""
    assert pending(store).arguments == '{"account":7}'


# ------------------------------------------------------------------------------------------------------ LangGraph


@tool
def delete_file(path: str) -> str:
    """Delete a file."""
    ran.append(path)
    return f"deleted {path}"


@tool
def asks_itself(path: str) -> str:
    """Asks a question of its own."""
    answer = interrupt("sure?")
    ran.append((path, answer))
    return "done"


def graph(*calls: tuple[str, str], name: str = "delete_file", saved: bool = True, apart: bool = False) -> Any:
    """A graph that calls a tool so many times: in one node, or each in a task of its own, as agents do."""

    def made(_state: Any = None) -> list[Any]:
        return [{"name": name, "args": {"path": path}, "id": one, "type": "tool_call"} for one, path in calls]

    def model(_state: MessagesState) -> Any:
        return {"messages": [AIMessage("", tool_calls=made())]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([delete_file, asks_itself], handle_tool_errors=False))
    builder.add_edge(START, "model")
    if apart:
        builder.add_conditional_edges("model", lambda _state: [Send("tools", [one]) for one in made()], ["tools"])
    else:
        builder.add_edge("model", "tools")
    builder.add_edge("tools", END)
    return builder.compile(checkpointer=InMemorySaver() if saved else None)


THREAD: Any = {"configurable": {"thread_id": "t"}}
START_STATE: Any = {"messages": [("user", "go")]}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_graph_is_interrupted_and_resumed(decision: str, is_async: bool, store: str) -> None:
    made = graph(("1", "a"))

    def invoke(given: Any) -> Any:
        return asyncio.run(made.ainvoke(given, THREAD)) if is_async else made.invoke(given, THREAD)

    with recorder(approval(store)) as seen:
        [stopped] = invoke(START_STATE)["__interrupt__"]
        question = stopped.value
        assert (question["type"], question["tool"], question["arguments"]) == (
            "approval",
            "delete_file",
            '{"path":"a"}',
        )
        assert question["approval_id"] == pending(store).id
        assert [op.status for op in seen.operations if op.kind == "tool.execute"] == ["interrupted"]
        resume = Command(
            resume={"decision": decision, "approval_id": question["approval_id"], "by": "bob", "reason": "because"}
        )
        if decision == "approve":
            assert invoke(resume)["messages"][-1].content == "deleted a"
        else:
            message = invoke(resume)["messages"][-1]
            assert message.status == "error"
            assert "was not approved: because" in message.content
    assert ran == (["a"] if decision == "approve" else [])
    [request] = open_approvals(store).requests()
    assert (request.status, request.answered_by) == ("used" if decision == "approve" else "denied", "bob")


def test_a_graph_may_be_denied_without_a_reason(store: str) -> None:
    made = graph(("1", "a"))
    with recorder(approval(store)):
        made.invoke(START_STATE, THREAD)
        denied = {**answered(store), "decision": "deny"}
        said = made.invoke(Command(resume=denied), THREAD)["messages"][-1]
    assert (said.status, said.content) == ("error", "Tool call rejected: 'delete_file' was not approved")
    assert ran == []
    assert [request.reason for request in open_approvals(store).requests()] == [""]


def test_a_graph_may_be_approved_elsewhere(store: str) -> None:
    made = graph(("1", "a"))
    with recorder(approval(store)):
        made.invoke(START_STATE, THREAD)
        approve(store)
        assert made.invoke(Command(resume=True), THREAD)["messages"][-1].content == "deleted a"
    assert ran == ["a"]


@pytest.mark.parametrize(
    "value",
    [True, "approve", {"decision": "approve"}, {"decision": "approve", "approval_id": "another"}, {}, [1]],
    ids=str,
)
def test_what_is_no_answer_to_this_request_approves_nothing(value: Any, store: str) -> None:
    made = graph(("1", "a"))
    with recorder(approval(store)):
        [first] = made.invoke(START_STATE, THREAD)["__interrupt__"]
        [again] = made.invoke(Command(resume=value), THREAD)["__interrupt__"]
        assert again.value == first.value
        assert made.invoke(Command(resume=answered(store)), THREAD)["messages"][-1].content == "deleted a"
    assert ran == ["a"]


def test_an_answer_to_somebody_elses_request_is_none(store: str) -> None:
    made = graph(("1", "a"))
    with recorder(approval(store)):
        with spanhook.context(user_id="ann"):
            refused(close_account, 7)
        theirs = pending(store).id
        made.invoke(START_STATE, THREAD)
        made.invoke(Command(resume={"decision": "approve", "approval_id": theirs}), THREAD)
    assert {request.status for request in open_approvals(store).requests()} == {"pending"}


def test_whoever_asks_may_not_resume_as_themselves(store: str) -> None:
    made = graph(("1", "a"))
    with recorder(approval(store)), spanhook.context(user_id="ann"):
        made.invoke(START_STATE, THREAD)
        said = made.invoke(Command(resume=answered(store, "ann")), THREAD)["messages"][-1]
    assert "may not answer it" in said.content
    assert ran == []


@pytest.mark.parametrize("settings", [{"approvers": ["lead-*"]}, {}], ids=["approvers", "whoever asks"])
def test_an_answer_without_a_name_approves_only_if_everybody_may(settings: dict[str, Any], store: str) -> None:
    made = graph(("1", "a"))
    with recorder(approval(store, **settings)), spanhook.context(user_id="" if settings else "ann"):
        made.invoke(START_STATE, THREAD)
        resume = {"decision": "approve", "approval_id": pending(store).id}
        said = made.invoke(Command(resume=resume), THREAD)["messages"][-1]
    assert "needs the id of whoever gives it" in said.content
    assert ran == []


def resumed(made: Any, result: Any, rounds: int = 6) -> Any:
    """Approve whatever is asked for, until nothing is."""
    for _ in range(rounds):
        stopped = result.get("__interrupt__", ())
        if not stopped:
            return result
        answers = {
            one.id: {"decision": "approve", "approval_id": one.value["approval_id"], "by": "bob"} for one in stopped
        }
        result = made.invoke(Command(resume=answers), THREAD)
    raise AssertionError("the graph is interrupted again and again")


def used(store: str) -> int:
    return sum(one.status == "used" for one in open_approvals(store).requests())


def test_equal_calls_at_once_have_an_approval_each(store: str) -> None:
    made = graph(("1", "a"), ("2", "a"), apart=True)
    with recorder(approval(store)):
        resumed(made, made.invoke(START_STATE, THREAD))
    assert (ran, used(store)) == (["a", "a"], 2)


def test_tools_called_at_once_wait_for_each_other_however_many_requests_are_open(store: str) -> None:
    approvals = open_approvals(store)
    made = graph(("1", "a"), ("2", "b"))
    with recorder(approval(store)):
        for number in range(50):  # LangGraph may leave out a call that has not started when the first one pauses
            thread: Any = {"configurable": {"thread_id": str(number)}}
            made.invoke(START_STATE, thread)
            found = {one.arguments: one for one in approvals.requests("pending")}
            if len(found) == 2:
                break
            for one in found.values():
                approvals.answer(one.id, approve=False, by="bob")
        else:
            raise AssertionError("both calls never started")
        approvals.answer(found['{"path":"a"}'].id, approve=True, by="bob")
        made.invoke(Command(resume=True), thread)
        assert ran == []
        approve(store)
        made.invoke(Command(resume=True), thread)
    assert sorted(ran) == ["a", "b"]


def node(function: Any, **settings: Any) -> Any:
    """A graph with one node of own code."""
    builder: Any = StateGraph(MessagesState)
    builder.add_node("node", function, **settings)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(checkpointer=InMemorySaver())


def test_a_node_that_is_tried_again_needs_another_approval(store: str) -> None:
    @spanhook.tool
    def flaky(account: int) -> None:
        ran.append(account)
        if len(ran) == 1:
            raise ConnectionError("once")

    def step(_state: MessagesState) -> Any:
        flaky(7)

    made = node(step, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    with recorder(approval(store)):
        resumed(made, made.invoke(START_STATE, THREAD))
    assert (ran, used(store)) == ([7, 7], 2)


def test_a_call_that_is_done_needs_another_approval_when_its_node_runs_again(store: str) -> None:
    def step(_state: MessagesState) -> Any:
        close_account(7)
        interrupt("go on?")

    made = node(step)
    with recorder(approval(store)):
        made.invoke(START_STATE, THREAD)
        made.invoke(Command(resume=answered(store)), THREAD)
        assert ran == [7]
        [again] = made.invoke(Command(resume="yes"), THREAD)["__interrupt__"]
        first, _ = open_approvals(store).requests()
        assert again.value["repeats"] == first.id
    assert ran == [7]


def test_two_policies_have_an_approval_each(store: str) -> None:
    first, second = approval(store), approval(store)
    first.name, second.name, second.priority = "first", "second", 99
    made = graph(("1", "a"))
    with recorder([first, second]):
        resumed(made, made.invoke(START_STATE, THREAD))
    assert ran == ["a"]
    assert [(one.policy, one.status) for one in open_approvals(store).requests()] == [
        ("first", "used"),
        ("second", "used"),
    ]


def test_a_graph_that_is_replayed_needs_another_approval(store: str) -> None:
    def step(_state: MessagesState) -> Any:
        close_account(7)

    made = node(step)
    with recorder(approval(store)):
        resumed(made, made.invoke(START_STATE, THREAD))
        [before] = [one for one in made.get_state_history(THREAD) if one.next == ("node",)]
        assert made.invoke(None, before.config)["__interrupt__"]
    assert ran == [7]


@pytest.mark.parametrize("apart", [True, False])
def test_tools_called_at_once_are_approved_one_by_one(apart: bool, store: str) -> None:
    made = graph(("1", "a"), ("2", "b"), apart=apart)
    with recorder(approval(store)):
        stopped = made.invoke(START_STATE, THREAD)["__interrupt__"]
        while stopped:
            answers = {
                one.id: {
                    "decision": "approve" if '"a"' in one.value["arguments"] else "deny",
                    "approval_id": one.value["approval_id"],
                    "by": "bob",
                }
                for one in stopped
            }
            result = made.invoke(Command(resume=answers), THREAD)
            stopped = result.get("__interrupt__", ())
    assert set(ran) == {"a"}
    assert used(store) == len(ran)
    assert {request.status for request in open_approvals(store).requests()} == {"denied", "used"}
    if apart:
        assert ran == ["a"]


def test_a_node_that_runs_again_goes_on_with_the_approval_it_has_used(store: str) -> None:
    made = graph(("1", "a"), name="asks_itself")
    with recorder(approval(store)):
        made.invoke(START_STATE, THREAD)
        [own] = made.invoke(Command(resume=answered(store)), THREAD)["__interrupt__"]
        assert own.value == "sure?"
        made.invoke(Command(resume="yes"), THREAD)
    assert ran == [("a", "yes")]
    assert [request.status for request in open_approvals(store).requests()] == ["used"]


def test_the_same_call_in_a_later_step_needs_another_approval(store: str) -> None:
    made = graph(("1", "a"))
    with recorder(approval(store)):
        made.invoke(START_STATE, THREAD)
        made.invoke(Command(resume=answered(store)), THREAD)
        assert made.invoke(START_STATE, THREAD)["__interrupt__"]
    assert ran == ["a"]


def test_without_a_checkpointer_a_graph_is_as_everything_else(store: str) -> None:
    made = graph(("1", "a"), saved=False)
    with recorder(approval(store)):
        said = made.invoke(START_STATE)["messages"][-1]
        assert said.status == "error"
        assert "needs approval" in said.content
        approve(store)
        assert made.invoke(START_STATE)["messages"][-1].content == "deleted a"
    assert ran == ["a"]


# ------------------------------------------------------------------------------------------------------ figures


def test_figures_are_measured(tmp_path: Path) -> None:
    store = f"memory://{tmp_path}"
    with recorder(approval(store, ask=lambda _request: True)) as seen:
        close_account(7)
        found = seen.metrics()
    outcomes = {told["spanhook.approval.outcome"]: value for told, value in found["spanhook.approval.requests"]}
    assert outcomes == {"requested": 1, "approved": 1, "used": 1}
    [(_, (_, count))] = found["spanhook.approval.wait"]
    assert count == 1


def test_a_store_that_comes_back_is_used_again() -> None:
    with running_redis() as server, recorder(approval(server.url)):
        refused(close_account, 7)
        approve(server.url)
        with server.hung(), pytest.raises(Reject, match="cannot be asked for now"):
            close_account(7)
        assert close_account(7) == "closed 7"
        server.stop()
        with pytest.raises(Reject, match="cannot be asked for now"):
            close_account(7)
        server.start()
        refused(close_account, 7)
    assert ran == [7]


def outcomes(seen: Any) -> dict[str, int]:
    return {told["spanhook.approval.outcome"]: count for told, count in seen.metrics()["spanhook.approval.requests"]}


def waiting(seen: Any) -> tuple[float, bool]:
    """How many requests wait for an answer, and whether the oldest has waited for any time."""
    [(_, count)], [(_, age)] = (seen.metrics()[f"spanhook.approval.{name}"] for name in ("pending", "age"))
    return count, age > 0


def test_requests_wait_until_they_are_answered_wherever_that_is(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_open, "CHECKED_FOR_S", 0)
    with recorder(approval(store)) as seen:
        refused(close_account, 7)
        refused(close_account, 7)
        refused(close_account, 8)
        assert waiting(seen) == (2, True)
        for request in open_approvals(store).requests("pending"):
            open_approvals(store).answer(request.id, approve=request.arguments.endswith("7}"), by="bob")
        assert waiting(seen) == (0, False)  # although no call has asked since
        assert outcomes(seen) == {"requested": 2}
        assert close_account(7) == "closed 7"
        refused(close_account, 8)
        refused(close_account, 8)
        assert outcomes(seen) == {"requested": 2, "approved": 1, "denied": 1, "used": 1}
        [(_, (_, answers))] = seen.metrics()["spanhook.approval.wait"]
        assert answers == 2


@pytest.mark.slow
def test_requests_that_nobody_answers_in_time_are_counted_once(store: str) -> None:
    with recorder(approval(store, wait=10, timeout=0.1)) as seen:
        refused(close_account, 7)
        refused(close_account, 7)
        assert outcomes(seen) == {"requested": 2, "expired": 2}
        assert waiting(seen) == (0, False)


def test_requests_expire_unseen(store: str) -> None:
    with recorder(approval(store, timeout=0.05)) as seen:
        refused(close_account, 7)
        (asked,) = open_approvals(store).requests()  # it may have expired by now
        while asked.at(time.time()).status == "pending":
            threading.Event().wait(0.01)
        assert waiting(seen) == (0, False)
        refused(close_account, 8)
        assert outcomes(seen) == {"requested": 2, "expired": 1}


def test_a_forked_child_tells_of_its_own_requests_alone(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with recorder(approval(store)) as seen:
        refused(close_account, 7)
        child = os.fork()
        if child == 0:
            os._exit(0 if waiting(seen) == (0, False) else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert waiting(seen) == (1, True)


def test_requests_are_taken_to_wait_while_the_store_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_open, "CHECKED_FOR_S", 0)
    with running_redis() as server, recorder(approval(server.url)) as seen:
        refused(close_account, 7)
        server.stop()
        assert waiting(seen) == (1, True)
        server.start()
        assert waiting(seen) == (0, False)  # it has lost everything


def test_a_store_that_is_away_refuses_the_call() -> None:
    with recorder(approval("redis://127.0.0.1:1/0")):
        for call in (close_account, lambda one: asyncio.run(aclose_account(one))):
            with pytest.raises(Reject, match="cannot be asked for now") as caught:
                call(7)
            assert caught.value.status_code == 503
    assert ran == []


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"timeout": 0}, "timeout=0: "),
        ({"wait": -1}, "wait=-1: "),
        ({"on_timeout": "ask"}, "on_timeout='ask'"),
        ({"store": "ftp://x"}, "a store cannot be opened"),
        ({"approver": ["a"]}, "unknown setting approver"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(find("approval"), settings)
    assert said in str(caught.value)


# ------------------------------------------------------------------------------------------------------ bindings


class Bits(IntFlag, boundary=KEEP):
    ONE = 1


@dataclass
class Point:
    x: int


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def strict(value: Any) -> Any:
    """A value that is equal to another only if their types are too."""
    if isinstance(value, dict):
        return {key: strict(one) for key, one in value.items()}
    if isinstance(value, list):
        return [strict(one) for one in value]
    return type(value).__name__, repr(value)


@pytest.mark.slow
@given(VALUES, VALUES)
def test_equal_values_are_written_equally_and_others_differently(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == (strict(one) == strict(other))


def test_values_that_json_lacks_are_written_with_their_type() -> None:
    values: list[Any] = [
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1),  # noqa: DTZ001
        "2026-01-01T00:00:00",
        Decimal("1.0"),
        Decimal(1),
        UUID(int=1),
        Path("/a"),
        b"a",
        {1, 2},
        [1, 2],
        Point(1),
        Bits(8),
        Bits(16),
        {"x": 1},
        {"$bytes": "61"},
        {"$set": ["1", "2"]},
        1.0,
        {"$float": "1.0"},
    ]
    assert len({canonical(value) for value in values}) == len(values)
    assert canonical({2, 1}) == canonical({1, 2})
    assert canonical((1, 2)) == canonical([1, 2])


@pytest.mark.every_value
@pytest.mark.parametrize(
    "value",
    [
        object(),
        float("nan"),
        float("inf"),
        {1: 2},
        {"a": object()},
        lambda: None,
        "\ud83d\ude00",
        {"\udc00": 1},
        {"$\udc00": 1},
    ],
)
def test_values_that_cannot_be_compared_are_refused(value: Any, tmp_path: Path) -> None:
    with pytest.raises(UnboundValueError):
        canonical(value)
    with recorder(approval(f"memory://{tmp_path}")), pytest.raises(Reject, match="cannot be approved") as caught:
        close_account(value)
    assert caught.value.status_code == 400
    assert ran == []


def test_people_can_read_what_is_compared() -> None:
    assert canonical({"to": "Zoë", "for": 12.5, "note": "お茶"}) == '{"for":12.5,"note":"お茶","to":"Zoë"}'


def test_values_that_contain_themselves_are_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(UnboundValueError, match="nested deeper"):
        canonical(value)


def test_stores_have_one_interface() -> None:
    assert isinstance(open_approvals("memory://"), Approvals)
