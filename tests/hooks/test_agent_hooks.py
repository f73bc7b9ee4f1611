"""A host of the agent-hooks contract: what interceptors are told, what they can do, and what they cannot."""

import asyncio
import importlib
import json
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.lowlevel

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject, operation
from spanhook.config import load_file
from spanhook.diagnostics import Repeats
from spanhook.hooks.agent_hooks import AgentHooks, _failures
from spanhook.testing import recorder
from tests.hooks.remote_policy.policy_server import serving

pytestmark = pytest.mark.agent_hooks

ALLOW = {"decision": "allow"}
POINTS = (
    "agent_startup",
    "input",
    "pre_model_call",
    "post_model_call",
    "pre_tool_call",
    "post_tool_call",
    "output",
    "agent_shutdown",
)
Context = dict[str, Any]


class Told:
    """Records contexts, and answers at some points with something else than ``allow``."""

    def __init__(self, **answers: Any) -> None:
        self.contexts: list[Context] = []
        self._answers = answers

    def intercept(self, context: Context) -> Any:
        self.contexts.append(context)
        answer = self._answers.get(context["interception_point"], ALLOW)
        return answer(context) if callable(answer) else answer

    @property
    def points(self) -> list[str]:
        return [one["interception_point"] for one in self.contexts]

    def at(self, point: str) -> Context:
        [found] = [one for one in self.contexts if one["interception_point"] == point]
        return found


def transform(value: Any, path: str = "$target") -> Any:
    return {"decision": "transform", "transform": {"path": path, "value": value}}


def deny(reason: str = "no", **more: Any) -> Any:
    return {"decision": "deny", "reason": reason, **more}


def add(**arguments: Any) -> Any:
    """A call of a tool that returns its arguments."""
    with operation("tool.execute", "add", request={"arguments": arguments}) as op:
        return op.result_of(dict(op.request.arguments))


def ask(text: str = "hi") -> Any:
    """A call of a model that echoes."""
    message = {"role": "user", "parts": [{"type": "text", "content": text}]}
    with operation("llm.call", "m", request={"messages": [message]}) as op:
        [said] = op.request.messages[-1]["parts"]
        return op.result_of(f"echo {said['content']}")


def desk(question: str, work: Callable[[], Any] = lambda: (ask(), add(a=1))) -> str:
    """An agent that calls a model and a tool, or does something else."""

    @spanhook.agent("desk")
    def run(question: str) -> str:
        work()
        return f"done: {question}"

    return run(question)


@contextmanager
def hosting(*interceptors: Any, **settings: Any) -> Generator[list[Any]]:
    """Records of what happens in the block."""
    records: list[Any] = []
    with recorder(Hooks(AgentHooks(interceptors, records=records.append, **settings))):
        yield records


def refusal(call: Callable[[], Any]) -> Reject:
    with pytest.raises(Reject) as caught:
        call()
    return caught.value


# -------------------------------------------------------------------------------------------- sessions


def test_a_session() -> None:
    told = Told()
    with hosting(told) as records, spanhook.context(tenant_id="acme", user_id="ann"):
        desk("why?")
    assert told.points == list(POINTS)
    assert [one["sequence"] for one in told.contexts] == list(range(8))
    assert len({one["session"]["id"] for one in told.contexts}) == 1
    assert {one["agent"]["id"] for one in told.contexts} == {"desk"}
    assert {(one["tenant"]["id"], one["actor"]["id"]) for one in told.contexts} == {("acme", "ann")}
    assert [one.interception_point.value for one in records] == list(POINTS)
    assert told.at("input")["input"] == {"content": "why?", "role": "user"}
    assert told.at("output")["output"] == {"content": "done: why?"}
    assert told.at("pre_tool_call")["tool_call"]["id"] == told.at("post_tool_call")["tool_call"]["id"]


def test_each_outermost_agent_is_a_session_and_those_inside_are_none() -> None:
    told = Told()
    with hosting(told):
        desk("a", lambda: desk("b", lambda: add(a=1)))
        desk("c", lambda: None)
    alone = ["agent_startup", "input", "output", "agent_shutdown"]
    assert told.points == [*alone[:2], "pre_tool_call", "post_tool_call", *alone[2:], *alone]
    assert len({one["session"]["id"] for one in told.contexts}) == 2


@pytest.mark.parametrize(
    ("call", "points"),
    [
        (ask, ["agent_startup", "pre_model_call", "post_model_call", "agent_shutdown"]),
        (lambda: add(a=1), ["agent_startup", "pre_tool_call", "post_tool_call", "agent_shutdown"]),
    ],
)
def test_calls_outside_of_agents_are_sessions_of_their_own(call: Callable[[], Any], points: list[str]) -> None:
    told = Told()
    with hosting(told):
        call()
    assert told.points == points


def test_calls_after_the_end_of_their_session_begin_another() -> None:
    told, later = Told(), []

    @spanhook.agent("starter")
    async def starter() -> None:
        async def late() -> None:
            await ended.wait()
            add(a=1)

        later.append(asyncio.create_task(late()))

    async def main() -> None:
        nonlocal ended
        ended = asyncio.Event()
        await starter()
        ended.set()
        await later[0]

    ended: Any = None
    with hosting(told):
        asyncio.run(main())
    first, second = dict.fromkeys(one["session"]["id"] for one in told.contexts)
    assert [one["interception_point"] for one in told.contexts if one["session"]["id"] == second] == [
        "agent_startup",
        "pre_tool_call",
        "post_tool_call",
        "agent_shutdown",
    ]
    assert first != second


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("x"), "error"), (asyncio.CancelledError(), "cancelled"), (None, "completed")]
)
def test_how_a_session_ends(error: BaseException | None, reason: str) -> None:
    told = Told()

    @spanhook.agent("failing")
    async def failing() -> None:
        if error is not None:
            raise error

    with hosting(told), suppress(ValueError, asyncio.CancelledError):
        asyncio.run(failing())
    assert told.at("agent_shutdown")["summary"] == {"reason": reason}


def test_parallel_calls_are_numbered_once() -> None:
    told = Told()

    @spanhook.agent("team")
    async def team() -> None:
        async def one(n: int) -> None:
            async with operation("tool.execute", "add", request={"arguments": {"n": n}}) as op:
                await asyncio.sleep(0)
                op.result_of(n)

        await asyncio.gather(*(one(n) for n in range(20)))

    with hosting(told):
        asyncio.run(team())
    numbers = [one["sequence"] for one in told.contexts]
    assert sorted(numbers) == list(range(44))
    ids = [one["tool_call"]["id"] for one in told.contexts if one["interception_point"] == "pre_tool_call"]
    assert len(set(ids)) == 20


def test_sessions_in_threads() -> None:
    told = Told()
    with hosting(told) as records, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(desk, "abcdefgh" * 4)) == [f"done: {one}" for one in "abcdefgh" * 4]
    sessions: dict[str, list[int]] = {}
    for one in records:
        sessions.setdefault(one.session_id, []).append(one.sequence)
    assert list(sessions.values()) == [list(range(8))] * 32


def test_labels_are_told_later() -> None:
    told = Told(post_model_call={**ALLOW, "result_labels": ["pii"]}, pre_tool_call=deny(result_labels=["never"]))
    with hosting(told):
        desk("x", lambda: (ask(), suppressed(add)))
    assert "extensions" not in told.at("post_model_call")
    for point in ("pre_tool_call", "output", "agent_shutdown"):
        assert told.at(point)["extensions"] == {"spanhook": {"source_labels": ["pii"]}}


def suppressed(call: Callable[[], Any]) -> None:
    with suppress(Reject):
        call()


# -------------------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize("point", POINTS[:-1])
def test_a_denial_at_each_point(point: str) -> None:
    told, done = Told(**{point: deny("policy:x", message="Not here")}), []
    with hosting(told):
        refused = refusal(lambda: desk("x", lambda: done.append((ask(), add(a=1)))))
    assert (refused.reason, refused.status_code) == ("Not here", 403)
    assert told.points[: POINTS.index(point) + 1] == list(POINTS[: POINTS.index(point) + 1])
    assert told.points[-1] == "agent_shutdown"
    assert told.at("agent_shutdown")["summary"] == {"reason": "error"}
    assert bool(done) is (point == "output")


def test_a_denial_of_the_end_changes_nothing() -> None:
    told = Told(agent_shutdown=deny(approval={}))
    with hosting(told, approval=lambda request: pytest.fail("nobody is to be asked")):
        assert desk("x") == "done: x"


def test_changes() -> None:
    told = Told(
        input=transform("changed", "$target.content"),
        pre_model_call=transform("hey", "$target[0].content"),
        pre_tool_call=transform(2, "$target.a"),
        post_tool_call=transform(3, '$policy_target["a"]'),
    )
    seen: list[Any] = []
    with hosting(told):
        assert desk("x", lambda: seen.extend((ask(), add(a=1)))) == "done: changed"
    assert seen == ["echo hey", {"a": 3}]
    assert told.at("post_tool_call")["tool_call"]["args"] == {"a": 2}


def test_inputs_by_name_can_be_changed() -> None:
    @spanhook.agent("desk")
    def answers(question: str, *, times: int) -> str:
        return question * times

    told = Told(input=transform(2, "$target.content.times"))
    with hosting(told):
        assert answers("x", times=3) == "xx"
    assert told.at("input")["input"]["content"] == {"question": "x", "times": 3}


def test_nothing_of_an_input_is_left_out() -> None:
    @spanhook.agent("desk")
    def answers(question: str, note: str = "") -> str:
        return question + note

    told = Told()
    with hosting(told):
        answers("x", note="y")
        answers("x", "y")
        answers("x")
    asked = [one["input"]["content"] for one in told.contexts if one["interception_point"] == "input"]
    assert all("y" in str(one) for one in asked[:2])
    assert "x" in str(asked[2])


def test_results_of_models_can_be_changed() -> None:
    told = Told(post_model_call=transform("[x]", "$target.content"))
    with hosting(told):
        assert str(ask()) == "[x]"


def test_an_output_cannot_be_changed_so_that_it_is_denied() -> None:
    with hosting(Told(output=transform("x", "$target.content"))) as records:
        assert refusal(lambda: desk("x")).reason == "host_error:adapter_unsupported"
    assert records[-2].verdict.reason == "host_error:adapter_unsupported"


@pytest.mark.parametrize("value", [[], "x", None, {"b": 1}])
def test_changes_that_do_not_fit_are_denied(value: Any) -> None:
    done: list[Any] = []

    @spanhook.tool
    def double(a: int) -> int:
        done.append(a)
        return 2 * a

    with hosting(Told(pre_tool_call=transform(value))):
        refusal(lambda: double(1))
    assert done == []


def test_interceptors_have_copies() -> None:
    def edits(context: Context) -> Any:
        context["target"] = context["sequence"] = "edited"
        if "tool_call" in context:
            context["tool_call"]["args"]["a"] = 9
        context.pop("session")
        return ALLOW

    told = Told()
    with hosting(edits, told, composition={"profile": "parallel/strictest"}):
        assert add(a=1) == {"a": 1}
    assert told.at("pre_tool_call")["target"] == {"a": 1}


HOSTILE: list[Any] = [
    None,
    "allow",
    ["allow"],
    [ALLOW],
    {},
    {"decision": "ALLOW"},
    {"decision": "Allow"},
    {"decision": ["allow"]},
    {"decision": None},
    {"decision": True},
    {"decision": "warn"},
    {"Decision": "allow"},
    {"verdict": ALLOW},
    {"decision": "allow", "transform": {"path": "$target", "value": {}}},
    {"decision": "allow", "approval": {}},
    {"decision": "allow", "reason": "host_error:x"},
    {"decision": "allow", "reason": 1},
    {"decision": "allow", "evidence": {"artefact": "x" * 20_000}},
    {"decision": "transform"},
    {"decision": "transform", "transform": {"path": "$.a", "value": 1}},
    {"decision": "transform", "transform": {"path": "$target.b", "value": 1}},
    {"decision": "transform", "transform": {"path": "$target.a", "value": float("nan")}},
    {"decision": "allow", "message": object()},
]


@pytest.mark.parametrize("answer", HOSTILE, ids=lambda one: repr(one)[:40])
def test_what_is_no_verdict_denies(answer: Any) -> None:
    with hosting(Told(pre_tool_call=answer)) as records:
        refused = refusal(lambda: add(a=1))
    assert refused.reason.startswith("host_error:")
    assert refused.status_code == 502
    assert [one.verdict.decision.value for one in records] == ["allow", "deny", "allow"]


def test_an_interceptor_that_fails_or_takes_too_long_denies() -> None:
    async def waits(context: Context) -> Any:
        if context["interception_point"] == "pre_tool_call":
            await asyncio.Event().wait()
        return ALLOW

    def fails(context: Context) -> Any:
        raise ValueError("a secret")

    with hosting(waits, timeout=0.01):
        assert (refusal(lambda: add(a=1)).reason, refusal(lambda: add(a=1)).status_code) == (
            "host_error:interceptor_timeout",
            504,
        )
    with hosting(fails) as records:
        assert refusal(lambda: add(a=1)).reason == "host_error:interceptor_failed"
    assert "secret" not in str([one.to_wire() for one in records])


async def hurried(_context: Context) -> Any:
    await asyncio.Event().wait()


async def late_failure(_context: Context) -> Any:
    await asyncio.sleep(0)
    raise ValueError("no file")


def early_failure(_context: Context) -> Any:
    raise ValueError("no file")


@pytest.mark.parametrize(
    ("given", "said", "traced"),
    [
        (
            early_failure,
            "'early_failure': interceptor_failed: ValueError",
            True,
        ),
        (late_failure, "'late_failure': interceptor_failed: ValueError", True),
        (hurried, "'hurried': interceptor_timeout", False),
        (
            Told(input=None),
            "'Told.intercept': verdict_invalid: verdict must be",
            False,
        ),
    ],
    ids=["early", "late", "timeout", "invalid"],
)
@pytest.mark.parametrize("mode", ["enforce", "evaluate_only"])
def test_why_there_is_no_verdict_is_logged_once(
    given: Any, said: str, traced: bool, mode: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_failures, "_repeats", Repeats())
    timeout = 0.01 if given is hurried else 60
    with hosting({"use": given, "at": ["input"]}, mode=mode, unbound="allow", timeout=timeout):
        for _ in range(2):
            with suppress(Reject):
                desk("x")
    [line] = [one for one in caplog.records if "no verdict" in one.getMessage()]
    assert said in line.getMessage().replace(" of agent_hooks has given no verdict at input", "")
    assert bool(line.exc_info) is traced


def test_the_name_of_an_interceptor_that_fails_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_failures, "_repeats", Repeats())
    with hosting({"use": early_failure, "name": "files"}):
        refusal(lambda: desk("x"))
    with hosting(late_failure, streams="incremental"):
        refusal(reading)
    assert "interceptor 'files'" in caplog.text
    assert "interceptor 'late_failure'" in caplog.text


def test_points_without_anybody_are_logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_failures, "_repeats", Repeats())
    with hosting({"use": Told(), "at": ["pre_tool_call"]}):
        refusal(lambda: desk("x"))
    assert "no interceptor of agent_hooks runs at agent_startup, so it is denied" in caplog.text


@pytest.mark.parametrize("error", [asyncio.CancelledError(), StopIteration(), StopAsyncIteration()])
def test_what_an_interceptor_raises_to_get_around_denies(error: BaseException) -> None:
    def raises(context: Context) -> Any:
        if context["interception_point"] == "pre_tool_call":
            raise error
        return ALLOW

    with hosting(raises):
        refusal(lambda: add(a=1))
    with hosting(raises, mode="evaluate_only"):
        assert add(a=1) == {"a": 1}


def test_asynchronous_interceptors_on_every_loop() -> None:
    async def slow(_context: Context) -> Any:
        await asyncio.sleep(0)
        return ALLOW

    @spanhook.agent("desk")
    async def answers() -> str:
        return "done"

    with hosting(slow):
        assert (desk("x"), asyncio.run(answers())) == ("done: x", "done")


@pytest.mark.parametrize(
    ("profile", "more", "passes"),
    [
        ("sequential/first_deny", {}, False),
        ("sequential/run_all", {}, False),
        ("parallel/strictest", {}, False),
        ("parallel/unanimous", {}, False),
        ("parallel/unanimous", {"on_disagreement": "approval"}, True),
    ],
)
def test_two_that_disagree(profile: str, more: dict[str, Any], passes: bool) -> None:
    settings: dict[str, Any] = {"composition": {"profile": profile, **more}}
    yes, no = Told(), Told(pre_tool_call=deny())
    for both in ((yes, no), (no, yes)):
        with hosting(*both, approval=approving, **settings):
            if passes:
                assert add(a=1) == {"a": 1}
            else:
                refusal(lambda: add(a=1))


def test_nobody_to_ask_denies_unless_told_otherwise() -> None:
    bound = {"use": Told(), "at": ["pre_tool_call"]}
    with hosting(bound) as records:
        assert refusal(lambda: add(a=1)).reason == "host_error:no_interceptor"
    with hosting(bound, unbound="allow") as records:
        assert add(a=1) == {"a": 1}
    assert [one.interceptors_registered for one in records] == [1, 1, 1, 1]
    with hosting():
        assert refusal(lambda: desk("x")).reason == "host_error:no_interceptor"


def test_requests_that_later_hooks_rewrite_are_told_again() -> None:
    told, hooks = Told(), Hooks()

    @hooks.before("tool.execute", priority=80)
    def rewrites(op: Operation) -> None:
        op.replace(arguments={"a": 7})

    with recorder(Hooks(AgentHooks([told]), *hooks)):
        assert add(a=1) == {"a": 7}
    assert [one["target"] for one in told.contexts if one["interception_point"] == "pre_tool_call"] == [
        {"a": 1},
        {"a": 7},
    ]
    refuses = Told(pre_tool_call=lambda context: deny() if context["target"] == {"a": 7} else ALLOW)
    with recorder(Hooks(AgentHooks([refuses]), *hooks)):
        refusal(lambda: add(a=1))


def test_what_is_told_already_takes_no_number() -> None:
    told, hooks = Told(), Hooks()

    @hooks.before("tool.execute", priority=80)
    def rewrites(op: Operation) -> None:
        op.replace(arguments={"a": 1})

    with recorder(Hooks(AgentHooks([told]), *hooks)):
        assert add(a=1) == {"a": 1}
    assert [one["sequence"] for one in told.contexts] == list(range(4))


def test_requests_that_change_while_interceptors_are_told_are_refused() -> None:
    basket: list[int] = [1]

    async def changes(context: Context) -> Any:
        if context["interception_point"] == "pre_tool_call":
            await asyncio.sleep(0)
            basket.append(2)
        return ALLOW

    @spanhook.tool
    def buy(basket: list[int]) -> int:
        return len(basket)

    with hosting(changes):
        assert refusal(lambda: buy(basket)).status_code == 409


def test_two_hosts_know_nothing_of_each_other() -> None:
    first, second = Told(), Told(pre_tool_call=transform(2, "$target.a"))
    with recorder(Hooks(AgentHooks([first]), AgentHooks([second]))):
        desk("x")
    assert first.points == [*POINTS[:5], *POINTS[4:]]  # the first is told again of what the second has changed
    assert second.points == list(POINTS)
    assert first.at("post_tool_call")["tool_call"]["args"] == {"a": 2}
    assert first.contexts[0]["session"] != second.contexts[0]["session"]


def test_in_shadow_nothing_is_done() -> None:
    told = Told(pre_tool_call=deny(), input=transform("x"))
    hook = AgentHooks([told])
    hook.mode = "shadow"
    with recorder(Hooks(hook)) as seen:
        assert desk("x") == "done: x"
    assert set(told.points) >= {"input", "pre_model_call", "pre_tool_call", "agent_shutdown"}
    assert {one.decision for op in seen.operations for one in op.shadow_decisions} >= {"reject"}


def test_under_trio() -> None:
    async def slow(_context: Context) -> Any:
        await asyncio.sleep(0)
        return ALLOW

    @spanhook.agent("desk")
    async def answers() -> str:
        await trio.lowlevel.checkpoint()
        return "done"

    for interceptor in (slow, Told()):
        with hosting(interceptor) as records:
            assert trio.run(answers) == "done"
        assert len(records) == 4


# -------------------------------------------------------------------------------------------- failures of tools


def fail() -> None:
    with operation("tool.execute", "fail", request={"arguments": {}}):
        raise ValueError("the password is x")


def test_a_tool_that_fails_is_told() -> None:
    told = Told()
    with hosting(told), suppress(ValueError):
        desk("x", fail)
    assert told.at("post_tool_call")["tool_result"]["is_error"] is True
    assert told.at("post_tool_call")["target"] == "ValueError: the password is x"


def test_an_error_that_is_denied_ends_the_session() -> None:
    told, done = Told(post_tool_call=deny("leak")), []

    def work() -> None:
        with suppress(ValueError):
            fail()
        done.append(1)
        ask()
        done.append(2)

    with hosting(told):
        assert refusal(lambda: desk("x", work)).scope == "run"
    assert done == [1]
    assert "pre_model_call" not in told.points


@pytest.mark.parametrize(("failure", "scope"), [("continue", "operation"), ("terminate", "run")])
def test_failures_at_tools_may_end_the_run(failure: Any, scope: str) -> None:
    with hosting(Told(pre_tool_call=None), tool_failure=failure):
        assert refusal(lambda: add(a=1)).scope == scope
    with hosting(Told(pre_tool_call=deny()), tool_failure=failure):
        assert refusal(lambda: add(a=1)).scope == "operation"


# -------------------------------------------------------------------------------------------- odd values


def _circle() -> Any:
    circle: list[Any] = []
    circle.append(circle)
    return circle


def _deep() -> Any:
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    return deep


ODD: dict[str, Any] = {
    "nan": float("nan"),
    "infinite": float("inf"),
    "large": 2**53 + 1,
    "larger": 2**70,
    "surrogate": "\ud800",
    "object": object(),
    "circle": _circle(),
    "deep": _deep(),
    "bytes": b"\xff\xfe",
}


@pytest.mark.parametrize("name", ODD)
def test_what_cannot_be_told_is_denied(name: str) -> None:
    told = Told()
    with hosting(told) as records:
        refusal(lambda: add(a=ODD[name]))
    assert "pre_tool_call" not in told.points
    assert [one.verdict.reason for one in records][1:-1] in ([], ["host_error:context_invalid"])


@pytest.mark.parametrize("name", ODD)
def test_what_cannot_be_told_passes_if_nothing_is_enforced(name: str) -> None:
    with hosting(Told(), mode="evaluate_only"):
        assert "a" in add(a=ODD[name])


# -------------------------------------------------------------------------------------------- only evaluated


@pytest.mark.parametrize("answer", [deny(), deny(approval={}), transform("x"), None, {"decision": "ALLOW"}])
@pytest.mark.parametrize("point", POINTS)
def test_what_is_only_evaluated_never_blocks(point: str, answer: Any) -> None:
    told = Told(**{point: answer})
    seen: list[Any] = []
    with hosting(told, mode="evaluate_only", approval=lambda request: pytest.fail("nobody is asked")) as records:
        assert desk("x", lambda: seen.extend((ask(), add(a=1)))) == "done: x"
    assert seen == ["echo hi", {"a": 1}]
    assert told.points == list(POINTS)
    assert {one.mode.value for one in records} == {"evaluate_only"}


def test_what_is_only_evaluated_never_blocks_though_it_fails() -> None:
    def fails(_context: Context) -> Any:
        raise KeyError

    def breaks(_record: Any) -> None:
        raise OSError

    with recorder(Hooks(AgentHooks([fails], mode="evaluate_only", records=breaks, composition=RUN_ALL))):
        assert desk("x") == "done: x"
    with hosting(mode="evaluate_only"):
        assert desk("x") == "done: x"


RUN_ALL = {"profile": "sequential/run_all"}


def test_records_that_are_not_taken_change_nothing() -> None:
    def breaks(_record: Any) -> None:
        raise OSError

    with recorder(Hooks(AgentHooks([Told()], records=breaks))):
        assert desk("x") == "done: x"
    with recorder(Hooks(AgentHooks([Told(input=deny())], records=breaks))):
        refusal(lambda: desk("x"))


# -------------------------------------------------------------------------------------------- approvals


def resolution(request: Any, outcome: str, verdict: Any, identity: Any = ...) -> Any:
    sdk: Any = importlib.import_module("agent_hooks")
    return sdk.ApprovalResolution(
        sdk.ApprovalOutcome(outcome),
        request.context_identity if identity is ... else identity,
        None if verdict is None else sdk.Verdict.from_wire(verdict),
    )


def approving(request: Any) -> Any:
    return resolution(request, "approve", ALLOW)


LIFTABLE = deny(approval={})


def test_an_approval_lifts() -> None:
    with hosting(Told(pre_tool_call=LIFTABLE), approval=approving) as records:
        assert add(a=1) == {"a": 1}
    assert records[1].resolved_by == "approval"


@pytest.mark.parametrize(
    "resolve",
    [
        lambda request: resolution(request, "reject", deny()),
        lambda request: resolution(request, "approve", deny()),
        lambda request: resolution(request, "unresolved", None),
        lambda request: resolution(request, "approve", ALLOW, "sha256:0"),
        lambda _request: None,
        lambda _request: True,
        lambda _request: {"outcome": "approve"},
    ],
)
def test_what_does_not_approve_denies(resolve: Any) -> None:
    with hosting(Told(pre_tool_call=LIFTABLE), approval=resolve) as records:
        refusal(lambda: add(a=1))
    assert records[1].resolved_by == "rejection"


def test_an_approval_that_comes_too_late() -> None:
    async def late(_request: Any) -> Any:
        await asyncio.Event().wait()

    with hosting(Told(pre_tool_call=LIFTABLE), approval=late, timeout=0.01):
        assert refusal(lambda: add(a=1)).reason == "host_error:approval_resolver_failed"


def test_people_are_asked_and_answer_later_and_once(tmp_path: Any) -> None:
    from spanhook.store import open_approvals

    store = f"sqlite:///{tmp_path}/approvals.db"
    with hosting(Told(pre_tool_call=LIFTABLE), approval={"wait": 0}, store=store):
        for _ in range(2):
            refusal(lambda: add(a=1))
        approvals = open_approvals(store)
        [asked] = approvals.requests("pending")
        approvals.answer(asked.id, approve=True, by="ann")
        assert add(a=1) == {"a": 1}
        refusal(lambda: add(a=1))
        refusal(lambda: add(a=2))


def test_results_are_not_for_people() -> None:
    with hosting(Told(post_tool_call=LIFTABLE), approval={"wait": 0}):
        assert refusal(lambda: add(a=1)).reason == "host_error:approval_unresolved"


def test_approvers_are_shown_what_is_redacted() -> None:
    shown: list[Any] = []

    def resolve(request: Any) -> Any:
        shown.append(request.context)
        return approving(request)

    def redact(context: Context) -> Context:
        return {**context, "tool_call": {**context["tool_call"], "args": {}}, "target": {}}

    with hosting(Told(pre_tool_call=LIFTABLE), approval=resolve, redact=redact):
        assert add(a="secret") == {"a": "secret"}
    assert "secret" not in str(shown)


# -------------------------------------------------------------------------------------------- streams


PIECES = ["the quick ", "brown ", "fox"]


def reading(pieces: Any = PIECES, most: int = 99) -> list[str]:
    """What a reader of a model's stream gets, who may stop early."""
    got: list[str] = []
    with operation("llm.call", "m", request={"messages": []}) as op, suppress(Reject, OSError):
        stream = op.stream(iter(pieces))
        for piece in stream:
            got.append(piece)
            if len(got) == most:
                break
        del stream
    return got


def responses(told: Told) -> list[tuple[str, str]]:
    found = [one["response"] for one in told.contexts if one["interception_point"] == "post_model_call"]
    return [(one["content"], one["finish_reason"]) for one in found]


def secret(context: Context) -> Any:
    return deny("secret") if "brown" in str(context["response"]["content"]) else ALLOW


def changing(context: Context) -> Any:
    return transform("[x]", "$target.content") if "brown" in context["response"]["content"] else ALLOW


def breaking() -> Iterator[str]:
    yield from PIECES[:2]
    raise OSError


def test_streams_are_held_back() -> None:
    told = Told()
    with hosting(told):
        assert reading() == PIECES
    assert responses(told) == [("the quick brown fox", "stop")]
    with hosting(Told(post_model_call=secret)):
        assert reading() == []
    with hosting(told) as records:
        assert reading(breaking()) == []
    assert [one.interception_point.value for one in records] == ["agent_startup", "pre_model_call", "agent_shutdown"]


def test_streams_are_released_piece_by_piece() -> None:
    told = Told()
    with hosting(told, streams="incremental", segment=1) as records:
        assert "".join(reading()) == "the quick brown fox"
    assert responses(told) == [
        ("the quick ", "incremental"),
        ("the quick brown ", "incremental"),
        ("the quick brown fox", "stop"),
    ]
    assert [one.sequence for one in records] == list(range(6))


def test_segments() -> None:
    told = Told()
    with hosting(told, streams="incremental", segment=12):
        assert "".join(reading()) == "the quick brown fox"
    assert responses(told) == [("the quick brown ", "incremental"), ("the quick brown fox", "stop")]


@pytest.mark.parametrize("answer", [secret, changing])
def test_a_denial_ends_a_stream(answer: Any) -> None:
    told, got = Told(post_model_call=answer), []

    def work() -> None:
        with operation("llm.call", "m", request={"messages": []}) as op, suppress(Reject):
            got.extend(op.stream(iter(PIECES)))
        add(a=1)

    with hosting(told, streams="incremental", segment=1):
        assert refusal(lambda: desk("x", work)).scope == "run"
    assert "".join(got) == "the quick "
    assert "pre_tool_call" not in told.points


def test_a_stream_that_breaks_off() -> None:
    told = Told()
    with hosting(told, streams="incremental", segment=1) as records:
        assert "".join(reading(breaking())) == "the quick "
    assert responses(told) == [("the quick ", "incremental")]
    reasons = [one.verdict.reason for one in records if one.interception_point.value == "post_model_call"]
    assert reasons == [None, "host_error:streaming_unsupported"]


def test_a_stream_whose_reader_leaves() -> None:
    told = Told()
    with hosting(told, streams="incremental", segment=1) as records:
        assert "".join(reading(most=2)) == "the quick "
    assert responses(told) == [("the quick ", "incremental")]
    assert records[-1].interception_point.value == "agent_shutdown"
    assert told.at("agent_shutdown")["summary"] == {"reason": "cancelled"}


def test_interceptors_that_must_be_waited_for_cannot_see_incremental_streams() -> None:
    async def slow(_context: Context) -> Any:
        await asyncio.sleep(0)
        return ALLOW

    with hosting(slow, streams="incremental", segment=1):
        assert refusal(reading).reason == "host_error:interceptor_failed"


def test_nothing_is_held_back_if_nothing_is_enforced() -> None:
    told = Told(post_model_call=deny())
    with hosting(told, mode="evaluate_only", streams="incremental"):
        assert reading() == PIECES
    assert responses(told) == [("the quick brown fox", "stop")]


def test_agents_that_are_streams() -> None:
    @spanhook.agent("talker")
    def talker() -> Iterator[str]:
        yield from PIECES

    told = Told()
    for streams in ("buffer", "incremental"):
        with hosting(told, streams=streams):
            assert "".join(talker()) == "the quick brown fox"
    assert told.points == ["agent_startup", "input", "output", "agent_shutdown"] * 2
    got: list[str] = []
    with hosting(Told(output=deny())):
        refusal(lambda: got.extend(talker()))
    assert got == PIECES  # each is out; a model's text has passed verdicts of its own


# -------------------------------------------------------------------------------------------- services


def test_services_are_asked() -> None:
    with serving({"verdict": deny("egress"), "extensions": {"x": 1}}) as server:
        with hosting({"use": server.url, "name": "egress", "headers": {"x-key": "k"}}) as records:
            assert refusal(lambda: add(a=1)).reason == "egress"
        assert server.seen[0].body["interception_point"] == "agent_startup"
        assert server.seen[0].headers["x-key"] == "k"
    assert records[0].verdicts[0].name == "egress"


@pytest.mark.parametrize("answer", [{"decision": "ALLOW"}, [], {}, {"verdict": [ALLOW]}, {"decision": "warn"}])
def test_services_that_are_not_understood_deny(answer: Any) -> None:
    with serving(answer) as server, hosting(server.url):
        assert refusal(lambda: add(a=1)).reason.startswith("host_error:")


# -------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"interceptors": ["nowhere:nothing"]}, "nowhere"),
        ({"interceptors": [3]}, "3 has no method 'intercept'"),
        ({"interceptors": [{"use": Told(), "at": ["nowhere"]}]}, "at"),
        ({"interceptors": [{"use": Told(), "at": []}]}, "at"),
        ({"interceptors": [{"use": Told(), "headers": {"a": "b"}}]}, "headers"),
        ({"interceptors": [{"use": "ftp://x"}]}, "ftp"),
        ({"mode": "off"}, "mode"),
        ({"composition": {"profile": "quorum"}}, "profile"),
        ({"approval": 3}, "resolve"),
        ({"identity": lambda context: "x"}, "identity"),
        ({"identity": "jcs-sha512"}, "jcs-sha512"),
        ({"declaration": "/nowhere.json"}, "declaration_error:unreadable"),
        ({"declaration": {"declaration": "agent-hooks-declaration/9.0"}}, "version_unsupported"),
        ({"segment": 0}, "segment"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], said: str) -> None:
    with pytest.raises((ConfigurationError, TypeError), match=said):
        AgentHooks(**settings)


def test_from_a_configuration_file(tmp_path: Path) -> None:
    (tmp_path / "policies.py").write_text(
        "def no_adding(context):\n"
        "    adding = context['interception_point'] == 'pre_tool_call'\n"
        "    return {'decision': 'deny', 'reason': 'adding'} if adding else {'decision': 'allow'}\n"
        "def approve(request):\n"
        "    raise KeyError\n"
    )
    settings = f"interceptors: ['{tmp_path}/policies.py:no_adding'], approval: '{tmp_path}/policies.py:approve'"
    path = tmp_path / "spanhook.yaml"
    path.write_text(f"version: 1\npolicies: [{{use: agent_hooks, id: contract, with: {{{settings}}}}}]\n")
    with recorder(load_file(str(path)).registry()) as seen:
        assert refusal(lambda: add(a=1)).reason == "adding"
    assert seen.operations[0].decisions[0].hook == "contract"


def test_a_declaration(tmp_path: Path) -> None:
    document: dict[str, Any] = {
        "declaration": "agent-hooks-declaration/1.0",
        "configuration": {
            "composition": {"profile": "sequential/run_all"},
            "approval": {"resolver": "spanhook", "redactor": "spanhook"},
        },
        "bindings": [
            {"id": "one", "kind": "spanhook.hooks.agent_hooks", "config": {"use": f"{__name__}:NO_ADDING"}},
        ],
    }
    file = tmp_path / "host.json"
    file.write_text(json.dumps(document))
    for declaration in (document, str(file)):
        hook = AgentHooks(declaration=declaration, approval=approving, redact=lambda context: context)
        with recorder(Hooks(hook)):
            assert refusal(lambda: add(a=1)).reason == "adding"
    with pytest.raises(ConfigurationError, match="reference_unresolved"):
        AgentHooks(declaration=document)
    with pytest.raises(ConfigurationError, match=r"remove interceptors; mode=.*; remove mode"):
        AgentHooks([no_adding], mode="evaluate_only", declaration=document)


def no_adding(context: Context) -> Any:
    return deny("adding") if context["interception_point"] == "pre_tool_call" else ALLOW


NO_ADDING = no_adding
